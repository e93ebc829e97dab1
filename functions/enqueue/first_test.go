package main

import (
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestAQueueStartsWhereItsFirstMessageSays; a refused put makes none, and its answer says what to
// do.
func TestAQueueStartsWhereItsFirstMessageSays(t *testing.T) {
	s := newServer(t, nil)
	s.Want("0", s.post("", `{"queue":"q","seq":0,"body":1}`), 410, `"first":1`,
		`a new queue starts at seq 1, and none was made: put \"first\": 0, or \"here\", beside the message, or make it with PUT /queues {\"queue\": \"q\", \"first\": 0}`)
	s.Want("no queue", s.get("/queues", "queue=q"), 404)
	s.Want("0, said so", s.post("", `{"queue":"q","seq":0,"first":0,"body":1}`), 200,
		`"outcome":"advanced","queue":"q","seq":0`)
	s.Want("another", s.post("", `{"queue":"q","seq":1,"first":"1","body":1}`), 400, `"field":"first"`,
		"starts at seq 0")
	s.Want("in the middle", s.post("", `{"queue":"m","seq":4711,"body":1}`), 202, `"outcome":"parked"`,
		`it waits for seq 1, with which the queue starts`)
	s.Want("here", s.post("", `{"queue":"h","seq":4711,"first":"here","body":1}`), 200,
		`"outcome":"advanced","queue":"h","seq":4711`)
	a := s.post("", `{"queue":"h","seq":4713,"body":1}`) // behind a gap
	check.That(t, !strings.Contains(a.Body, "detail"), "parked: %s", a.Body)
	s.Want("beyond a queue in arrival order",
		s.post("", `{"queue":"a","seq":4711,"kind":"arrival","body":1}`), 409, `"outcome":"ahead"`,
		`"first":1`, "none was made", `\"kind\": \"arrival\", \"first\": 4711}`)
	s.Want("of an event", s.post("queue=q&seq=n&first=here", `{"q":"e","n":9}`), 200,
		`"outcome":"advanced","queue":"e","seq":9`)
	for body, problem := range map[string]string{
		`{"queue":"q","first":1,"body":1}`:               "must not be given without a seq",
		`{"queue":"q","seq":1,"first":-1,"body":1}`:      "here",
		`{"queue":"q","seq":1,"first":"there","body":1}`: "here",
	} {
		s.Want(body, s.post("", body), 400, `"field":"first"`, problem)
	}
	got := s.Invoke(`{"queue":"d","seq":7,"first":"here","body":1}`)
	check.That(t, strings.Contains(got, `"outcome":"advanced","queue":"d","seq":7`), "%v", got)
}
