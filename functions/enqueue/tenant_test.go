package main

import (
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/internal/runtime/runtimetest"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// Two tenants name the same queues and ids, and neither meets the other.
func TestTenants(t *testing.T) {
	s := newServer(t, func(s *service) { s.tenantClaim = "org" })
	for _, of := range []string{"acme", "globex"} {
		as := func(method, path, query, body string, status int, parts ...string) {
			t.Helper()
			a := s.RequestAs("org", of, method, path, query, body)
			s.Want(of, a, status, parts...)
			check.That(t, !strings.Contains(a.Body, "@"), "%s gets whole names: %s", of, a.Body)
		}
		as("POST", "/messages", "", `{"queue":"q","seq":1,"id":"i","body":"`+of+`"}`, 200,
			`"advanced","queue":"q"`)
		as("POST", "/messages", "", `{"messages":[{"queue":"q","seq":1,"body":"other"},{"queue":"in","id":"i","body":"`+of+`"}]}`, 200,
			`"outcome":"conflict","queue":"q"`, `"outcome":"advanced","queue":"in"`)
		as("POST", "/messages", "queue=q&seq=n", `{"q":"raw","n":1,"of":"`+of+`"}`, 200, `"queue":"raw"`)
		as("POST", "/messages", "",
			`{"messages":[{"queue":"keyed","key":1,"keyType":"number","id":"i","body":"`+
				of+`"},{"queue":"keyed","key":2,"id":"j","prev":"i","body":2}]}`, 200,
			`"outcome":"waiting","queue":"keyed"`)
		s.now = s.now.Add(time.Minute)
		s.settle(t, "@"+of+"/keyed")
		as("POST", "/messages", "", `{"queue":"keyed","key":1,"id":"i","body":"`+of+`"}`, 200,
			`"duplicate","queue":"keyed","seq":1`)
		as("GET", "/messages", "queue=keyed", "", 200, `{"seq":1,"key":1,"id":"i","body":"`+of+`"`,
			`{"seq":2,"key":2,"id":"j","body":2`)
		as("POST", "/messages", "", `{"queue":"keyed","key":3,"id":"k","prev":"`+
			strings.Repeat("i", 1024)+`","body":1}`, 400, `"field":"prev"`, "the tenant before it takes")
		as("POST", "/messages", "", `{"queue":"","seq":1,"body":1}`, 400, `"field":"queue"`)
		as("POST", "/messages", "", `{"messages":[{"queue":"q","seq":2,"id":"`+strings.Repeat("i", 1024)+
			`","body":1}]}`, 400, `"field":"messages[0].id"`, "the tenant before it takes")
		keyed := func(key, body string) httpapitest.Answer {
			event := strings.Replace(httpapitest.V2("POST", "/messages", "", body, false), `"headers":{`,
				`"headers":{"Idempotency-Key":"`+key+`",`, 1)
			return s.Raw(strings.Replace(event, `"requestContext":{`,
				`"requestContext":{"authorizer":{"jwt":{"claims":{"org":"`+of+`"}}},`, 1))
		}
		s.Want("an over-long key",
			keyed(strings.Repeat("k", 1024), `{"messages":[{"queue":"in","body":1}]}`), 400,
			`"field":"Idempotency-Key"`, "the tenant before it takes")
		half := `{"queue":"big","body":"` + strings.Repeat("x", 200_000) + `"}`
		s.Want("too large together", keyed("k", `{"messages":[`+half+`,`+half+`]}`), 413,
			`together for queue \"big\": at most`)
		as("PUT", "/queues", "", `{"queue":"q","maxAhead":9}`, 200, `"queue":"q"`)
		as("GET", "/queues", "queue=q", "", 200, `"queue":"q"`, `"position":1`)
		as("GET", "/gaps", "queue=q", "", 200, `"queue":"q"`)
		as("GET", "/messages", "queue=q", "", 200, `"queue":"q"`, `"id":"i","body":"`+of+`"`)
		as("GET", "/messages", "queue=in", "", 200, `"id":"i","body":"`+of+`"`)
		m, found, err := s.memory.Requests(queuelog.Inside{}).Message(t.Context(), "@"+of+"/q", 1)
		check.That(t, err == nil && found && m.ID == "@"+of+"/i", "%s: stored as %+v, %v", of, m, err)
	}
	_, found, _ := s.memory.Requests(queuelog.Inside{}).Message(t.Context(), "q", 1)
	check.That(t, !found, "something is stored without a tenant")
}

// Whatever a tenant sends, all that is stored is its own, and nothing of another's is shown or
// changed.
func FuzzTenant(f *testing.F) {
	for _, seed := range []struct{ method, resource, query, key, body string }{
		{"POST", "messages", "", "", `{"queue":"@globex/q","seq":2,"id":"i","body":1}`},
		{"POST", "messages", "", "@globex/k", `{"messages":[{"queue":"/../@globex/q","body":1},{"queue":"q","id":"@globex/i","seq":2,"body":2}]}`},
		{"POST", "messages", "queue=a.b&id=c", "", `[{"a":{"b":"@globex/q","B":"q"},"c":7}]`},
		{"POST", "messages", "", "", `{"queue":"@globex/q","key":["a",2],"keyType":"text,number","id":"@globex/i","prev":"@globex/i","body":1}`},
		{"POST", "messages", "queue=q&seq=n", "", `{"q":"@globex/q","n":"2"}`},
		{"PUT", "queues", "", "", `{"queue":"@globex/q","policy":"skip"}`},
		{"GET", "messages", "queue=%40globex%2Fq&after=0", "", ""},
		{"GET", "queues", "queue=q", "", ""},
		{"GET", "gaps", "queue=@globex/q&limit=5", "", ""},
	} {
		f.Add(seed.method, seed.resource, seed.query, seed.key, seed.body)
	}
	f.Fuzz(func(t *testing.T, method, resource, query, key, body string) {
		sorter := check.Get(cursor.New(cursor.NewMemory(), nil))
		others := []string{"@globex/q", "q"}
		for _, queue := range others {
			check.OK(t,
				sorter.Put(t.Context(),
					cursor.Message{Queue: queue, Seq: 1, ID: "i", Body: []byte(`"secret"`)})[0].Err)
		}
		before := check.Get(sorter.Status(t.Context(), "@globex/q"))
		answer := runtimetest.Ask(t, runtime.Around(io.Discard, runtime.Headroom,
			(&service{sorter: sorter, now: time.Now, tenantClaim: "org"}).api().Handle), method, resource,
			query, body, map[string]string{"idempotency-key": key})
		check.That(t, !strings.Contains(answer, "secret") ||
			strings.Contains(body+query, "secret"), "shown another's: %s", answer)
		for _, c := range check.Get(sorter.Queues(t.Context(), "", 100)).Cursors {
			check.That(t, strings.HasPrefix(c.Queue, "@acme/") || slices.Contains(others, c.Queue),
				"stored in the queue %q", c.Queue)
		}
		after := check.Get(sorter.Status(t.Context(), "@globex/q"))
		check.That(t, cmp.Equal(before, after), "another's queue was %+v, and is %+v", before, after)
	})
}

// newQuotaServer is a server whose tenants have these quotas.
func newQuotaServer(t *testing.T, quotas string) *server {
	t.Helper()
	all := check.Get(quota.Read([]byte(quotas)))
	return newServer(t, func(s *service) {
		s.tenantClaim, s.quotas = "org", runtimetest.Quotas(s.now, all...)
	})
}

// A request over a quota is refused whole, with the quota that it is over, until the next window;
// another tenant and operators have nothing of it.
func TestQuotas(t *testing.T) {
	s := newQuotaServer(t, `{"quotas": [{"name": "*", "messages": 1, "bytes": 100, "newQueues": 2}]}`)
	put := func(of, query, body string) httpapitest.Answer {
		return s.RequestAs("org", of, "POST", "/messages", query, body)
	}
	batch := func(n int, queue string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`{"queue":"%s","seq":%d,"body":%d}`, queue, i+1, i))
		}
		return `{"messages":[` + strings.Join(all, ",") + `]}`
	}
	s.Want("a batch", put("acme", "", batch(8, "q")), 200)
	s.Want("three messages where two are left, to two new queues where one is", put("acme", "", `{"messages":[{"queue":"q","seq":9,"body":1},{"queue":"q2","seq":1,"body":1},{"queue":"q3","id":"i","body":1}]}`), 200)
	a := put("acme", "queue=q&seq=n", `{"q":"q","n":9}`)
	s.Want("one more", a, 429, `problems/quota"`, `"code":"quota"`, `"quota":"messages"`, `"limit":1`,
		`"per":"second"`)
	check.Is(t, a.Headers["retry-after"], "5", "to the end of the window")
	s.Want("too many bytes", put("hooli", "", `{"queue":"q","seq":1,"body":"`+strings.Repeat("x", 900)+
		`","attributes":{"a":"`+strings.Repeat("y", 101)+`"}}`), 200)
	s.Want("more bytes", put("hooli", "", `{"queue":"q","seq":2,"body":1}`), 429, `"quota":"bytes"`)
	s.Want("more than two windows", put("globex", "", batch(25, "q")), 200)
	a = put("globex", "", `{"queue":"q","seq":26,"body":1}`)
	s.Want("behind that", a, 429, `"quota":"messages"`)
	check.Is(t, a.Headers["retry-after"], "15", "to the window after the debt")
	s.Want("an operator", s.post("", batch(20, "@acme/q")), 403)
	check.Has(t, s.Invoke(batch(20, "@acme/q")), `"seq":20`, "to an operator in the account")
	check.Is(t, s.queues(t), "@acme/q @acme/q2 @acme/q3 @globex/q @hooli/q")
	s.now = s.now.Add(5 * time.Second)
	s.Want("in the next window", put("acme", "", `{"queue":"q2","seq":2,"body":1}`), 200)
	s.Want("a queue that is set up", s.RequestAs("org", "acme", "PUT", "/queues", "",
		`{"queue":"q4","maxAhead":9}`), 429, `"quota":"newQueues"`)
	s.Want("one that is there",
		s.RequestAs("org", "acme", "PUT", "/queues", "", `{"queue":"q2","maxAhead":9}`), 200)
	s.now = s.now.Add(time.Minute)
	s.Want("in the next minute",
		s.RequestAs("org", "acme", "PUT", "/queues", "", `{"queue":"q4","maxAhead":9}`), 200)
	s.logsHave(`"QuotaExceeded":1`)
}

// What is over a quota asks nothing of the tables, and leaves another tenant's requests as they
// are.
func TestANoisyNeighbour(t *testing.T) {
	meter := ddbtest.NewMeter(runtimetest.Tables())
	s := newServer(t, func(s *service) {
		s.sorter, s.tenantClaim = runtimetest.Sorter(meter, &cursor.Options{Now: s.now}), "org"
		limits := []quota.Quota{{Name: "*",
			Limits: quota.Amounts{quota.Messages: 10, quota.NewQueues: 5}}}
		s.quotas = quota.NewKeeper(quota.NewStore(meter, runtimetest.Counters), limits, s.now)
	})
	put := func(tenant string, seq, status int) ddbtest.Total {
		t.Helper()
		body := fmt.Sprintf(`{"queue":"q","seq":%d,"body":1}`, seq)
		s.Want(tenant, s.RequestAs("org", tenant, "POST", "/messages", "", body), status)
		return meter.Take()
	}
	put("quiet", 1, 200)
	alone := put("quiet", 2, 200)
	for seq := range 100 { // what a window has
		put("noisy", seq+1, 200)
	}
	put("noisy", 101, 429)
	refused, beside := put("noisy", 101, 429), put("quiet", 3, 200)
	check.That(t, refused.Reads+refused.Writes == 0, "a refused request costs %+v", refused)
	check.That(t, beside.Units.Writes <= alone.Units.Writes,
		"alone %+v, beside a noisy neighbour %+v", alone, beside)
}

// A call that is answered 400 for what is in it takes nothing of a quota.
func TestARefusedCallTakesNoQuota(t *testing.T) {
	for name, bad := range map[string]string{
		"two under one seq":          `{"queue":"q","seq":1,"body":1},{"queue":"q","seq":1,"body":2}`,
		"an id that is too long":     `{"queue":"q","seq":1,"body":1},{"queue":"q","seq":2,"id":"` + strings.Repeat("x", 2000) + `","body":2}`,
		"two under one id":           `{"queue":"q","id":"a","body":1},{"queue":"q","id":"a","body":2}`,
		"a malformed key":            `{"queue":"q","id":"a","key":1,"keyType":"number","body":1},{"queue":"q","id":"b","key":"x","keyType":"number","body":2}`,
		"a seq, and one without one": `{"queue":"q","seq":1,"body":1},{"queue":"q","id":"a","body":2}`,
	} {
		s := newQuotaServer(t, `{"quotas": [{"name": "*", "messages": 1, "newQueues": 1}]}`)
		for range 11 {
			s.Want(name, s.RequestAs("org", "acme", "POST", "/messages", "", `{"messages":[`+bad+`]}`), 400)
		}
		s.Want("good",
			s.RequestAs("org", "acme", "POST", "/messages", "", `{"queue":"q","seq":1,"body":1}`), 200)
	}
}

// TestListQueues: each queue once, by state and without one, and nobody another's.
func TestListQueues(t *testing.T) {
	sorter := check.Get(cursor.New(cursor.NewMemory(), nil))
	on := trouble.Definition(trouble.DefaultName)
	s := &service{sorter: sorter, trouble: trouble.NewStore(ddb.NewMemory(on), on), now: time.Now}
	operators := httpapitest.New(t, runtime.Around(io.Discard, runtime.Headroom, s.api().Handle))
	ofTenants := *s
	ofTenants.tenantClaim = "org"
	tenants := httpapitest.New(t,
		runtime.Around(io.Discard, runtime.Headroom, ofTenants.api().Handle))
	for _, queue := range []string{"@acme/a", "@acme/b", "@acme-eu/a", "a", "b"} {
		check.Get(sorter.Configure(t.Context(), queue, cursor.Change{}))
		check.OK(t,
			s.trouble.Put(t.Context(), trouble.Row{State: trouble.Gap, Queue: queue, Since: time.Now()}))
	}
	list := func(as string, query url.Values) string {
		var all []string
		for _, row := range runtimetest.Listed[struct{ Queue string }](t,
			func(after string) httpapitest.Answer {
				if query.Set("after", after); as == "" {
					return operators.Request("GET", "/queues", query.Encode(), "")
				}
				return tenants.RequestAs("org", as, "GET", "/queues", query.Encode(), "")
			}) {
			all = append(all, row.Queue)
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	query := func(prefix, state, limit string) url.Values {
		q := url.Values{"prefix": {prefix}, "limit": {limit}}
		if state != "" {
			q.Set("state", state)
		}
		return q
	}
	for _, c := range []struct{ as, prefix, want string }{
		{"", "", "@acme-eu/a @acme/a @acme/b a b"},
		{"", "@acme/", "@acme/a @acme/b"},
		{"acme", "", "a b"},
		{"acme", "b", "b"},
		{"globex", "", ""},
	} {
		for _, state := range []string{"", "gap"} {
			for _, limit := range []string{"1", "2", "100"} {
				got := list(c.as, query(c.prefix, state, limit))
				check.That(t, got == c.want, "%q sees %q of %q, state %q, limit %s; want %q", c.as, got,
					c.prefix, state, limit, c.want)
			}
		}
	}
}
