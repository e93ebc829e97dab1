package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
)

// keyed makes a request with the header Idempotency-Key.
func (s *server) keyed(key, body string) httpapitest.Answer {
	value, _ := json.Marshal(key)
	event := httpapitest.V2("POST", "/messages", "", body, false)
	event = strings.Replace(event, `"content-type":`,
		`"Idempotency-Key":`+string(value)+`,"content-type":`, 1)
	a := s.Raw(event)
	s.Check("POST", "/messages", "", body, a)
	return a
}

func TestMessagesWithoutSeqs(t *testing.T) {
	s := newServer(t, nil)
	s.Want("first", s.post("", `{"queue":"q","id":"a","body":{"n":1}}`), 200,
		`"outcome":"advanced","queue":"q","seq":1,"old":0,"new":1`)
	s.Want("repeat", s.post("", `{"queue":"q","id":"a","body":{"n":1}}`), 200,
		`"outcome":"duplicate","queue":"q","seq":1,"old":1,"new":1`)
	s.Want("other bytes", s.post("", `{"queue":"q","id":"a","body":{"n":2}}`), 409,
		"problems/conflict")
	s.Want("several", s.post("", `{"messages":[{"queue":"q","id":"b","body":1},{"queue":"q","id":"c","body":2},{"queue":"q","id":"a","body":{"n":1}},{"queue":"p","id":"a","body":3},{"queue":"q","id":"a","body":{"n":  1}}]}`), 400,
		`"field":"messages[4].id"`)
	s.Want("several", s.post("", `{"messages":[{"queue":"q","id":"b","body":1},{"queue":"q","id":"c","body":2},{"queue":"q","id":"a","body":{"n":1}},{"queue":"p","id":"a","body":3}]}`), 200,
		`{"status":200,"outcome":"advanced","queue":"q","seq":2,"old":1,"new":3}`, `"queue":"q","seq":3,`,
		`{"status":200,"outcome":"duplicate","queue":"q","seq":1,`,
		`{"status":200,"outcome":"advanced","queue":"p","seq":1,"old":0,"new":1}`)
	s.Want("one that stays among others",
		s.post("", `{"messages":[{"queue":"q","id":"d","body":1},{"queue":"q","id":"c","body":0}]}`), 200,
		`{"status":200,"outcome":"advanced","queue":"q","seq":4,`,
		`{"status":409,"outcome":"conflict","queue":"q","detail":`)
	s.Want("read", s.get("/messages", "queue=q"), 200, `{"seq":1,"id":"a","body":{"n":1}`,
		`{"seq":2,"id":"b","body":1`, `{"seq":4,"id":"d"`, `"position":4`)
	s.Want("status", s.get("/queues", "queue=q"), 200, `"kind":"arrival"`,
		`"position":4`, `"gapOpen":false`)
	s.Want("gaps", s.get("/gaps", "queue=q"), 200, `"gaps":[]`)
	s.logsHave(`"MessagesStored":1`, `"Duplicates":1`, `"Conflicts":1`, `"Advances":1`,
		`"MessagesStored":3`, `"Advances":2`)
}

func TestIdempotencyKey(t *testing.T) {
	s := newServer(t, nil)
	batch := `{"messages":[{"queue":"q","body":1},{"queue":"p","body":2},{"queue":"q","id":"own","body":3}]}`
	s.Want("batch", s.keyed("k", batch), 200,
		`{"status":200,"outcome":"advanced","queue":"q","seq":1,"old":0,"new":2}`,
		`"queue":"p","seq":1,`, `{"status":200,"outcome":"advanced","queue":"q","seq":2,"old":0,"new":2}`)
	for _, key := range []string{"k", `"k"`} {
		s.Want("repeat with "+key, s.keyed(key, batch), 200,
			`"outcome":"duplicate","queue":"q","seq":1,"old":2,"new":2`, `"queue":"q","seq":2,`)
	}
	s.Want("another batch", s.keyed("k", strings.Replace(batch, "3", "4", 1)), 200, `"status":409`,
		`"outcome":"duplicate","queue":"p","seq":1`)
	s.Want("another key", s.keyed("k2", batch), 200, `"outcome":"advanced","queue":"q","seq":3,`)
	s.Want("one", s.keyed("one", `{"queue":"q","body":{}}`), 200, `"seq":5`)
	s.Want("one again", s.keyed("one", `{"queue":"q","body":{}}`), 200,
		`"outcome":"duplicate"`, `"seq":5`)
	s.Want("read", s.get("/messages", "queue=q"), 200, `{"seq":1,"body":1,`,
		`{"seq":2,"id":"own","body":3,`, `{"seq":5,"id":"one","body":{},`)
	s.Want("a message with a seq", s.keyed("k", `{"queue":"numbered","seq":1,"body":1}`), 200,
		`"outcome":"advanced"`)

	for event, want := range map[string]string{
		`{"idempotencyKey":"d","queue":"r","body":1}`:                                           `"seq":1`,
		`{"operation":"put","idempotencyKey":"d","queue":"r","body":1}`:                         `"outcome":"duplicate"`,
		`{"idempotencyKey":"d2","messages":[{"queue":"s","body":1},{"queue":"s","body":2}]}`:    `"seq":2`,
		`{"idempotencyKey":"","queue":"r","body":1}`:                                            `"field":"idempotencyKey"`,
		`{"idempotencyKey":7,"queue":"r","body":1}`:                                             `"field":"idempotencyKey"`,
		`{"idempotencyKey":"` + strings.Repeat("x", 1025) + `","queue":"r","body":1}`:           `"field":"idempotencyKey"`,
		`{"messages":[{"queue":"mixed","id":"a","body":1},{"queue":"other","seq":1,"body":1}]}`: `"status":200`,
	} {
		got := s.Invoke(event)
		check.That(t, strings.Contains(got, want) ||
			strings.Contains(got, `"outcome":"advanced"`), "%s: %s, want %s", event, got, want)
	}
}

// TestAppendAtASeq: a batch that says its seqs is appended where these are next, and each message
// is compared, or refused, by itself.
func TestAppendAtASeq(t *testing.T) {
	s := newServer(t, nil)
	s.Want("the first makes the queue", s.post("", `{"messages":[{"queue":"q","kind":"arrival","seq":1,"body":1},{"queue":"q","seq":2,"id":"own","body":2}]}`), 200,
		`"outcome":"advanced","queue":"q","seq":1,"old":0,"new":2`,
		`"outcome":"advanced","queue":"q","seq":2,`)
	s.Want("the queue", s.get("/queues", "queue=q"), 200, `"kind":"arrival"`, `"position":2`)
	s.Want("again, and more", s.post("", `{"messages":[{"queue":"q","seq":2,"id":"own","body":2},{"queue":"q","seq":3,"body":3}]}`), 200,
		`"outcome":"duplicate","queue":"q","seq":2,`,
		`"outcome":"advanced","queue":"q","seq":3,"old":2,"new":3`)
	s.Want("another", s.post("", `{"queue":"q","seq":2,"body":7}`), 409, `"code":"conflict"`,
		`"position":3`)
	s.Want("ahead", s.post("", `{"queue":"q","seq":5,"body":5}`), 409, `"code":"ahead"`,
		`"position":3`, "put seq 4 next")
	s.Want("ahead in a batch",
		s.post("", `{"messages":[{"queue":"q","seq":4,"body":4},{"queue":"q","seq":6,"body":6}]}`), 200,
		`"outcome":"advanced","queue":"q","seq":4,`, `{"status":409,"outcome":"ahead","queue":"q","seq":6,"old":3,"new":4,"detail":"the queue is in arrival order, and its position is 4: put seq 5 next`)
	s.Want("without a seq", s.post("", `{"queue":"q","kind":"arrival","id":"plain","body":5}`),
		200, `"seq":5`)
	s.Want("read", s.get("/messages", "queue=q"), 200, `{"seq":1,"body":1,`,
		`{"seq":2,"id":"own","body":2,`, `{"seq":5,"id":"plain","body":5,`)
	for body, code := range map[string]string{
		`{"queue":"p","kind":"numbered","seq":1,"body":1}`:         "unknown",
		`{"queue":"p","kind":"arrival","key":1,"id":"a","body":1}`: "clash",
		`{"queue":"p","kind":7,"seq":1,"body":1}`:                  "malformed",
	} {
		s.Want(body, s.post("", body), 400, `"field":"kind"`, `"code":"`+code+`"`)
	}
	// In one call each message goes where it belongs, or is answered why not.
	s.Want("made", s.Request("PUT", "/queues", "", `{"queue":"arrival","kind":"arrival","first":100}`),
		200, `"kind":"arrival"`, `"position":99`)
	s.Want("made", s.Request("PUT", "/queues", "", `{"queue":"numbered"}`), 200, `"kind":"numbered"`)
	s.Want("both", s.post("", `{"messages":[{"queue":"arrival","id":"a","body":1},{"queue":"numbered","seq":1,"body":1}]}`), 200,
		`"queue":"arrival","seq":100,"old":99,"new":100`, `"queue":"numbered","seq":1,"old":0,"new":1`)
	s.Want("a seq for a keyed queue",
		s.Request("PUT", "/queues", "", `{"queue":"keyed","kind":"keyed","keyType":"number"}`), 200)
	s.Want("a seq for a keyed queue", s.post("", `{"queue":"keyed","seq":5,"body":1}`), 400,
		`"field":"seq"`, "keyed")
	s.Want("no seq for a numbered queue", s.post("", `{"queue":"numbered","id":"a","body":1}`), 400,
		`"field":"seq"`, "numbered")
	s.Want("each where it does not belong", s.post("", `{"messages":[{"queue":"keyed","seq":5,"body":1},{"queue":"numbered","id":"a","body":1},{"queue":"third","seq":1,"body":1}]}`), 200,
		`{"status":400,"queue":"keyed","seq":5,`, `"code":"misplaced"`,
		`{"status":400,"queue":"numbered",`, `"code":"missing"`, `"outcome":"advanced"`)
	s.Want("all where they do not belong", s.post("", `{"messages":[{"queue":"keyed","seq":5,"body":1},{"queue":"numbered","id":"a","body":1}]}`), 400, "seq")
	s.Want("another kind", s.Request("PUT", "/queues", "", `{"queue":"numbered","kind":"arrival"}`),
		409, "problems/setting-fixed")
	s.Want("no such kind", s.Request("PUT", "/queues", "", `{"queue":"x","kind":"both"}`), 400,
		`"field":"kind"`, "numbered, arrival or keyed")
	check.That(t, !strings.Contains(s.logs.String(), `"Errors"`),
		"a caller's mistake was counted as an error: %s", &s.logs)
}
