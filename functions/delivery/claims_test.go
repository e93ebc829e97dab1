package main

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/claimstest"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/pull/pullhttp"
)

// web is the handler behind HTTP, a request at a time; every answer is held to the contract, and
// lost where that says so.
func (s *server) web(lost func(*http.Request) bool) string {
	s.t.Helper()
	var one sync.Mutex
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		one.Lock()
		defer one.Unlock()
		body := check.Get(io.ReadAll(r.Body))
		a := s.Request(r.Method, r.URL.Path, r.URL.RawQuery, string(body))
		if lost != nil && lost(r) {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(a.Status)
		fmt.Fprint(w, a.Body)
	}))
	s.t.Cleanup(web.Close)
	return web.URL
}

// TestClaimsConformOverHTTP: the client does over HTTP what the protocol does on the tables.
func TestClaimsConformOverHTTP(t *testing.T) {
	claimstest.Run(t, func(t *testing.T) claimstest.Env {
		s := newServer(t, ddbtest.Memory)
		claims := check.Get(pullhttp.New(s.web(nil)))
		check.Get(s.deliverer.Create(t.Context(), "q", "c", delivery.First))
		last := int64(0)
		return claimstest.Env{
			Claims: claims, Attempts: 5, Arrived: claimstest.Arrived(t, s.sorter), Deliverer: s.deliverer,
			Put: func(n int) {
				for range n {
					last++
					check.OK(t, s.sorter.Put(t.Context(),
						cursor.Message{Queue: "q", Seq: last, Body: fmt.Append(nil, last)})[0].Err)
				}
			},
			Pass: func(d time.Duration) { s.now = s.now.Add(d) },
		}
	})
}

// TestMessagesTravelUnchanged: over HTTP they are what they are on the tables.
func TestMessagesTravelUnchanged(t *testing.T) {
	onEach(t, func(s *server) {
		for _, m := range []cursor.Message{
			{Seq: 1, Body: []byte(`{"a": 1.50,  "b":"<é>"}`), ID: "one", Attributes: map[string]string{"k": "v"}},
			{Seq: 2, Body: []byte{0, 255, 10}, ContentType: "application/octet-stream"},
			{Seq: 4, Body: []byte(`null`)}, // 3 was lost by its producer
			{Seq: 5, Body: []byte(`"text"`), ContentType: "text/plain"},
		} {
			m.Queue = "q"
			check.OK(t, s.sorter.Put(t.Context(), m)[0].Err)
		}
		settings := cursor.Change{Policy: new(cursor.PolicySkip), GapAfter: new(time.Second)}
		check.Get(s.sorter.Configure(t.Context(), "q", settings))
		s.now = s.now.Add(time.Hour)
		check.Get(s.sorter.Sweep(t.Context(), cursor.SweepOptions{}))
		s.create(`{"queue":"q","consumer":"c"}`)
		asked := delivery.Request{Queue: "q", Consumer: "c"}
		got := check.Get(check.Get(pullhttp.New(s.web(nil))).List(t.Context(), asked))
		of := &service{deliverer: s.deliverer, sorter: s.sorter, now: time.Now}
		want := check.Get(of.puller().List(t.Context(), asked))
		check.That(t, slices.Equal(got.Skipped, []int64{3}), "skipped %v", got.Skipped)
		check.That(t, got.From == want.From && got.To == want.To, "%+v, want %+v", got, want)
		check.Need(t, len(got.Messages) == 4, "%+v", got.Messages)
		for i, m := range got.Messages {
			w := want.Messages[i]
			check.That(t, m.EnqueuedAt.Equal(w.EnqueuedAt), "%v, want %v", m, w)
			w.ContentType = cmp.Or(w.ContentType, "application/json")
			m.EnqueuedAt, m.ExpiresOn, m.Digest, m.Op = w.EnqueuedAt, w.ExpiresOn, w.Digest, w.Op
			check.Is(t, fmt.Sprintf("%+v", m), fmt.Sprintf("%+v", w))
		}
	})
}

// TestBadClaims: each is refused with the field's name, and changes nothing.
func TestBadClaims(t *testing.T) {
	s := newServer(t, ddbtest.Memory)
	s.billing(2)
	on := func(action, members string) string {
		return fmt.Sprintf(`{"action":%q,"queue":"q","consumer":"billing","token":"1-r",%s}`,
			action, members)
	}
	for _, c := range []struct{ method, query, body, field, bounds string }{
		{"GET", "queue=q&consumer=billing&maxMessages=0", "", "maxMessages", ""},
		{"GET", "queue=q&consumer=billing&maxBytes=4000000", "", "maxBytes", ""},
		{"POST", "", `{"queue":"q","consumer":"billing"}`, "request", ""},
		{"POST", "", `{"queue":"q","consumer":"billing","request":"r","maxMessages":1001}`, "maxMessages", "from 1 to 1000"},
		{"POST", "", `{"queue":"q","consumer":"billing","request":"r","leaseSeconds":29}`, "leaseSeconds", "from 30 to 43200"},
		{"POST", "", `{"queue":"q","consumer":"billing","request":"r","leaseSeconds":43201}`, "leaseSeconds", ""},
		{"POST", "", `{"queue":"q","consumer":"billing","request":"r","seqs":[1,1.5]}`, "seqs[1]", ""},
		{"POST", "", `{"queue":"q","consumer":"billing","request":"r","seqs":[1,2],"maxMessages":1}`, "seqs", "at most 1"},
		{"PATCH", "", `{"action":"prepare","queue":"q","consumer":"billing"}`, "token", ""},
		{"PATCH", "", `{"action":"prepare","queue":"q","consumer":"billing","token":"01-r"}`, "token", ""},
		{"PATCH", "", `{"action":"commit","queue":"q","consumer":"billing","token":"1"}`, "token", ""},
		{"PATCH", "", `{"action":"commit","queue":"q","consumer":"billing","token":"r1"}`, "token", ""},
		{"PATCH", "", `{"action":"commit","queue":"q","consumer":"billing","token":"0-r1"}`, "token", ""},
		{"PATCH", "", `{"action":"commit","queue":"q","consumer":"billing","token":"1-"}`, "token", ""},
		{"PATCH", "", `{"action":"commit","queue":"q","consumer":"billing","token":""}`, "token", ""},
		{"PATCH", "", `{"action":"prepare","queue":"q","consumer":"billing","token":"1-` + strings.Repeat("r", 65) + `"}`, "token", ""},
		{"PATCH", "", `{"action":"undo","queue":"q","consumer":"billing","token":"1-r"}`, "action", ""},
		{"PATCH", "", `{"action":"settle","queue":"q","consumer":"billing","token":"1-r"}`, "outcome", ""},
		{"POST", "", `{"queue":"q","consumer":"billing","request":"r","maxBytes":0}`, "maxBytes", "from 1 to 3145728"},
		{"PATCH", "", on("commit", `"next":{}`), "next.request", "is missing"},
		{"PATCH", "", on("commit", `"next":{"request":"`+strings.Repeat("r", 65)+`"}`), "next.request", "at most 64"},
		{"PATCH", "", on("commit", `"next":{"request":"r"}`), "next.request", "that of the claim"},
		{"PATCH", "", on("commit", `"next":{"request":"s","maxMessages":0}`), "next.maxMessages", "from 1 to 1000"},
		{"PATCH", "", on("commit", `"leaseSeconds":60`), "leaseSeconds", `"misplaced"`},
		{"PATCH", "", on("abort", `"outcome":"ABORTED"`), "outcome", `"misplaced"`},
		{"PATCH", "", on("prepare", `"reason":"r"`), "reason", `"misplaced"`},
		{"PATCH", "", on("settle", `"outcome":"COMMITTED","next":{"request":"s"}`), "next", "is not a field of settle"},
		{"PATCH", "", on("extend", `"replies":[]`), "replies", `"misplaced"`},
	} {
		a := s.Request(c.method, "/claims", c.query, c.body)
		s.Want(c.query+c.body, a, 400, fmt.Sprintf(`"field":%q`, c.field), c.bounds)
	}
	s.Want("unknown", s.Request("POST", "/claims", "",
		`{"queue":"q","consumer":"nobody","request":"r"}`), 404, "no-consumer",
		`no consumer of this name: POST /consumers creates it (queue \"q\", consumer \"nobody\")`)
	s.Want("after all that", s.Request("POST", "/claims", "",
		`{"queue":"q","consumer":"billing","request":"r"}`), 200, `"token":"1-r"`)
}

// TestOperatorsOfQuarantine: what an operator sees and does.
func TestOperatorsOfQuarantine(t *testing.T) {
	s := newServer(t, ddbtest.Memory)
	s.billing(1)
	s.Request("POST", "/claims", "", `{"queue":"q","consumer":"billing","request":"r1"}`)
	s.Request("PATCH", "/claims", "",
		`{"action":"prepare","queue":"q","consumer":"billing","token":"1-r1"}`)
	for _, state := range []string{`"state":"IN_DOUBT"`,
		`"quarantine":[{"token":"1-r1","from":1,"to":1,"state":"IN_DOUBT"`} {
		s.now = s.now.Add(31 * time.Minute)
		check.Get(s.deliverer.Sweep(t.Context(), delivery.SweepOptions{}))
		s.Want("status", s.status(), 200, state)
		s.now = s.now.Add(31 * time.Minute)
	}
	for _, c := range []struct {
		action, more string
		status       int
		problem      string
	}{
		{"release", `,"token":"1-r1"`, 409, "problems/quarantined"},
		{"release", `,"token":"1-other"`, 409, "problems/not-quarantined"},
		{"settle", `,"token":"1-other","outcome":"ABORTED"`, 409, "problems/not-quarantined"},
		{"settle", `,"token":"7-r7","outcome":"COMMITTED"`, 409, "problems/not-quarantined"},
		{"rewind", `,"start":1`, 409, "problems/quarantined"},
		{"settle", `,"token":"1-r1"`, 400, ""},
		{"settle", `,"outcome":"ABORTED"`, 400, ""},
		{"release", `,"token":"1-r1","outcome":"ABORTED"`, 400, ""},
		{"settle", `,"token":"1-r1","outcome":"ABORTED","id":"s1"`, 200, ""},
		{"settle", `,"token":"1-r1","outcome":"ABORTED","id":"s1"`, 200, ""},
		{"settle", `,"token":"1-r1","outcome":"ABORTED"`, 200, ""},
		{"settle", `,"token":"1-r1","outcome":"COMMITTED"`, 409, "settled as aborted"},
		{"release", `,"token":"1-r1","id":"r1"`, 200, ""},
		{"release", `,"token":"1-r1","id":"r1"`, 200, ""},
		{"release", `,"token":"1-r1","id":"r2"`, 409, "problems/not-quarantined"},
		{"settle", `,"token":"1-r1","outcome":"ABORTED"`, 409, "problems/not-quarantined"},
		{"rewind", `,"start":1`, 200, ""},
	} {
		s.Want(c.action+c.more, s.operate(c.action, c.more), c.status, c.problem)
	}
}

// TestReplyDocuments shows replies as they travel, what is wrong with some, and what is reported of
// one that could never be stored.
func TestReplyDocuments(t *testing.T) {
	onEach(t, func(s *server) {
		s.put("q", 1)
		s.put("n", 1)
		s.create(`{"queue":"q","consumer":"billing"}`)
		s.Request("POST", "/claims", "", `{"queue":"q","consumer":"billing","request":"r1"}`)
		on := func(action, more string) string {
			return s.Request("PATCH", "/claims", "",
				`{"action":"`+action+`","queue":"q","consumer":"billing","token":"1-r1"`+more+`}`).Body
		}
		on("prepare", "")
		const replies = `,"replies":[{"queue":"x","body":{ "a":1}},{"queue":"x","bodyBase64":"AA==","contentType":"a/b"},{"queue":"n","seq":"1","body":1}]`
		for _, c := range []struct{ action, more, want string }{
			{"prepare", replies, `replies is not a field of prepare`},
			{"settle", `,"outcome":"ABORTED"` + replies, `replies belong to commit`},
			{"commit", `,"replies":7`, `replies must be a JSON array`},
			{"commit", `,"replies":[{"queue":"x"}]`, `replies[0].body must be given`},
			{"commit", `,"replies":[{"queue":"x","body":1,"to":2}]`, `replies[0].to is not known: there are queue, seq,`},
			{"commit", `,"replies":[` + strings.Repeat(`{"queue":"x","body":1},`, 500) + `{"queue":"x","body":1}]`, `"field":"replies","detail":"has too many elements: at most 500`},
			{"commit", replies, `"outcome":"OK"`},
			{"commit", replies, `"outcome":"OK"`},
		} {
			check.Has(t, on(c.action, c.more), c.want, c.action, c.more)
		}
		for path, want := range map[string]string{
			"/consumers":  `"refused":{"count":1,"claim":"1-r1","reason":"to queue \"n\": seq 1: conflict"`,
			"/operations": `"reason":"1 reply of claim 1-r1 to queue \"n\""`,
		} {
			check.Has(t, s.Request("GET", path, "queue=q", "").Body, want, path)
		}
		var bodies []string
		for m, err := range s.sorter.Read(t.Context(), "x", 0, 2) {
			check.OK(t, err)
			bodies = append(bodies, string(m.Body))
		}
		check.That(t, slices.Equal(bodies, []string{`{ "a":1}`, "\x00"}), "bodies %q", bodies)
	})
}

// TestClaimsStayBelowLambdas6MB: whatever the messages hold, a claim's answer is one that Lambda
// takes. Else the claim is lost for its lease, and so is the next one.
func TestClaimsStayBelowLambdas6MB(t *testing.T) {
	onEach(t, func(s *server) {
		for seq := range int64(150) {
			check.OK(s.t,
				s.sorter.Put(s.t.Context(), cursor.Message{Queue: "q", Seq: seq + 1, Body: []byte(`1`),
					Attributes: map[string]string{"a": strings.Repeat("\x01", 8000)}})[0].Err)
		}
		s.create(`{"queue":"q","consumer":"billing"}`)
		raw := s.Invoke(httpapitest.V2("POST", "/claims", "",
			`{"queue":"q","consumer":"billing","request":"r1","maxMessages":1000}`, false))
		check.Need(s.t, len(raw) <= 6<<20 && strings.Contains(raw, `\"outcome\":\"OK\"`),
			"an answer of %d bytes, and Lambda's have at most %d: %.200s", len(raw), 6<<20, raw)
	})
}

// TestAWorkerEndsADeferredClaim over HTTP, by the token that travelled with its messages; the
// status shows what the claim waits for.
func TestAWorkerEndsADeferredClaim(t *testing.T) {
	s := newServer(t, ddbtest.Memory)
	s.create(`{"queue":"q","consumer":"billing","start":"first"}`)
	s.put("q", 2)
	asks := func(c delivery.Consumer, members string) string {
		return `{"queue":"q","consumer":"billing","token":"` + c.Token.String() + `",` + members + `}`
	}
	claim := func(req string, to int64) delivery.Consumer {
		t.Helper()
		seen := check.Get(s.consumers.Requests(request.Inside{}).Consumer(t.Context(), "q", "billing"))
		c, _ := check.Get2(s.consumers.Requests(request.Inside{}).Claim(t.Context(), seen,
			request.Claim{Req: req, To: to, Now: s.now, LeaseUntil: s.now.Add(time.Minute)}))
		s.Want("before it is deferred", s.Request("PATCH", "/claims", "", asks(c, `"action":"commit"`)),
			200, `"outcome":"BUSY","reason":"STARTED"`)
		c, _ = check.Get2(s.consumers.Requests(request.Inside{}).Defer(t.Context(), c,
			s.now.Add(time.Hour)))
		return c
	}
	c := claim("r1", 1)
	s.Want("what it waits for", s.status(), 200, `"claim":{"state":"STARTED"`,
		`"deferred":true,"chain":"`+delivery.ChainOf(c)+`"`)
	s.Want("remove", s.operate("remove", ""), 409, `"detail":"the claim ends at `)
	s.Want("prepare", s.Request("PATCH", "/claims", "", asks(c, `"action":"prepare"`)), 200,
		`"outcome":"DEFERRED"`)
	s.Want("with replies", s.Request("PATCH", "/claims", "",
		asks(c, `"action":"commit","replies":[{"queue":"r","body":1}]`)), 400, `"field":"replies"`)
	s.Want("commit", s.Request("PATCH", "/claims", "", asks(c, `"action":"commit"`)), 200,
		`"outcome":"OK"`)
	c = claim("r2", 2)
	s.Want("fail", s.Request("PATCH", "/claims", "", asks(c, `"action":"abort","reason":"no card"`)),
		200, `"outcome":"OK"`)
	s.Want("why", s.status(), 200, `"state":"retrying","cause":"failed"`, `"error":"no card"`)
	cur := check.Get(s.sorter.Status(t.Context(), "q"))
	check.That(t, cur.Notified.Equal(s.now), "%+v", cur)
}
