package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/internal/runtime/runtimetest"
	sinkkind "github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// newTenantServer is a server that reads tenants from the claim "org".
func newTenantServer(t *testing.T) *server {
	s := newServer(t, ddbtest.Memory)
	s.Client = s.with(ofTenants)
	return s
}

// A function of the account's answers a tenant's batch with replies to queues of others, and they
// are refused: the tenant learns that, and not of which queues.
func TestRepliesToOthers(t *testing.T) {
	s := newTenantServer(t)
	as := func(method, path, query, body string, parts ...string) {
		t.Helper()
		a := s.RequestAs("org", "acme", method, path, query, body)
		s.Want("acme", a, 200, parts...)
		for _, foreign := range []string{"@", "globex", "secret", "audit"} {
			check.That(t, !strings.Contains(a.Body, foreign),
				"%s %s: acme sees %q: %s", method, path, foreign, a.Body)
		}
	}
	s.put("@acme/orders", 3)
	for _, queue := range []string{"@acme/inbox", "@globex/secret", "audit", `@globex/"secret"\`,
		"@globex/secret" + strings.Repeat("é", 400)} {
		check.OK(t,
			s.sorter.Put(t.Context(), cursor.Message{Queue: queue, Seq: cursor.NoSeq, ID: "a",
				Body: []byte("1")})[0].Err)
		seq := int64(7)
		name := fmt.Sprintf("books-%d", len(queue))
		done := s.deliver("@acme/orders", name, func(b delivery.Batch) error {
			return b.Reply(delivery.Reply{Queue: queue, Seq: &seq, Body: []byte("1")})
		})
		check.Need(t, done.Outcome == delivery.Wait,
			"a numbered reply to a queue in arrival order: %+v", done)
		want := `"replies to a queue of another: the queue does not take it`
		if queue == "@acme/inbox" {
			want = `"replies to queue \"inbox\": the queue does not take it`
		}
		as("GET", "/consumers", "queue=orders&consumer="+name, "", `"error":`+want)
		as("GET", "/claims", "queue=orders&consumer="+name, "", `"detail":`+want)
	}
	// What can never be stored is found when it is sent at the latest.
	s.put("@acme/asked", 1)
	done := s.deliver("@acme/asked", "books", func(b delivery.Batch) error {
		seq := int64(1)
		if err := b.Reply(delivery.Reply{Queue: "@globex/later", Seq: &seq,
			Body: []byte("1")}); err != nil {
			return err
		}
		err := s.sorter.Put(t.Context(),
			cursor.Message{Queue: "@globex/later", Seq: 1, Body: []byte("another")})[0].Err
		return err
	})
	check.Need(t, done.Outcome == delivery.Empty, "%+v", done)
	as("GET", "/consumers", "queue=asked&consumer=books", "", `"refused":{"count":1`,
		`"reason":"to a queue of another: seq 1: conflict"`)
	as("GET", "/operations", "queue=asked", "", `"action":"reply"`,
		`to a queue of another"`, "conflict")
	// Operators see all.
	check.Has(t, s.Invoke(`{"operation":"operations","queue":"@acme/asked"}`), "@globex/later")
}

// A tenant reads of a sink that is not its own neither what it answered nor addresses of the
// function's network; of its own it reads what it answered. An operator reads all.
func TestWhatATenantReadsOfASink(t *testing.T) {
	s := newTenantServer(t)
	answered := func(own bool) error {
		return &sinkkind.AnswerError{Host: "billing.example", Status: 500, Took: time.Second,
			Text: "the inner words", Own: own}
	}
	for i, c := range []struct {
		fails       error
		own         bool
		want, never string
	}{
		{errors.New("example.com: read tcp 10.0.1.7:43210->93.184.216.34:443: i/o timeout"), true, `"error":"example.com: read tcp (an address)-`, "10.0.1.7"},
		{errors.New("lookup db.example on 169.254.78.1:53: no such host"), true, `"error":"lookup db.example on (an address): no such host"`, "169.254"},
		{errors.New("dial tcp [2600:1f18::5%eth0]:443: refused"), false, `"error":"dial tcp (an address): refused"`, "1f18"},
		{fmt.Errorf("call: %w", answered(false)), false, `"error":"call: billing.example answered 500 in 1000 ms"`, "inner"},
		{answered(true), true, `"error":"billing.example answered 500 in 1000 ms: the inner words"`, "nothing"},
		{nil, false, `"answer":{"code":200,"ms":5,`, "inner"},
		{nil, true, `"text":"the inner words"`, "nothing"},
	} {
		// no failure opens another's circuit
		queue, consumer := fmt.Sprint("orders-", i), fmt.Sprint("billing-", i)
		s.put("@acme/"+queue, 1)
		s.deliver("@acme/"+queue, consumer, func(b delivery.Batch) error {
			b.Answered(delivery.Response{Status: 200, Took: 5 * time.Millisecond, At: s.now,
				Text: "the inner words", Own: c.own})
			return c.fails
		})
		for _, path := range []string{"/consumers", "/claims"} {
			a := s.RequestAs("org", "acme", "GET", path, "queue="+queue+"&consumer="+consumer, "")
			s.Want(path, a, 200)
			check.That(t, !strings.Contains(a.Body, c.never) && (path != "/consumers" ||
				strings.Contains(a.Body, c.want)), "a tenant reads %s, want %s", a.Body, c.want)
		}
		want := "the inner words"
		if c.fails != nil {
			want = c.fails.Error()
		}
		check.Has(t, s.Invoke(`{"operation":"status","queue":"@acme/`+queue+`"}`), want)
	}
}

// A tenant sees the chain of a batch of its own under the tenant's name for it.
func TestATenantsChain(t *testing.T) {
	s := newTenantServer(t)
	s.put("@acme/orders", 2)
	check.Get(s.deliverer.Create(t.Context(), "@acme/orders", "billing", delivery.First))
	seen := check.Get(s.consumers.Requests(request.Inside{}).Consumer(t.Context(),
		"@acme/orders", "billing"))
	c, made, err := s.consumers.Requests(request.Inside{}).Claim(t.Context(), seen,
		request.Claim{Req: "r", To: 2, Now: s.now, LeaseUntil: s.now.Add(time.Minute)})
	check.Need(t, err == nil && made, "%+v, %v", c, err)
	c, made, err = s.consumers.Requests(request.Inside{}).Defer(t.Context(), c, s.now.Add(time.Hour))
	check.Need(t, err == nil && made, "%+v, %v", c, err)
	chain := strings.TrimPrefix(delivery.ChainOf(c), "@acme/")
	remove := `{"action":"remove","queue":"orders","consumer":"billing","reason":"r"}`
	for _, asked := range []struct {
		answer httpapitest.Answer
		status int
		want   string
	}{
		{s.RequestAs("org", "acme", "GET", "/consumers", "queue=orders&consumer=billing", ""), 200, `"chain":"` + chain + `"`},
		{s.RequestAs("org", "acme", "POST", "/operations", "", remove), 409, `the claim ends at `},
		{s.RequestAs("org", "acme", "GET", "/operations", "queue=orders", ""), 200, `"error":"the consumer has a claim in flight until `},
	} {
		s.Want("acme", asked.answer, asked.status, asked.want)
		check.That(t, !strings.Contains(asked.answer.Body, "@acme"),
			"acme sees its whole name: %s", asked.answer.Body)
	}
}

// Whatever a tenant asks of consumers, claims and operations, it reaches its own queues only, with
// replies too.
func FuzzTenant(f *testing.F) {
	for _, seed := range []struct{ method, resource, query, body string }{
		{"PATCH", "claims", "", `{"action":"commit","queue":"q","consumer":"c","token":"1-r","replies":[{"queue":"@globex/q","seq":2,"id":"i","body":1},{"queue":"/","id":"@globex/i","body":2}]}`},
		{"PATCH", "claims", "", `{"action":"commit","queue":"q","consumer":"c","token":"1-r","next":{"request":"@globex/q"}}`},
		{"PATCH", "claims", "", `{"action":"settle","queue":"@globex/q","consumer":"c","token":"1-r","outcome":"ABORTED","reason":"r"}`},
		{"POST", "claims", "", `{"queue":"@globex/q","consumer":"c","request":"r"}`},
		{"POST", "consumers", "", `{"queue":"@globex/q","consumer":"d","start":"latest","kind":"numbered"}`},
		{"POST", "operations", "", `{"action":"pause","queue":"@globex/q","consumer":"c","reason":"r","id":"i"}`},
		{"GET", "operations", "queue=@globex/q&after=%40globex", ""},
		{"GET", "consumers", "queue=%40globex%2Fq&consumer=c", ""},
		{"GET", "claims", "queue=q&consumer=c", ""},
	} {
		f.Add(seed.method, seed.resource, seed.query, seed.body)
	}
	f.Fuzz(func(t *testing.T, method, resource, query, body string) {
		sorter := check.Get(cursor.New(cursor.NewMemory(), nil))
		deliverer := check.Get(delivery.New(delivery.NewMemory(), sorter, nil))
		claims := check.Get(delivery.NewClaims(deliverer, nil))
		others := []string{"@globex/q", "q"}
		for _, queue := range append(others, "@acme/q") {
			check.OK(t,
				sorter.Put(t.Context(),
					cursor.Message{Queue: queue, Seq: 1, Body: []byte(`"of ` + queue + `"`)})[0].Err)
			check.Get(deliverer.Create(t.Context(), queue, "c", delivery.First))
			a, err := claims.Claim(t.Context(), delivery.Request{Queue: queue, Consumer: "c", ID: "r"})
			check.Need(t, err == nil && a.Outcome == delivery.OK, "%+v, %v", a, err)
			check.Get(claims.Prepare(t.Context(),
				delivery.Held{Queue: queue, Consumer: "c", Token: a.Token}))
		}
		look := func() (all string) {
			for _, queue := range others {
				consumers := check.Get(deliverer.Status(t.Context(), queue))
				operations, _ := check.Get2(deliverer.Inside(request.Inside{}).Audit(t.Context(), queue, ""))
				all += fmt.Sprintf("%+v %+v\n", consumers, operations)
			}
			return all
		}
		before := look()
		answer := runtimetest.Ask(t, runtime.Around(io.Discard, runtime.Headroom,
			(&service{deliverer: deliverer, sorter: sorter, now: time.Now, tenantClaim: "org"}).api().
				Handle), method, resource, query, body, map[string]string{})
		for _, secret := range []string{"of @globex", "of q"} {
			check.That(t, !strings.Contains(answer, secret) || strings.Contains(body+query, secret),
				"shows another's: %s", answer)
		}
		for _, c := range check.Get(sorter.Queues(t.Context(), "", 100)).Cursors {
			check.That(t, strings.HasPrefix(c.Queue, "@acme/") || slices.Contains(others, c.Queue),
				"stored in the queue %q", c.Queue)
		}
		check.Is(t, look(), before)
	})
}

// The audit log names who asked; a tenant sees that an operator did, and not which.
func TestWhoAsked(t *testing.T) {
	s := newTenantServer(t)
	s.put("@acme/q", 1)
	pause := `{"action":"pause","queue":%q,"consumer":"c","reason":"r","id":%q}`
	s.Want("made by ben", s.by(ben, "POST", "/consumers", "", `{"queue":"q","consumer":"c"}`), 200)
	s.Want("paused by ben", s.by(ben, "POST", "/operations", "", fmt.Sprintf(pause, "q", "1")), 200)
	s.Want("paused by ann",
		s.by(ann, "POST", "/operations", "", fmt.Sprintf(pause, "@acme/q", "2")), 200)
	check.Has(t, s.Invoke(fmt.Sprintf(pause, "@acme/q", "3")), `"paused"`)
	byBen, byApp := `"action":"create","consumer":"c","reason":"","request":{"start":"first"},"who":{"kind":"jwt","name":"ben","client":"app"}`, `"id":"1","action":"pause","consumer":"c","reason":"r","who":{"kind":"jwt","name":"ben","client":"app"}`
	s.Want("to ann", s.by(ann, "GET", "/operations", "queue=%40acme%2Fq", ""), 200, byBen, byApp,
		`"reason":"r","who":{"kind":"iam","name":"arn:aws:iam::1:user/ann"}`,
		`"reason":"r","who":{"kind":"direct"}`)
	s.Want("to ben", s.by(ben, "GET", "/operations", "queue=q", ""), 200, byBen, byApp,
		`"reason":"r","who":{"kind":"iam"}`, `"reason":"r","who":{"kind":"direct"}`)
}

func (s *server) limited(limits quota.Amounts) {
	s.t.Helper()
	quotas := runtimetest.Quotas(func() time.Time { return s.now },
		quota.Quota{Name: "acme", Limits: limits})
	s.Client = s.with(func(of *service) { of.tenantClaim, of.quotas = "org", quotas })
}

// The replies of a commit are messages of the tenant's: where there is no room for them the claim
// stays as it is, and the commit goes through later.
func TestQuotasOfReplies(t *testing.T) {
	s := newServer(t, ddbtest.Memory)
	s.limited(quota.Amounts{quota.Messages: 1, quota.NewQueues: 1})
	s.put("@acme/orders", 1)
	check.Get(s.deliverer.Create(t.Context(), "@acme/orders", "billing", delivery.First))
	as := func(method, body string) httpapitest.Answer {
		return s.RequestAs("org", "acme", method, "/claims", "", body)
	}
	s.Want("a claim",
		as("POST", `{"queue":"orders","consumer":"billing","request":"r","leaseSeconds":3600}`), 200,
		`"token":"1-r"`)
	s.Want("prepared",
		as("PATCH", `{"action":"prepare","queue":"orders","consumer":"billing","token":"1-r"}`), 200,
		`"outcome":"OK"`)
	commit := func(queues ...string) httpapitest.Answer {
		replies := ""
		for i, queue := range queues {
			replies += fmt.Sprintf(`,{"queue":"%s","id":"%d","body":1}`, queue, i)
		}
		return as("PATCH", `{"action":"commit","queue":"orders","consumer":"billing","token":"1-r","replies":[`+replies[1:]+`]}`)
	}
	window := func() { s.now = s.now.Truncate(time.Minute).Add(time.Minute) }
	taken := func(queue string) {
		t.Helper()
		s.Want("others' share", s.RequestAs("org", "acme", "POST", "/consumers", "",
			`{"queue":"`+queue+`","consumer":"c"}`), 200)
	}
	window()
	taken("other")
	s.Want("to a new queue, where another was made", commit("a"), 429, `"quota":"newQueues"`)
	s.Want("eleven replies, where nine are left",
		commit("a", "a", "a", "a", "a", "a", "a", "a", "a", "a", "a"), 429, `"quota":"newQueues"`)
	s.Want("one more", commit("other"), 429, `"quota":"messages"`)
	check.Fails(t, check.Err(s.sorter.Settings(t.Context(), "@acme/a")), cursor.ErrNoQueue)
	window()
	s.Want("more than a window has, to two new queues",
		commit("a", "a", "a", "a", "a", "a", "a", "a", "a", "a", "b"), 200, `"outcome":"OK"`)
	// The queue that a new consumer makes is one as any other.
	s.limited(quota.Amounts{quota.NewQueues: 1})
	create := func(queue, consumer string) httpapitest.Answer {
		return s.RequestAs("org", "acme", "POST", "/consumers", "",
			`{"queue":"`+queue+`","consumer":"`+consumer+`"}`)
	}
	s.Want("a new queue", create("n1", "c"), 200, `"queue":"n1"`)
	s.Want("another", create("n2", "c"), 429, `"quota":"newQueues"`)
	check.Fails(t, check.Err(s.sorter.Settings(t.Context(), "@acme/n2")), cursor.ErrNoQueue)
	s.Want("again", create("n1", "c"), 200, `"queue":"n1"`)
	s.Want("another of a queue that is there", create("n1", "d"), 200, `"consumer":"d"`)
}

// What a rewind goes back over, and a change of an endpoint, also one that is refused, count as
// messages, before they cost anything; an operator's do not.
func TestQuotasOfOperations(t *testing.T) {
	s := newServer(t, ddbtest.Memory)
	s.limited(quota.Amounts{quota.Messages: 2}) // 20 in a window
	s.put("@acme/q", 30)
	s.deliver("@acme/q", "billing", func(delivery.Batch) error { return nil })
	touched := 0
	s.before = func(ddb.Request) { touched++ }
	window := func() { s.now, touched = s.now.Truncate(time.Minute).Add(time.Minute), 0 }
	rewind := func(start string) httpapitest.Answer {
		return s.RequestAs("org", "acme", "POST", "/operations", "",
			`{"action":"rewind","queue":"q","consumer":"billing","start":`+start+`,"reason":"r"}`)
	}
	put := func(body string) httpapitest.Answer {
		return s.RequestAs("org", "acme", "PUT", "/endpoints", "", `{"consumer":"hooks",`+body+`}`)
	}
	for name, c := range map[string]struct {
		ask  func() httpapitest.Answer
		most int // in a window, and no more
	}{
		"of 10 messages": {func() httpapitest.Answer { return rewind("21") }, 2},
		"of all":         {func() httpapitest.Answer { return rewind(`"first"`) }, 1},
		"a refused PUT":  {func() httpapitest.Answer { return put(`"queue":"q","paused":"no URL yet"`) }, 2},
		"a PUT":          {func() httpapitest.Answer { return put(`"prefix":"","url":"https://example.com/"`) }, 2},
		"a DELETE": {func() httpapitest.Answer {
			return s.RequestAs("org", "acme", "DELETE", "/endpoints", "consumer=hooks&queue=none", "")
		}, 2},
	} {
		window()
		for n := range c.most {
			a := c.ask()
			check.That(t, a.Status != 429, "%s, time %d: %+v", name, n+1, a)
		}
		touched = 0
		s.Want(name, c.ask(), 429, `"quota":"messages"`)
		check.Is(t, touched, 0, name, "what is refused costs requests")
	}
	window()
	for range 3 {
		check.Has(t, s.Invoke(`{"action":"rewind","queue":"@acme/q","consumer":"billing","start":1,"reason":"r"}`), `"status":200`)
	}
	s.Want("one of a queue that is not there", s.RequestAs("org", "acme", "POST", "/operations", "",
		`{"action":"rewind","queue":"none","consumer":"billing","start":1,"reason":"r"}`), 404,
		`"code":"no-queue"`)
}
