package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/runtime/runtimetest"
	"github.com/streamsort/streamsort/pkg/delivery"
)

func TestWhatHappensToAConsumer(t *testing.T) {
	onEach(t, func(s *server) {
		s.Want("a queue that is not there", s.Request("GET", "/consumers", "queue=q", ""), 404,
			"problems/no-queue")
		began := s.now
		at := func(after time.Duration) string { return began.Add(after).Format(time.RFC3339) }
		s.Want("made", s.create(`{"queue":"q","consumer":"billing","start":"first"}`), 200,
			`"queue":"q","consumer":"billing","state":"ok","lag":0,"delivered":0,"position":0,"rewinds":0`)
		s.put("q", 5)
		s.Want("made again", s.create(`{"queue":"q","consumer":"billing","start":"latest"}`), 200,
			`"delivered":0`)
		s.Want("before its queue", s.create(`{"queue":"arrival","consumer":"first","kind":"arrival"}`),
			200, `"delivered":0`)
		s.Want("again", s.create(`{"queue":"arrival","consumer":"second","kind":"arrival"}`), 200,
			`"delivered":0`)
		s.Want("of another kind", s.create(`{"queue":"arrival","consumer":"third","kind":"numbered"}`),
			409, "problems/setting-fixed")
		s.Want("of a numbered queue", s.create(`{"queue":"q","consumer":"third","kind":"arrival"}`), 409,
			"problems/setting-fixed", "that of the queue is numbered")
		s.Want("a keyed queue that is not there",
			s.create(`{"queue":"keyed","consumer":"first","kind":"keyed"}`), 400, `"field":"kind"`,
			"type of its keys")
		s.Want("of no kind", s.create(`{"queue":"q","consumer":"third","kind":"both"}`), 400,
			`"field":"kind"`, "numbered, arrival or keyed")
		s.Want("from a seq", s.create(`{"queue":"q","consumer":"audit","start":3}`), 200, `"delivered":2`)
		s.Want("from a seq's text", s.create(`{"queue":"q","consumer":"text","start":"4"}`), 200,
			`"delivered":3`)
		s.Want("from now on", s.create(`{"queue":"q","consumer":"now","start":"latest"}`), 200,
			`"delivered":5`)
		s.Want("beyond the end", s.create(`{"queue":"q","consumer":"later","start":7}`), 400,
			`"field":"start"`, "from 1 to 6")

		s.now = s.now.Add(time.Minute)
		s.Want("lag", s.status(), 200, `"lag":5,"delivered":0,"position":5`,
			`"waiting":{"seq":1,"since":"`+at(0)+`","ageSeconds":60}`)
		s.Want("not blocked", s.operate("skip", `,"seq":1`), 409, "problems/not-blocked", `"id":`)

		s.block("q", "billing", 3)
		s.now = s.now.Add(time.Hour)
		s.Want("blocked", s.status(), 200, `"state":"blocked","cause":"failed","since":"`+at(time.Minute)+
			`","ageSeconds":3600,"seq":3,"lag":3,"delivered":2`,
			`"error":"cannot be billed","group":"cannot be billed","attempts":[{"attempt":1,"at":"`, `"from":3,"to":3,"claim":"`, `"answer":"cannot be billed"}`,
			`"blocked":{"seq":3,"since":"`+at(time.Minute)+`","ageSeconds":3600}`)
		s.Want("another seq", s.operate("skip", `,"seq":2`), 409, "problems/not-blocked",
			"head is 3, not 2")
		s.Want("redriven", s.operate("redrive", `,"seq":3,"id":"op-1"`), 200, `"id":"op-1","action":"redrive","queue":"q","consumer":"billing","state":"catching-up","seq":3,"lag":3,"delivered":2`)
		s.block("q", "billing", 3)
		s.Want("skipped", s.operate("skip", `,"seq":"3","id":"op-2"`), 200,
			`"state":"catching-up","seq":4,"lag":2,"delivered":3`)
		s.Want("skipped again", s.operate("skip", `,"seq":3,"id":"op-2"`), 200, `"delivered":3`)
		s.Want("the same id for another operation", s.operate("rewind", `,"start":4,"id":"op-2"`), 409,
			"problems/id-taken", `"code":"id-taken"`)
		for i, at := range []int{4, 3, 4} {
			s.now = s.now.Add(time.Second)
			s.Want("to another place",
				s.operate("rewind", fmt.Sprintf(`,"start":%d,"id":"to-%d"`, at, i)), 200,
				fmt.Sprintf(`"delivered":%d,"position":5,"rewinds":%d`, at-1, i+1))
		}
		s.Want("back again by an id that is taken", s.operate("rewind", `,"start":"first","id":"to-0"`),
			409, "problems/id-taken")
		s.Want("nothing was done", s.status(), 200, `"delivered":3`, `"rewinds":3`)
		s.Want("skipped by another", s.operate("skip", `,"seq":4,"id":"op-3"`), 409,
			"problems/not-blocked")

		done := s.deliver("q", "billing", func(delivery.Batch) error {
			s.Want("a claim is in flight", s.status(), 200, `"claim":{"state":"STARTED","token":"`,
				`"leaseUntil":"`)
			s.Want("rewind under a claim", s.operate("rewind", `,"start":1`), 409, "problems/claimed",
				"the claim ends at")
			s.Want("removal under a claim", s.operate("remove", ""), 409, "problems/claimed")
			s.Want("paused under a claim", s.operate("pause", ""), 200, `"state":"paused"`,
				`"claim":{"state":"STARTED"`, `"paused":{"reason":"because","since":`)
			return nil
		})
		check.That(s.t, done.Outcome == delivery.Paused && done.Messages == 1, "%+v", done)
		s.Want("rewound while paused", s.operate("rewind", `,"start":2`), 200, `"delivered":1`,
			`"rewinds":4`, `"paused"`)
		s.Want("rewound to the oldest", s.operate("rewind", `,"start":"first"`), 200,
			`"delivered":0`, `"rewinds":5`)
		s.Want("rewound to the end", s.operate("rewind", `,"start":"latest"`), 200,
			`"delivered":5`, `"rewinds":6`)
		s.Want("rewound too far", s.operate("rewind", `,"start":7`), 400, `"field":"start"`)
		resumed := s.operate("resume", "").Body
		check.That(s.t, !strings.Contains(resumed, "paused"), "resumed: %s", resumed)
		s.Want("nothing waits", s.status(), 200, `"lag":0`)

		s.Want("removed", s.operate("remove", `,"id":"op-9"`), 200,
			`{"status":200,"id":"op-9","action":"remove","queue":"q","consumer":"billing"}`)
		s.Want("the same again", s.operate("remove", `,"id":"op-9"`), 200, `"id":"op-9"`)
		s.Want("another", s.operate("remove", `,"id":"op-10"`), 404, "problems/no-consumer")
		s.Want("gone", s.status(), 404, "problems/no-consumer")
		s.Want("the others", s.Request("GET", "/consumers", "queue=q", ""), 200, `"consumer":"audit",`,
			`"consumer":"now",`)

		var listed struct {
			Operations []struct{ ID, Action, Consumer, Reason, Outcome, Error string }
		}
		a := s.Request("GET", "/operations", "queue=q", "")
		s.Want("the operations", a, 200, `"id":"op-1","action":"redrive","consumer":"billing","seq":3,"reason":"because","who":{"kind":"none"},"outcome":"done"`)
		check.OK(s.t, json.Unmarshal([]byte(a.Body), &listed))
		outcomes := map[string]int{}
		for _, op := range listed.Operations {
			outcomes[op.Action+" "+op.Outcome]++
		}
		// A second try under one id is the same operation; one that was refused is kept.
		for what, want := range map[string]int{
			"skip done": 1, "skip refused": 3, "redrive done": 1, "rewind done": 6, "rewind refused": 2, "pause done": 1,
			"resume done": 1, "remove done": 1, "remove refused": 1, "create done": 4, "create refused": 2,
		} {
			check.Is(s.t, outcomes[what], want, what, a.Body)
		}
		s.Want("operations of no queue", s.Request("GET", "/operations", "queue=other", ""), 404,
			`"code":"no-queue"`)
		s.Want("operations of another",
			s.Request("GET", "/operations", "queue=q&consumer=audit", ""), 200,
			`"operations":[{"at":`, `"action":"create","consumer":"audit","reason":"","request":{"start":"3"},"who":{"kind":"none"},"outcome":"done"}]`)
		check.Has(s.t, s.logs.String(), `"Operations":1`)
		check.That(s.t, !strings.Contains(s.logs.String(), `"Errors":`), "metrics: %s", &s.logs)
	})
}

func TestPages(t *testing.T) {
	onEach(t, func(s *server) {
		for i := range 5 {
			s.create(fmt.Sprintf(`{"queue":"q","consumer":"c%d"}`, i))
		}
		s.Want("first", s.Request("GET", "/consumers", "queue=q&limit=2", ""), 200,
			`"c0"`, `"c1"`, `"next":"c1"`)
		s.Want("second", s.Request("GET", "/consumers", "queue=q&limit=2&after=c1", ""), 200, `"c2"`,
			`"c3"`, `"next":"c3"`)
		if a := s.Request("GET", "/consumers", "queue=q&limit=2&after=c3", ""); !strings.Contains(a.Body,
			`"c4"`) || strings.Contains(a.Body, "next") {
			s.t.Errorf("last: %s", a.Body)
		}
		for i := range 120 {
			s.now = s.now.Add(time.Second)
			s.Request("POST", "/operations", "",
				fmt.Sprintf(`{"action":"pause","queue":"q","consumer":"c0","reason":"r","id":"op %d"}`, i))
		}
		// All are there once, the latest first, on two pages.
		var got []string
		next := ""
		for range 2 {
			var page struct {
				Operations []struct{ ID, Action string }
				Next       string
			}
			a := s.Request("GET", "/operations", url.Values{"queue": {"q"}, "after": {next}}.Encode(), "")
			check.OK(s.t, json.Unmarshal([]byte(a.Body), &page))
			for _, op := range page.Operations {
				got = append(got, op.ID)
			}
			next = page.Next
		}
		check.Need(s.t, len(got) == 120+5 && next == "", "%d operations, next %q", len(got), next)
		for i := range 120 {
			check.Is(s.t, got[i], fmt.Sprintf("op %d", 119-i))
		}
	})
}

func TestEveryShapeOfEvent(t *testing.T) {
	s := newServer(t, ddbtest.Memory)
	s.billing(2)
	s.Want("no route", s.Raw(httpapitest.V2("GET", "/messages", "queue=q", "", false)), 404,
		"problems/no-route", "/claims, /consumers, /endpoints, /operations")
	a := s.Raw(httpapitest.V2("DELETE", "/operations", "", "", false))
	check.That(t, a.Status == 405 && a.Headers["allow"] == "GET, POST", "no method: %+v", a)
	for _, c := range []struct{ event, want string }{
		{`{"operation":"create","queue":"q","consumer":"direct","start":2}`, `"delivered":1`},
		{`{"operation":"status","queue":"q","limit":1}`, `"next":"billing"`},
		{`{"operation":"status","queue":"q","consumer":"direct"}`, `"lag":1`},
		{`{"action":"pause","queue":"q","consumer":"direct","reason":"r"}`, `"paused":{"reason":"r"`},
		{`{"operation":"operate","action":"resume","queue":"q","consumer":"direct","reason":"r"}`, `"action":"resume"`},
		{`{"operation":"operations","queue":"q"}`, `"action":"resume"`},
		{`{"operation":"pause","queue":"q","consumer":"direct","reason":"r"}`, `"status":400`},
	} {
		check.Has(t, s.Invoke(c.event), c.want, c.event)
	}
	// The audit log names what it cannot read, and shows the rest.
	s.operate("pause", `,"id":"op"`)
	s.do(ddb.Put{Op: s.on(s.names.Audit), Item: ddb.Fields{"queue": ddb.Text("q"),
		"operation": ddb.Text("0 newer"), "v": ddb.Int(99)}.Item()})
	s.Want("the audit log", s.Request("GET", "/operations", "queue=q", ""), 200, `"id":"op"`,
		`"unreadable":"operation \"0 newer\": it cannot be read: `)
}

// TestOutran has somebody else come first.
func TestOutran(t *testing.T) {
	s := newServer(t, ddbtest.Memory)
	s.billing(3)
	s.block("q", "billing", 2)
	s.before = func(r ddb.Request) {
		if r.Name() != "unblock" {
			return
		}
		s.before = nil
		s.Want("the first", s.operate("skip", `,"seq":2`), 200, `"delivered":2`)
	}
	s.Want("the second", s.operate("skip", `,"seq":2`), 409, "problems/outran")
	s.Want("once", s.status(), 200, `"delivered":2`)
}

// TestNothingIsLogged looks for a reason and a body in what the function prints.
func TestNothingIsLogged(t *testing.T) {
	s := newServer(t, ddbtest.Memory)
	runtimetest.Logs(t, &s.logs)
	s.billing(1)
	s.operate("pause", "")
	s.operate("skip", `,"seq":2`)
	text := s.logs.String()
	check.That(t, !strings.Contains(text, "canary") && !strings.Contains(text, "because") &&
		strings.Contains(text, `"answered","status":409`), "the log: %s", text)
}

// TestRoutesAreTheContract, but for what enqueue answers of queues.
func TestRoutesAreTheContract(t *testing.T) {
	httpapitest.Routes(t, (&service{}).api().Routes, "queues")
}

func TestStart(t *testing.T) {
	runtimetest.Starts(t, newHandler, "MESSAGES", "CURSORS", "TROUBLE", "CONSUMERS", "AUDIT")
}

// TestSinks: what is known of a consumer's sink, once for each name of the page; a tenant sees when
// it is asked again, and nothing of what others delivered.
func TestSinks(t *testing.T) {
	onEach(t, func(s *server) {
		s.put("@acme/q", 1)
		for _, consumer := range []string{"billing", "fine"} {
			s.Want("create", s.Request("POST", "/consumers", "",
				fmt.Sprintf(`{"queue":"@acme/q","consumer":%q}`, consumer)), 200)
		}
		opened := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
		known := request.Health{Consumer: "billing"}
		learn := func(next request.Health) {
			t.Helper()
			next.Consumer, next.By = "billing", "r"
			there, made, err := s.consumers.Requests(request.Inside{}).Learn(t.Context(), known, next)
			known = there
			check.Need(t, err == nil && made, "%v %v", made, err)
		}
		at := func(seconds int) time.Time { return opened.Add(time.Duration(seconds) * time.Second) }
		learn(request.Health{
			Failing: []request.FailingQueue{{Queue: "@globex/q", At: at(-10)},
				{Queue: "secret", At: at(-5)}}, FailingSince: at(-10), TakenAt: at(-20),
			Circuit: request.Circuit{Opened: opened, ProbeAt: at(5), Probes: 2},
		})
		reads := 0
		s.before = func(r ddb.Request) {
			if r.Name() == "health" {
				reads++
				check.That(t, !r.(ddb.Get).Strong, "a strong read")
			}
		}
		const open = `"sink":{"openSince":"2026-05-06T07:08:09Z","probeAt":"2026-05-06T07:08:14Z"`
		want := func(what, as, query string, n int, sink string) {
			t.Helper()
			reads = 0
			s.Want(what, s.as(as, "GET", "/consumers", query, ""), 200,
				`"lag":1,"delivered":0,"position":1`+sink)
			check.That(t, reads == n, "%s: %d reads, want %d", what, reads, n)
		}
		all := `,"nextTry":"2026-05-06T07:08:14Z","rewinds":0,` + open + `,"probes":2,"failingSince":"2026-05-06T07:07:59Z","takenAt":"2026-05-06T07:07:49Z"}}`
		want("a page", "", "queue=@acme/q", 2, all+`,{"queue":"@acme/q","consumer":"fine","state":"catching-up","seq":1,"lag":1,"delivered":0,"position":1,"rewinds":0}]`)
		want("one whose page is shorter", "", "queue=@acme/q&limit=1", 1, all)
		want("a tenant", "acme", "queue=q", 2, `,"nextTry":"2026-05-06T07:08:14Z","rewinds":0,`+open+`}}`)
		learn(request.Health{TakenAt: at(9), Circuit: request.Circuit{Closed: at(9), Waking: true}})
		want("closed", "", "queue=@acme/q", 2,
			`,"rewinds":0,"sink":{"waking":true,"takenAt":"2026-05-06T07:08:18Z"}}`)
		want("closed, to a tenant", "acme", "queue=q", 2, `,"rewinds":0},{"queue":"q","consumer":"fine"`)
	})
}

// TestBadInput: a clear error that names the field, and nothing is changed.
func TestBadInput(t *testing.T) {
	s := newServer(t, ddbtest.Memory)
	s.billing(3)
	s.block("q", "billing", 2)
	before := s.status().Body
	long := strings.Repeat("x", 1025)
	op := func(members string) string {
		return `{"action":"skip","queue":"q","consumer":"billing","reason":"r",` + members + `}`
	}
	for _, c := range []struct{ path, body, field string }{
		{"/consumers", `{"consumer":"a"}`, "queue"},
		{"/consumers", `{"queue":"` + long + `","consumer":"a"}`, "queue"},
		{"/consumers", `{"queue":"q"}`, "consumer"},
		{"/consumers", `{"queue":"q","consumer":"a b"}`, "consumer"},
		{"/consumers", `{"queue":"q","consumer":"` + long[:129] + `"}`, "consumer"},
		{"/consumers", `{"queue":"q","consumer":"a","start":"FIRST"}`, "start"},
		{"/consumers", `{"queue":"q","consumer":"a","start":0}`, "start"},
		{"/consumers", `{"queue":"q","consumer":"a","start":-1}`, `start","detail":"is \"-1\": it must be an integer from 0 to 9223372036854775807, in plain digits, or first, or latest","code":"out-of-range`},
		{"/consumers", `{"queue":"q","consumer":"a","start":5}`, "start"},
		{"/consumers", `{"queue":"q","consumer":"a","reason":"r"}`, "reason"},
		{"/operations", `{}`, "action"},
		{"/operations", `{"action":"create","queue":"q","consumer":"billing","reason":"r"}`, "action"},
		{"/operations", `{"action":"pause","queue":"q","consumer":"billing"}`, "reason"},
		{"/operations", `{"action":"pause","queue":"q","consumer":"billing","reason":"` + long[:501] + `"}`, "reason"},
		{"/operations", `{"action":"pause","consumer":"billing","reason":"r"}`, "queue"},
		{"/operations", `{"action":"pause","queue":"q","reason":"r"}`, "consumer"},
		{"/operations", `{"action":"pause","queue":"q","consumer":"billing","reason":"r","seq":2}`, "seq"},
		{"/operations", `{"action":"pause","queue":"q","consumer":"billing","reason":"r","id":""}`, "id"},
		{"/operations", `{"action":"pause","queue":"q","consumer":"billing","reason":"r","id":"` + long[:65] + `"}`, "id"},
		{"/operations", `{"action":"rewind","queue":"q","consumer":"billing","reason":"r"}`, "start"},
		{"/operations", `{"action":"rewind","queue":"q","consumer":"billing","reason":"r","start":5}`, "start"},
		{"/operations", `{"action":"redrive","queue":"q","consumer":"billing","reason":"r"}`, "seq"},
		{"/operations", `{"action":"settle","queue":"q","consumer":"billing","reason":"r","outcome":"COMMITTED"}`, "token"},
		{"/operations", `{"action":"release","queue":"q","consumer":"billing","reason":"r"}`, "token"},
		{"/operations", `{"action":"release","queue":"q","consumer":"billing","reason":"r","token":"1-a","outcome":"ABORTED"}`, "outcome"},
		{"/operations", op(`"seq":-1`), "seq"},
		{"/operations", op(`"seq":2,"start":2`), "start"},
		{"/operations", op(`"seq":2,"by":"me"`), "by"},
	} {
		a := s.Request("POST", c.path, "", c.body)
		s.Want(c.path+" "+c.body, a, 400, `"field":"`+c.field+`"`)
		check.Is(t, a.Headers["content-type"], "application/problem+json", c.body)
	}
	for outcome, want := range map[string]string{``: "outcome is missing",
		`,"outcome":"committed"`: `outcome must be COMMITTED or ABORTED: it is \"committed\"`} {
		settle := `{"action":"settle","queue":"q","consumer":"billing","reason":"r","token":"1-a"` +
			outcome + `}`
		s.Want(settle, s.Request("POST", "/operations", "", settle), 400, want)
	}
	for _, c := range []struct{ path, query, field string }{
		{"/consumers", "queue=q&consumer=a%20b", "consumer"},
		{"/consumers", "queue=q&limit=1001", "limit"},
		{"/operations", "", "queue"},
		{"/operations", "queue=q&consumer=%00", "consumer"},
		{"/operations", "queue=q&after=%FF", "after"},
		{"/operations", "queue=q&after=%F0%9F%90%A2", "after"},
		{"/operations", "queue=q&after=" + long, "after"},
	} {
		s.Want(c.path+"?"+c.query, s.Request("GET", c.path, c.query, ""), 400, `"field":"`+c.field+`"`)
	}
	s.Want("a parameter of a post", s.Request("POST", "/operations", "dryRun=1", op(`"seq":2`)), 400,
		`"field":"dryRun"`, "there are none")
	s.Want("a consumer that is not there", s.Request("POST", "/operations", "",
		strings.Replace(op(`"seq":2`), "billing", "bill", 1)), 404, "problems/no-consumer")
	nobody := strings.Replace(op(`"seq":2`), `"queue":"q"`, `"queue":"nobody's"`, 1)
	s.Want("of a queue that is not there", s.Request("POST", "/operations", "", nobody), 404,
		"problems/no-queue", `"id":`)
	s.Want("the status of that", s.Request("GET", "/consumers", "queue=nobody%27s&consumer=billing",
		""), 404, "problems/no-queue")
	wrong := strings.Replace(httpapitest.V2("POST", "/operations", "", op(`"seq":2`), false),
		"application/json", "text/plain", 1)
	s.Want("content type", s.Raw(wrong), 415, "problems/not-json")
	check.Is(t, s.status().Body, before)
}
