package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/intake"
	"github.com/streamsort/streamsort/internal/mapping"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/internal/runtime/runtimetest"
	"github.com/streamsort/streamsort/pkg/cursor"
)

func init() { slog.SetDefault(slog.New(slog.DiscardHandler)) }

// server is the handler on the memory store, with a client that holds every answer to the contract.
type server struct {
	*httpapitest.Client
	handle httpapitest.Handler
	memory *cursor.Store
	logs   bytes.Buffer
	now    time.Time
}

func newServer(t *testing.T, change func(*service)) *server {
	t.Helper()
	s := &server{memory: cursor.NewMemory(), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	clock := func() time.Time { return s.now }
	sorter := check.Get(cursor.New(s.memory, &cursor.Options{Now: clock}))
	service := &service{sorter: sorter, now: clock}
	if change != nil {
		change(service)
	}
	s.handle = runtime.Around(&s.logs, runtime.Headroom, service.api().Handle)
	s.Client = httpapitest.New(t, s.handle)
	return s
}

// raw is a stack's mapping of raw events.
func raw(t mapping.Texts) *mapping.Mapping {
	m, err := t.Parse(mapping.Kind{Request: true, Known: true})
	if err != nil {
		panic(err) // a test with a mapping that can never work
	}
	return m
}

// sorter is the Sorter of the server's store, by its clock.
func (s *server) sorter(t *testing.T) *cursor.Sorter {
	t.Helper()
	return check.Get(cursor.New(s.memory, &cursor.Options{Now: func() time.Time { return s.now }}))
}

// queues are the names of all queues, in their order.
func (s *server) queues(t *testing.T) string {
	t.Helper()
	var names []string
	for _, c := range check.Get(s.sorter(t).Queues(t.Context(), "", 100)).Cursors {
		names = append(names, c.Queue)
	}
	return strings.Join(names, " ")
}

// logsHave looks for parts in what the function prints.
func (s *server) logsHave(parts ...string) {
	s.Want("the log", httpapitest.Answer{Body: s.logs.String()}, 0, parts...)
}

func (s *server) put(seq int64, body string) httpapitest.Answer {
	return s.post("", fmt.Sprintf(`{"queue":"q","seq":%d,"body":%s}`, seq, body))
}

func TestEachOutcomeHasItsStatus(t *testing.T) {
	s := newServer(t, nil)
	s.Want("settings", s.Request("PUT", "/queues", "",
		`{"queue":"q","maxAhead":3,"policy":"skip","gapAfter":"90s"}`), 200,
		`"maxAhead":3`, `"gapAfter":"1m30s"`, `"position":0`)
	s.Want("advanced", s.put(1, `"a"`), 200, `"outcome":"advanced"`, `"old":0,"new":1`)
	s.Want("duplicate", s.put(1, `"a"`), 200, `"outcome":"duplicate"`)
	s.Want("conflict", s.put(1, `"b"`), 409, "problems/conflict", `"outcome":"conflict"`,
		`"position":1`)
	s.Want("parked", s.put(3, `"c"`), 202, `"outcome":"parked"`)
	s.Want("full", s.put(9, `"d"`), 429, "problems/full", `"maxAhead":3`, `"position":1`)
	s.Want("full in a batch", s.post("",
		`{"messages":[{"queue":"q","seq":9,"body":1},{"queue":"q","seq":3,"body":"c"}]}`), 200,
		`"outcome":"full","queue":"q","seq":9,"old":1,"new":1,"maxAhead":3`)
	s.Want("stale", s.put(0, `"e"`), 410, "problems/stale", `"first":1`,
		`use another one, and put \"first\": 0 beside its first message`)
	a := s.put(9, `"d"`)
	check.That(t, a.Headers["retry-after"] != "", "full without Retry-After: %v", a.Headers)
	s.Want("gaps", s.get("/gaps", "queue=q"), 200, `"gaps":[{"from":2,"to":2,"since":`)
	s.now = s.now.Add(time.Hour)
	s.Want("status", s.get("/queues", "queue=q"), 200, `"gapOpen":true`,
		`"gapAgeSeconds":3600`, `"parked":1,`)
	s.Want("before the gap", s.post("", `{"messages":[{"queue":"aged","seq":2,"body":1},{"queue":"aged","seq":4,"body":1}]}`), 200)
	s.now = s.now.Add(time.Hour)
	s.Want("a move to an old gap", s.post("", `{"queue":"aged","seq":1,"body":1}`), 200)
	s.Want("its age", s.get("/queues", "queue=aged"), 200, `"gapAgeSeconds":3600`, `"position":2`)
	s.now = s.now.Add(-time.Hour)
	check.Get(s.sorter(t).Sweep(t.Context(), cursor.SweepOptions{}))
	s.Want("late", s.put(2, `"f"`), 410, "problems/late")
	s.Want("read", s.get("/messages", "queue=q"), 200, `"seq":1,"body":"a"`, `"seq":2,`,
		`"tombstone":`, `"last":3`)
	s.Want("no queue", s.get("/queues", "queue=other"), 404, "problems/no-queue",
		`"detail":"nothing was ever put to this queue (queue \"other\")"`)
	s.Request("PUT", "/queues", "", `{"queue":"async","mode":"async"}`)
	s.Want("stored", s.post("", `{"queue":"async","seq":1,"body":1}`), 202, `"outcome":"stored"`)
	s.Want("first fixed", s.Request("PUT", "/queues", "", `{"queue":"q","first":5}`), 409,
		"problems/setting-fixed")
	s.logsHave(`"MessagesStored":1`, `"Duplicates":1`, `"Conflicts":1`, `"Parked":1`, `"Advances":1`)
	// A seq beyond what JSON readers take is a text.
	s.Want("made", s.Request("PUT", "/queues", "", `{"queue":"far","first":"9223372036854775806"}`),
		200, `"first":"9223372036854775806"`)
	s.Want("put", s.post("",
		`{"queue":"far","seq":"9223372036854775806","body":1}`), 200, `"seq":"9223372036854775806"`)
	s.Want("put as a number", s.post("",
		`{"queue":"far","seq":9223372036854775807,"body":1}`), 200, `"new":"9223372036854775807"`)
}

func TestBatch(t *testing.T) {
	for _, door := range doors {
		s := newServer(t, nil)
		s.through(t, door)
		a := s.post("", `{"messages":[{"queue":"q","seq":2,"body":{}},{"queue":"q","seq":"1","body":null},{"queue":"p","seq":7,"body":[]}]}`)
		s.Want("batch", a, 200, `{"status":200,"outcome":"advanced","queue":"q","seq":2,"old":0,"new":2}`,
			`{"status":200,"outcome":"advanced","queue":"q","seq":1,`,
			`{"status":202,"outcome":"parked","queue":"p","seq":7,`)
		var many strings.Builder
		for i := range intake.MaxMessages + 1 {
			fmt.Fprintf(&many, `,{"queue":"q","seq":%d,"body":0}`, i+1)
		}
		s.Want("too many", s.post("", `{"messages":[`+many.String()[1:]+`]}`),
			400, `"code":"out-of-range"`, `"field":"messages"`, "at most 500")
	}
}

// TestBodiesAreDeliveredByteForByte: what a JSON reader would call the same is not the same.
func TestBodiesAreDeliveredByteForByte(t *testing.T) {
	s := newServer(t, nil)
	bodies := []string{`{"b":1,"a":2}`, `1.0`, `"<&>\u00e9é"`, `{ "spaced" :  [ 1 ,2 ] }`, `1e400`,
		`null`, `"\ud800"`, `{"a":1,"a":2}`}
	for i, body := range bodies {
		s.Want(body, s.put(int64(i)+1, body), 200, "advanced")
		m, found, err := s.memory.Requests(queuelog.Inside{}).Message(t.Context(), "q", int64(i)+1)
		check.That(t, err == nil && found, "%q: %v", body, err)
		check.Is(t, string(m.Body), body)
	}
	// Not held to the contract: its checker takes no number beyond a float64.
	a := s.Raw(httpapitest.V2("GET", "/messages", "queue=q&limit=1000", "", false))
	var read struct {
		Messages []struct {
			Body       json.RawMessage
			BodyBase64 []byte
		}
	}
	check.OK(t, json.Unmarshal([]byte(a.Body), &read))
	for i, m := range read.Messages {
		got := string(m.Body)
		if got == "" {
			got = string(m.BodyBase64)
		}
		check.That(t, got == bodies[i], "read %q, want %q", got, bodies[i])
	}
	binary := base64.StdEncoding.EncodeToString([]byte{0, 0xff, 1})
	next := len(bodies) + 1
	s.Want("binary",
		s.post("",
			fmt.Sprintf(`{"queue":"q","seq":%d,"bodyBase64":%q,"id":"i","attributes":{"a":"b"}}`,
				next, binary)), 200)
	s.Want("binary read", s.get("/messages", fmt.Sprintf("queue=q&after=%d", next-1)), 200,
		`"bodyBase64":"`+binary+`"`, `"contentType":"application/octet-stream"`,
		`"attributes":{"a":"b"}`, `"id":"i"`)
}

// refusing is an engine that does not answer puts of a queue's messages.
type refusing struct {
	ddb.Engine
	queue string
}

func (r refusing) Do(ctx context.Context, request ddb.Request) (ddb.Answer, error) {
	if put, is := request.(ddb.Put); is && put.Item.Get("queue").String() == r.queue {
		return ddb.Answer{}, ddb.ErrUnavailable
	}
	return r.Engine.Do(ctx, request)
}

// TestAnswerIsWhatMustBeRepeated: a message that can never be stored does not hide another one that
// may be stored, and whose caller has to come again.
func TestAnswerIsWhatMustBeRepeated(t *testing.T) {
	s := newServer(t, func(service *service) {
		service.sorter = runtimetest.Sorter(refusing{runtimetest.Tables(), "b"}, nil)
	})
	s.made(`{"queue":"a","kind":"keyed","keyType":"number"}`)
	s.Want("both",
		s.post("", `{"messages":[{"queue":"a","seq":1,"body":1},{"queue":"b","seq":1,"body":1}]}`), 503,
		"repeating the request is safe")
	s.Want("alone", s.post("",
		`{"messages":[{"queue":"a","seq":1,"body":1}]}`), 400, `"field":"messages[0].seq"`)
}

// TestAnswersStayBelowLambdas6MB: whatever the messages hold, an answer is one that Lambda takes,
// and each has the next messages.
func TestAnswersStayBelowLambdas6MB(t *testing.T) {
	const most = 6 << 20
	attributes := map[string]string{"a": strings.Repeat("\x01", 8000)}
	for name, m := range map[string]cursor.Message{
		"HTML":       {Body: []byte(`"` + strings.Repeat("<&>", 110_000) + `"`)},
		"quoted":     {Body: []byte(`"` + strings.Repeat(`\"`, 160_000) + `"`)},
		"binary":     {Body: bytes.Repeat([]byte{0xff}, 340_000), ContentType: "application/octet-stream"},
		"separators": {Body: []byte(`"` + strings.Repeat("\u2028", 110_000) + `"`)},
		"attributes": {Body: []byte(`1`), Attributes: attributes},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, nil)
			sorter, all := s.sorter(t), int64(20)
			if m.Attributes != nil {
				all = 150
			}
			for seq := range all {
				m.Queue, m.Seq = "q", seq+1
				check.OK(t, sorter.Put(t.Context(), m)[0].Err)
			}
			for after := int64(0); after < all; {
				raw := s.Invoke(httpapitest.V2("GET", "/messages",
					fmt.Sprintf("queue=q&limit=1000&after=%d", after), "", false))
				check.Need(t, len(raw) <= most,
					"an answer of %d bytes, and Lambda's have at most %d", len(raw), most)
				var answer struct {
					StatusCode int
					Body       string
				}
				var page struct{ Last int64 }
				check.OK(t, json.Unmarshal([]byte(raw), &answer))
				check.OK(t, json.Unmarshal([]byte(answer.Body), &page))
				check.Need(t, page.Last > after, "%+v behind %d: %.200s", page, after, answer.Body)
				after = page.Last
			}
		})
	}
}

func TestEveryShapeOfEvent(t *testing.T) {
	document := `{"queue":"q/ü","seq":1,"body":{"a":1}}`
	for name, event := range map[string]string{
		"HTTP API":           httpapitest.V2("POST", "/messages", "", document, false),
		"HTTP API, a stage":  httpapitest.V2("POST", "/prod/messages", "", document, false),
		"HTTP API in base64": httpapitest.V2("POST", "/messages", "", base64.StdEncoding.EncodeToString([]byte(document)), true),
		"REST API":           httpapitest.V1("POST", "/messages", nil, document),
	} {
		s := newServer(t, nil)
		s.Want(name, s.Raw(event), 200, `"outcome":"advanced"`)
	}
	s := newServer(t, nil)
	s.Raw(httpapitest.V1("POST", "/messages", nil, document))
	s.Want("REST API, a parameter",
		s.Raw(httpapitest.V1("GET", "/queues", url.Values{"queue": {"q/ü"}}, "")), 200, `"position":1`)
	s.Want("REST API, a parameter twice",
		s.Raw(httpapitest.V1("GET", "/queues", url.Values{"queue": {"a", "b"}}, "")), 400,
		`"field":"queue"`)
	s.Want("HTTP API, a parameter",
		s.Raw(httpapitest.V2("GET", "/queues", "queue=q%2F%C3%BC", "", false)), 200, `"position":1`)
	s.Want("broken base64", s.Raw(httpapitest.V2("POST", "/messages", "", "%", true)), 400,
		`"field":"request body"`)
	s.Want("no route", s.Raw(httpapitest.V2("POST", "/other", "", "", false)), 404,
		"problems/no-route")
	a := s.Raw(httpapitest.V2("DELETE", "/messages", "", "", false))
	check.That(t, a.Status == 405 && a.Headers["allow"] == "GET, POST", "no method: %+v", a)
}

func TestDirectInvoke(t *testing.T) {
	s := newServer(t, nil)
	for _, c := range []struct{ event, want string }{
		{`{"queue":"q","seq":1,"body":1}`, `{"status":200,"outcome":"advanced"`},
		{`{"operation":"put","queue":"q","seq":2,"body": {"x" : 1}}`, `{"status":200,"outcome":"advanced"`},
		{`{"messages":[{"queue":"q","seq":4,"body":1}]}`, `{"status":200,"results":[{"status":202`},
		{`{"operation":"status","queue":"q"}`, `"position":2`},
		{`{"operation":"gaps","queue":"q","limit":5}`, `"from":3`},
		{`{"operation":"read","queue":"q","after":1}`, `"seq":2`},
		{`{"operation":"configure","queue":"q","policy":"skip"}`, `"policy":"skip"`},
		{`{"queue":"a.b","seq":"c","event":{"a":{"b":"raw"},"c":1}}`, `"queue":"raw"`},
		{`{"operation":"destroy","queue":"q"}`, `"status":400`},
		{`{"operation":7}`, `"status":400`},
		{`7`, `"status":400`},
		{``, `"status":400`},
		{`{"queue":"q"}`, `"status":400`},
		{`{"requestContext":5,"queue":"q"}`, `"status":400`},
	} {
		got := s.Invoke(c.event)
		check.That(t, strings.Contains(got, c.want), "%s: %s, want %s", c.event, got, c.want)
	}
	m, _, err := s.memory.Requests(queuelog.Inside{}).Message(t.Context(), "q", 2)
	check.That(t, err == nil && string(m.Body) == `{"x" : 1}`, "body %q, %v", m.Body, err)
}

func TestRawEvents(t *testing.T) {
	s := newServer(t, nil)
	event := `{"repository":{"full.name":"octo/repo","id":17},"delivery":{"number":1},"messages":[1]}`
	s.Want("by the query", s.post("queue=repository.full%5C.name&seq=delivery.number", event), 200,
		`"queue":"octo/repo"`)
	m, _, err := s.memory.Requests(queuelog.Inside{}).Message(t.Context(), "octo/repo", 1)
	check.That(t, err == nil && string(m.Body) == event, "body %q, %v; want the event", m.Body, err)
	s.Want("a number as the queue", s.post("queue=repository.id&seq=delivery.number", event), 200,
		`"queue":"17"`)
	s.Want("several", s.post("queue=a&seq=n",
		`[{"a":"x","n":2},{"a":"x","n":"1"}]`), 200, `"results"`, `"new":2`)
	for query, field := range map[string]string{
		"queue=repository.name&seq=delivery.number": "queue",
		"queue=repository.id&seq=delivery":          "seq",
		"queue=repository.id":                       "seq",
		"queue=repository.id&id=repository":         "id",
		"queue=a&seq=c&other=1":                     "other",
	} {
		s.Want(query, s.post(query, event), 400, `"field":"`+field+`"`)
	}

	s = newServer(t, func(s *service) { s.events = raw(mapping.Texts{Queue: "author", Seq: "n"}) })
	s.Want("by the stack's settings", s.post("", `{"author":"ann","n":1}`), 200, `"queue":"ann"`)
	for event, want := range map[string]string{
		`{"author":"ann","n":2}`:                            `"new":2`,
		`[{"author":"eve","n":1}]`:                          `"results"`,
		`{"operation":"status","queue":"ann"}`:              `"field":"queue"`, // no author
		`{"operation":"status","author":"bob","n":1}`:       `"queue":"bob"`,
		`{"operation":{"any":"thing"},"author":"cy","n":1}`: `"queue":"cy"`,
	} {
		check.Has(t, s.Invoke(event), want, event)
	}
}

// TestRawEventsOfWebhooks: alternatives, defaults, null on the way, headers, lists.
func TestRawEventsOfWebhooks(t *testing.T) {
	s := newServer(t, nil)
	headers := map[string]string{"X-GitHub-Delivery": "d1", "X-GitHub-Hook-ID": "h1"}
	query := "queue=" + url.QueryEscape("customer.name | account.id | 'none'") + "&id=" +
		url.QueryEscape("@header(X-GitHub-Delivery),@header(X-GitHub-Hook-ID)")
	for want, event := range map[string]string{"c": `{"customer":{"name":"c"}}`,
		"7": `{"customer":null,"account":{"id":7}}`, "none": `{"customer":{"name":null},"account":[]}`} {
		s.Want(want, s.with(headers, query, event), 200, `"queue":"`+want+`","seq":1`)
	}
	headers["X-GitHub-Hook-ID"] = "h2"
	s.Want("another app", s.with(headers, query, `{"account":{"id":7}}`), 200, `"queue":"7","seq":2`)
	s.Want("again", s.with(headers, query, `{"account":{"id":7}}`), 200, `duplicate`,
		`"queue":"7","seq":2`)

	query = "queue=q&prefix=p/&id=id&attributes=" +
		url.QueryEscape(`{"event":"@header(X-Event)","kind":"k"}`)
	s.Want("attributes", s.with(map[string]string{"X-Event": "push"}, query, `{"q":"r","id":1}`), 200,
		`"queue":"p/r"`)
	s.Want("read", s.get("/messages", "queue=p/r"), 200, `"attributes":{"event":"push"}`)
	s.Want("no attributes", s.post("queue=q&id=id&attributes=x", `{}`), 400, `"field":"attributes"`)
	query = "each=" + url.QueryEscape("entry[]") + "&queue=" +
		url.QueryEscape("@event.object") + "&id=id"
	s.Want("a list",
		s.with(map[string]string{"X-A": "b"}, query,
			`{"object":"page","entry":[{"id":"a"},{"id":"b","x":1}]}`), 200, `"queue":"page","seq":1`,
		`"queue":"page","seq":2`)
	s.Want("its bodies", s.get("/messages", "queue=page"), 200, `"body":{"id":"a"}`,
		`"body":{"id":"b","x":1}`)
	s.Want("two of one seq",
		s.post("queue=q&seq=n", `[{"q":"numbers","n":1},{"q":"numbers","n":1,"x":1}]`), 200,
		`{"status":409,"outcome":"conflict","queue":"numbers","seq":1,`)
	full := s.post("queue=q&seq=n",
		`[{"q":"numbers","n":9007199254740991},{"q":"numbers","n":9007199254740991,"x":1}]`)
	check.Is(t, strings.Count(full.Body, `"outcome":"full"`), 2, full.Body)
	segment := "each=" + url.QueryEscape("batch[]") + "&id=messageId&queue=" +
		url.QueryEscape("userId | anonymousId")
	s.Want("a batch of Segment", s.with(map[string]string{"X-A": "b"}, segment, `{"batch":[{"messageId":"m1","userId":"u"},{"messageId":"m2","userId":null,"anonymousId":"n"}]}`), 200, `"queue":"u","seq":1`, `"queue":"n","seq":1`)
	s.Want("none", s.with(map[string]string{"X-A": "b"}, query, `{"object":"page","entry":[]}`), 400,
		`"field":"each"`, "empty list")
	s.Want("no id",
		s.with(map[string]string{"X-A": "b"}, query,
			`{"object":"page","entry":[{"id":"c"},{"id":null}]}`), 400,
		`"field":"messages[1].id"`, "id is null")
}

// TestRawEventsByTheirReceipt: a repeat has the key of the first.
func TestRawEventsByTheirReceipt(t *testing.T) {
	s := newServer(t, nil)
	query := "queue='r'&id=id&keyType=time&key=" + url.QueryEscape("updated_at | @received")
	s.Want("first", s.post(query, `{"id":"a","updated_at":null}`), 202, `waiting`)
	s.now = s.now.Add(time.Second)
	s.Want("with a key", s.post(query, `{"id":"b","updated_at":"2026-01-02T03:04:05.5Z"}`),
		202, `waiting`)
	s.Want("again", s.post(query, `{"id":"a","updated_at":null}`), 200, `duplicate`)
	s.now = s.now.Add(time.Minute)
	s.settle(t, "r")
	s.Want("again, much later", s.post(query, `{"id":"a","updated_at":null}`),
		200, `duplicate`, `"seq":1`)
	a := s.get("/messages", "queue=r")
	s.Want("read", a, 200, `"key":"2026-01-02T03:04:05Z","id":"a"`,
		`"attributes":{"streamsort-received":"key"}`, `"key":"2026-01-02T03:04:05.5Z","id":"b"`)
	check.That(t, strings.Count(a.Body, "streamsort-received") == 1 &&
		strings.Count(a.Body, `"seq"`) == 2, "%s", a.Body)
}

// TestRawEventsInArrivalOrder: without a seq they are known by an id in the event, or by the key of
// the request.
func TestRawEventsInArrivalOrder(t *testing.T) {
	s := newServer(t, nil)
	event := `{"repository":{"name":"r"},"delivery":{"id":"evt_17","n":3}}`
	const query = "queue=repository.name&id=delivery.id"
	s.Want("first", s.post(query, event), 200, `"outcome":"advanced","queue":"r","seq":1`)
	s.Want("repeated", s.post(query, event), 200, `"outcome":"duplicate","queue":"r","seq":1`)
	s.Want("other bytes", s.post(query, event+" "), 409, "problems/conflict")
	s.Want("a number as the id", s.post("queue=repository.name&id=delivery.n", event), 200, `"seq":2`)
	s.Want("several", s.post("queue=q&id=i",
		`[{"q":"r","i":1},{"q":"r","i":2}]`), 200, `"seq":3`, `"seq":4`)
	s.Want("direct",
		httpapitest.Answer{Status: 200, Body: s.Invoke(`{"queue":"q","id":"i","event":{"q":"r","i":2}}`)},
		200, `"outcome":"duplicate"`, `"seq":4`)
	s.Want("direct under a key",
		httpapitest.Answer{Status: 200,
			Body: s.Invoke(`{"queue":"q","idempotencyKey":"k","event":[{"q":"r"},{"q":"r","x":1}]}`)}, 200,
		`"seq":5`, `"seq":6`)
	s.Want("with both", s.post("queue=q&id=i&seq=n",
		`{"q":"numbered","i":"x","n":1}`), 200, `"new":1`)
	m, _, err := s.memory.Requests(queuelog.Inside{}).Message(t.Context(), "numbered", 1)
	check.That(t, err == nil && m.ID == "x", "id %q, %v", m.ID, err)

	s = newServer(t, func(s *service) { s.events = raw(mapping.Texts{Queue: "author", ID: "i"}) })
	s.Want("by the stack's settings", s.post("", `{"author":"ann","i":"1"}`),
		200, `"queue":"ann","seq":1`)
}

// TestBadInput: a clear error that names the field, and nothing stored.
func TestBadInput(t *testing.T) {
	long := strings.Repeat("x", 1025)
	for _, c := range []struct {
		name, body string
		status     int
		field      string
	}{
		{"empty queue", `{"queue":"","seq":1,"body":1}`, 400, "queue"},
		{"long queue", `{"queue":"` + long + `","seq":1,"body":1}`, 400, "queue"},
		{"queue of a type", `{"queue":7,"seq":1,"body":1}`, 400, "queue"},
		{"queue with half a character", `{"queue":"\ud800","seq":1,"body":1}`, 400, "queue"},
		{"not UTF-8", "{\"queue\":\"\xff\",\"seq\":1,\"body\":1}", 400, "request body"},
		{"negative seq", `{"queue":"q","seq":-1,"body":1}`, 400, "seq"},
		{"leading zeros", `{"queue":"q","seq":"01","body":1}`, 400, "seq"},
		{"seq true", `{"queue":"q","seq":true,"body":1}`, 400, "seq"},
		{"no body", `{"queue":"q","seq":1}`, 400, "body"},
		{"two bodies", `{"queue":"q","seq":1,"body":1,"bodyBase64":""}`, 400, "body"},
		{"broken base64", `{"queue":"q","seq":1,"bodyBase64":"%"}`, 400, "bodyBase64"},
		{"long body", `{"queue":"q","seq":1,"body":"` + strings.Repeat("x", cursor.MaxBody) + `"}`, 413, "body"},
		{"long request", `{"queue":"q","seq":1,"body":"` + strings.Repeat("x", 6<<20) + `"}`, 413, "request body"},
		{"attribute of a type", `{"queue":"q","seq":1,"body":1,"attributes":{"a":1}}`, 400, "attributes.a"},
		{"long content type", `{"queue":"q","seq":1,"body":1,"contentType":"` + long + `"}`, 400, "contentType"},
		{"nothing", ``, 400, "request body"},
		{"no messages", `{"messages":[]}`, 400, "messages"},
		{"messages of a type", `{"messages":{}}`, 400, "messages"},
		{"messages beside others", `{"messages":[],"queue":"q"}`, 400, "messages"},
		{"a message of a type", `{"messages":[7]}`, 400, "messages[0]"},
		{"a bad one among good ones", `{"messages":[{"queue":"q","seq":1,"body":1},{"queue":"q","seq":-1,"body":1}]}`, 400, "messages[1].seq"},
		{"two messages under one seq", `{"messages":[{"queue":"q","seq":1,"body":1},{"queue":"q","seq":1,"body":2}]}`, 400, "messages[1].seq"},
		{"both kinds for one queue", `{"messages":[{"queue":"p","seq":1,"body":1},{"queue":"q","id":"a","body":1},{"queue":"q","seq":1,"body":2}]}`, 400, "messages[1].seq"},
		{"no trace", `{"queue":"q","seq":1,"body":1,"traceparent":"x"}`, 400, "traceparent"},
		{"a state of no trace", `{"queue":"q","seq":1,"body":1,"tracestate":"a=1"}`, 400, "tracestate"},
		{"a long body among others", `{"messages":[{"queue":"q","seq":1,"body":"` + strings.Repeat("x", cursor.MaxBody) + `"}]}`, 413, "messages[0].body"},
	} {
		for _, door := range doors {
			s := newServer(t, nil)
			s.through(t, door)
			// In base64, so that an event can hold what is not UTF-8.
			a := s.Raw(httpapitest.V2("POST", "/messages", "",
				base64.StdEncoding.EncodeToString([]byte(c.body)), true))
			s.Check("POST", "/messages", "", c.body, a)
			s.Want(c.name, a, c.status, `"field":"`+c.field+`"`)
			check.Is(t, a.Headers["content-type"], "application/problem+json", c.name)
			check.Is(t, s.queues(t), "", c.name, door)
		}
	}
	s := newServer(t, nil)
	wrong := strings.Replace(httpapitest.V2("POST", "/messages", "", `{"queue":"q","seq":1,"body":1}`,
		false), "application/json", "text/plain", 1)
	s.Want("content type", s.Raw(wrong), 415, "problems/not-json")
	s.put(1, "1")
	for _, c := range []struct{ method, path, query, body, field string }{
		{"GET", "/queues", "queue=", "", "queue"},
		{"GET", "/queues", "queue=q&state=gap", "", `state","detail":"belongs to a list: give no queue with it`},
		{"GET", "/queues", "consumer=c", "", "consumer"},
		{"GET", "/queues", "foo=1", "", `foo","detail":"is not known: there are queue, prefix, state, after and limit`},
		{"GET", "/queues", "limit=101", "", "limit"},
		{"GET", "/queues", "state=gap&after=x", "", "after"},
		{"GET", "/queues", "queue=%zz", "", "query"},
		{"GET", "/gaps", "queue=q&limit=1001", "", "limit"},
		{"GET", "/messages", "queue=q&after=-1", "", "after"},
		{"GET", "/messages", "queue=q&to=1.5", "", "to"},
		{"PUT", "/queues", "", `{"queue":"q","gapAfter":5}`, "gapAfter"},
		{"PUT", "/queues", "", `{"queue":"q","retention":"1h"}`, "retention"},
	} {
		s.Want(c.method+" "+c.path+" "+c.query+c.body, s.Request(c.method, c.path, c.query, c.body), 400,
			`"field":"`+c.field+`"`)
	}
}

func FuzzHandle(f *testing.F) {
	for _, seed := range []string{
		httpapitest.V2("POST", "/messages", "", `{"queue":"q","seq":1,"body":1}`, false), httpapitest.V2("GET", "/messages", "queue=q&after=0", "", false),
		httpapitest.V1("PUT", "/queues", nil, `{"queue":"q"}`), `{"operation":"read","queue":"q"}`, `{"messages":[{"queue":"q","seq":"1","bodyBase64":"AA=="}]}`,
		`{"queue":"a.b","seq":"c","event":{"a":{"b":"x"},"c":1}}`, `[]`, `{"requestContext":{"http":{}}}`, `{"requestContext":{}}`,
		`{"queue":"q","id":"a","body":1}`, `{"idempotencyKey":"k","messages":[{"queue":"q","body":1},{"queue":"q","body":2},{"queue":"n","seq":1,"body":2}]}`,
		`{"messages":[{"queue":"q","seq":1,"body":1},{"queue":"q","id":"a","body":1}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, event []byte) {
		sorter := check.Get(cursor.New(cursor.NewMemory(), nil))
		handle := runtime.Around(io.Discard, runtime.Headroom,
			(&service{sorter: sorter, now: time.Now}).api().Handle)
		raw, err := handle(t.Context(), event)
		check.Need(t, err == nil, "a function error: %v", err)
		var a struct{ Status, StatusCode int }
		check.OK(t, json.Unmarshal(raw, &a))
		status := max(a.Status, a.StatusCode)
		check.That(t, status >= 200 && status < 500, "status %d: %s", status, raw)
	})
}

// Each message of a call is answered for before Lambda ends the function: those that were stored,
// and those that there was no time for.
func TestACallIsAnsweredBeforeItsTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tables := runtimetest.Tables()
		sorter := runtimetest.Sorter(
			ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
				if put, ok := r.(ddb.Put); ok && put.Item.Get("queue").Str() == "slow" {
					<-ctx.Done()
					return ddb.Answer{}, ctx.Err()
				}
				return tables.Do(ctx, r)
			}), nil)
		ctx, cancel := context.WithTimeout(t.Context(), 29*time.Second)
		defer cancel()
		var logs bytes.Buffer
		answer, err := runtime.Around(&logs, runtime.Headroom,
			(&service{sorter: sorter, now: time.Now}).api().Handle)(ctx,
			json.RawMessage(`{"messages":[{"queue":"q","seq":1,"body":1},{"queue":"slow","seq":1,"body":1},{"queue":"q","seq":2,"body":1}]}`))
		check.Need(t, err == nil && ctx.Err() == nil, "%s, %v, %v", answer, err, ctx.Err())
		for _, want := range []string{`"outcome":"advanced","queue":"q","seq":1`,
			`{"status":503,"queue":"slow"`, `"outcome":"advanced","queue":"q","seq":2`} {
			check.That(t, strings.Contains(string(answer), want), "no %s in %s", want, answer)
		}
	})
}

// TestRoutesAreTheContract, but for what delivery answers of queues.
func TestRoutesAreTheContract(t *testing.T) {
	httpapitest.Routes(t, (&service{}).api().Routes, "queues")
}

func TestStart(t *testing.T) {
	runtimetest.Starts(t, newHandler, "MESSAGES", "CURSORS", "TROUBLE")
}

// TestErrorsOfSettings: each names its setting, the value, the bounds and what to do.
func TestErrorsOfSettings(t *testing.T) {
	s := newServer(t, nil)
	s.made(`{"queue":"numbered"}`)
	s.made(`{"queue":"keyed","kind":"keyed","keyType":"time"}`)
	for body, problem := range map[string]string{
		`"first":-1`:                         `first is "-1": it must be an integer from 0 to 9223372036854775807, in plain digits`,
		`"kind":"both"`:                      `kind is "both": it must be numbered, arrival or keyed`,
		`"policy":"never"`:                   `policy is "never": it must be wait, skip or alert`,
		`"gapAfter":"1ms"`:                   `gapAfter is 1ms: it must be from 1s to 8760h0m0s`,
		`"gapAfter":"soon"`:                  `gapAfter is "soon": it must be a duration such as "90s", "5m" or "48h"`,
		`"maxAhead":0`:                       `maxAhead is 0: it must be from 1 to 10000000`,
		`"maxAhead":1.5`:                     `maxAhead is "1.5": it must be an integer from 1 to 10000000`,
		`"mode":"both"`:                      `mode is "both": it must be sync or async`,
		`"settle":"61m"`:                     `settle is 1h1m0s: it must be from 0s to 1h0m0s`,
		`"late":"never"`:                     `late is "never": it must be deliver or drop`,
		`"settle":"1m"`:                      `settle must not be given: only queues of the kind keyed have it: leave it out`,
		`"first":5`:                          `first is 5: that of the queue is 1, which is fixed when the queue is made: leave first out, or use another queue`,
		`"kind":"arrival"`:                   `kind is arrival: that of the queue is numbered, which is fixed when the queue is made: leave kind out, or use another queue`,
		`"queue":"keyed","keyType":"number"`: `keyType is number: that of the queue is time, which is fixed when the queue is made: leave keyType out, or use another queue`,
	} {
		if !strings.Contains(body, `"queue"`) {
			body = `"queue":"numbered",` + body
		}
		var got struct{ Detail string }
		a := s.Request("PUT", "/queues", "", "{"+body+"}")
		check.That(t, json.Unmarshal([]byte(a.Body), &got) == nil && got.Detail == problem,
			"%s: %d %s, want %s", body, a.Status, got.Detail, problem)
	}
	s.Want("a put", s.post("", `{"queue":"numbered","kind":"arrival","seq":1,"body":1}`), 409,
		"kind is arrival: that of the queue is numbered")
}
