package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/announce"
	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/internal/runtime/runtimetest"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/stamps"
)

// listing is the handler on tables in memory, and the sweep.
type listing struct {
	*httpapitest.Client
	// tenants is the client of an API with tokens.
	tenants *httpapitest.Client
	t       *testing.T
	api     *service
	acker   *xorack.Acker
	now     time.Time
}

func newListing(t *testing.T) *listing {
	t.Helper()
	l := &listing{t: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	clock := func() time.Time { return l.now }
	rows := trouble.Definition(trouble.DefaultName)
	tables := ddb.NewMemory(append(xorack.Names{}.Tables(), rows)...)
	store := xorack.NewStore(tables, xorack.Names{})
	l.acker = check.Get(xorack.New(store, &xorack.Options{Now: clock}))
	l.api = &service{
		acker: l.acker, stamper: stamps.New(l.acker), trouble: trouble.NewStore(tables, rows), now: clock,
	}
	l.Client = httpapitest.New(t, runtime.Around(io.Discard, runtime.Headroom, l.api.handler()))
	ofTenants := *l.api
	ofTenants.tenantClaim = "org"
	l.tenants = httpapitest.New(t, runtime.Around(io.Discard, runtime.Headroom, ofTenants.handler()))
	return l
}

// sweep finishes what is due, as the sweep's function does.
func (l *listing) sweep() {
	l.t.Helper()
	nobody := func(context.Context, xorack.Chain) error { return nil }
	check.Get(l.acker.Sweep(l.t.Context(), announce.Listed(l.api.trouble, 0, nobody)))
}

// create makes a chain, and returns its root.
func (l *listing) create(tag string) xorack.Edge {
	l.t.Helper()
	created := check.Get(l.acker.Create(l.t.Context(), tag, nil))
	return created.Roots[0]
}

// fail makes a chain that failed.
func (l *listing) fail(tag string) {
	l.t.Helper()
	check.Get(l.acker.Fail(l.t.Context(), l.create(tag), "why"))
}

// ask asks as a tenant, or as an operator without one.
func (l *listing) ask(as, query string) httpapitest.Answer {
	if as == "" {
		return l.Request("GET", "/chains", query, "")
	}
	return l.tenants.RequestAs("org", as, "GET", "/chains", query, "")
}

// listed are the tags of all pages, in the order of the alphabet where they have none.
func (l *listing) listed(as, query string) string {
	l.t.Helper()
	asked := check.Get(url.ParseQuery(query))
	var tags []string
	for _, it := range runtimetest.Listed[struct{ Tag string }](l.t,
		func(after string) httpapitest.Answer {
			asked.Set("after", after)
			a := l.ask(as, asked.Encode())
			check.That(l.t, !strings.Contains(a.Body, "@") || as == "", "%s sees %s", as, a.Body)
			return a
		}) {
		tags = append(tags, it.Tag)
	}
	if asked.Get("state") == "open" {
		slices.Sort(tags)
	}
	return strings.Join(tags, " ")
}

// TestListsOfChains: each chain in a state once, whichever caller asks, and nobody another's.
func TestListsOfChains(t *testing.T) {
	l := newListing(t)
	for _, of := range []string{"", "@acme/", "@acme-eu/"} {
		for _, name := range []string{"b", "a c", "c"} {
			l.fail(of + "failed " + name)
			l.create(of + "late " + name)
		}
	}
	check.Get(l.acker.Done(t.Context(), l.create("done")))
	l.sweep()
	l.now = l.now.Add(25 * time.Hour)
	l.sweep()
	for _, of := range []string{"", "@acme/", "@acme-eu/"} {
		for _, name := range []string{"x", "y z"} {
			l.create(of + name)
		}
	}
	for _, c := range []struct{ as, query, want string }{
		{"", "state=failed", "failed a c failed b failed c @acme-eu/failed a c @acme-eu/failed b @acme-eu/failed c @acme/failed a c @acme/failed b @acme/failed c"},
		{"", "state=timed-out&prefix=@acme/", "@acme/late a c @acme/late b @acme/late c"},
		{"", "state=open", "@acme-eu/x @acme-eu/y z @acme/x @acme/y z x y z"},
		{"", "state=open&prefix=y", "y z"},
		{"acme", "state=failed", "failed a c failed b failed c"},
		{"acme", "state=failed&prefix=failed b", "failed b"},
		{"acme", "state=timed-out", "late a c late b late c"},
		{"acme", "state=open", "x y z"},
		{"acme", "state=open&prefix=y", "y z"},
		{"acme", "state=open&prefix=@acme-eu", ""},
		{"globex", "state=open", ""},
		{"globex", "state=failed", ""},
	} {
		for _, limit := range []string{"1", "2", "100"} {
			check.Is(t, l.listed(c.as, strings.ReplaceAll(c.query, " ", "%20")+"&limit="+limit), c.want,
				c.as, c.query, limit)
		}
	}
	l.Want("a row", l.ask("acme", "state=timed-out&limit=1"), 200, `"list":[{"tag":"late a c","state":"timed-out","since":"2026-01-03T04:04:05Z","ageSeconds":0}],"next":"`)
	l.Want("an open one", l.ask("acme", "state=open&prefix=x"), 200, `{"status":200,"list":[{"tag":"x","state":"open","due":"2026-01-03T04:19:05Z"}]}`)
}

// TestAnEndIsListed until its record expires, or it is deleted.
func TestAnEndIsListed(t *testing.T) {
	l := newListing(t)
	l.fail("a")
	l.fail("b")
	state, err := l.api.stamper.Create(t.Context(), "s", []byte("1"), nil)
	check.Need(t, err == nil, "%v, %v", state, err)
	l.sweep()
	l.now = l.now.Add(25 * time.Hour)
	l.sweep()
	is := func(failed, timedOut string) {
		t.Helper()
		check.Is(t, l.listed("", "state=failed"), failed)
		check.Is(t, l.listed("", "state=timed-out"), timedOut)
	}
	is("a b", "s")
	l.Want("delete", l.Request("POST", "/acks", "", `{"operation":"delete","tag":"a"}`), 410,
		`"outcome":"already-failed"`)
	is("b", "s")
	l.Want("delete", l.Request("POST", "/acks", "", `{"operation":"delete","tag":"s"}`), 200)
	is("b", "")
	l.now = l.now.Add(xorack.DefaultTombstone - 25*time.Hour)
	is("", "")
	// A token is good for its list, and its reader.
	for n := range 2 {
		l.create(fmt.Sprintf("@acme/%d", n))
	}
	var page struct{ Next string }
	a := l.ask("acme", "state=open&limit=1")
	check.OK(t, json.Unmarshal([]byte(a.Body), &page))
	open := page.Next
	check.Need(t, open != "", "%s", a.Body)
	for query, field := range map[string]string{
		"state=failed&after=" + open: "after", "state=open&prefix=1&after=" + open: "after",
		"state=open&after=%21": "after", "state=blocked": "state", "state=open&limit=0": "limit",
		"state=open&tag=t": `state","detail":"belongs to a list: give no tag with it`, "prefix=a": `tag","detail":"or state must be given`, "": "tag",
		"foo=1": `foo","detail":"is not known: there are tag, prefix, state, after and limit`,
	} {
		l.Want(query, l.ask("acme", query), 400, `"field":"`+field+`"`)
	}
	l.Want("another's", l.ask("globex", "state=open&after="+open), 400, `"field":"after"`)
	for _, place := range []string{"x", " 1", "tag x"} {
		check.That(t, check.Err(placeOf(place)) != nil, "%q is a place", place)
	}
}

// Whatever a tenant asks of chains, with tokens of its own and of another's, all that is stored is
// its own, and nothing of another's is shown or changed.
func FuzzTenant(f *testing.F) {
	own, others := xorack.Root("@acme/t", "", 0).String(), xorack.Root("@globex/t", "", 0).String()
	batch, ownBatch := xorack.Root("delivery/x/1-a", "", 0).String(),
		xorack.Root("@acme/delivery/x/1-a", "", 0).String()
	for _, body := range []string{
		`{"operation":"create","tag":"@globex/t","id":"i","edges":2}`, `{"operation":"get","tag":"@globex/t"}`,
		`{"operation":"create","tag":"n","parent":"` + others + `"}`, `{"operation":"create","tag":"n","parent":"` + own + `"}`,
		`{"operation":"fail","edge":"` + others + `","reason":"r"}`, `{"operation":"done","edge":"` + batch + `"}`,
		`{"operation":"fail","edge":"` + ownBatch + `","reason":"r"}`, `{"operation":"delete","tag":"delivery/x/1-a"}`,
		`{"operations":[{"operation":"fan","edge":"` + own + `","edges":200},{"operation":"add","edge":"` + others + `","batch":"b","children":1}]}`,
		`{"operation":"done","edge":"` + own + `","children":["@globex/t"]}`, `{"operation":"stamp","tag":"/@globex/t","stamp":"00ff"}`,
		`{"operation":"outstanding","tag":"t","tree":[[],{"a":2}]}`, `{"operation":"delete","tag":"t"}`,
	} {
		f.Add(body, "")
	}
	for _, query := range []string{"tag=@globex/t", "state=open&prefix=@globex",
		"state=failed&after=QGdsb2JleC90"} {
		f.Add("", query)
	}
	f.Fuzz(func(t *testing.T, body, query string) {
		table, store := inMemory(t)
		acker := check.Get(xorack.New(store, nil))
		before := map[string]xorack.Chain{}
		for _, tag := range []string{"@acme/t", "@globex/t", "delivery/x/1-a", "t"} {
			check.Get(acker.Create(t.Context(), tag, &xorack.CreateOptions{Data: "secret"}))
			before[tag] = check.Get(acker.Get(t.Context(), tag))
		}
		method, resource := "POST", "acks"
		if body == "" {
			method, resource = "GET", "chains"
		}
		runtimetest.Ask(t, runtime.Around(io.Discard, runtime.Headroom,
			(&service{acker: acker, stamper: stamps.New(acker), now: time.Now, tenantClaim: "org"}).
				handler()), method, resource, query, body, map[string]string{})
		for _, tag := range tagsIn(table) {
			was, known := before[tag]
			check.That(t, known || strings.HasPrefix(tag, "@acme/"), "a chain is stored under %q", tag)
			now, err := acker.Get(t.Context(), tag)
			check.That(t, !known || tag == "@acme/t" || err == nil &&
				cmp.Diff(was, now, cmp.AllowUnexported(xorack.Chain{}, xorack.Edge{}, xorack.Sum{})) == "",
				"another's chain %q changed: %v", tag, err)
		}
	})
}

// A request that creates more chains than the tenant has left does nothing at all; what is done to
// chains that are there counts for nothing.
func TestQuotas(t *testing.T) {
	s := newServer(t)
	clock := func() time.Time { return s.now }
	acker := check.Get(xorack.New(s.store, &xorack.Options{Now: clock}))
	quotas := runtimetest.Quotas(clock,
		quota.Quota{Name: "acme", Limits: quota.Amounts{quota.NewChains: 3}})
	s.Client = httpapitest.New(t, runtime.Around(&s.logs, runtime.Headroom, (&service{
		acker: acker, stamper: stamps.New(acker), now: clock, tenantClaim: "org", quotas: quotas,
	}).handler()))
	ack := func(of, body string) httpapitest.Answer {
		return s.RequestAs("org", of, "POST", "/acks", "", body)
	}
	create := func(tag string) string { return `{"operation":"create","tag":"` + tag + `"}` }
	s.Want("two", ack("acme", `{"operations":[`+create("a")+`,`+create("b")+`]}`), 200)
	s.Want("two where one is left",
		ack("acme", `{"operations":[{"operation":"get","tag":"a"},`+create("c")+`,`+create("d")+`]}`),
		200)
	more := ack("acme", `{"operations":[`+create("e")+`,`+create("f")+`]}`)
	s.Want("two more", more, 429, `"code":"quota"`, `"quota":"newChains"`, `"limit":3`,
		`"per":"minute"`)
	check.That(t, more.Headers["retry-after"] != "", "no Retry-After: %v", more.Headers)
	check.Is(t, len(tagsIn(s.table)), 4)
	s.Want("a look at one", ack("acme", `{"operation":"get","tag":"c"}`), 200)
	for _, tag := range []string{"a", "b", "c", "d"} {
		s.Want("globex", ack("globex", create(tag)), 200)
	}
	s.now = s.now.Add(time.Minute)
	s.Want("a minute later", ack("acme", create("e")), 200)
}
