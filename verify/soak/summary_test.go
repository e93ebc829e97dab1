package main

import (
	"bytes"
	"strings"
	"testing"
)

// right is the result of a run in which all went as it must.
func right() result {
	return result{
		in: 3, sent: 4, killed: 1, repeated: 1, dropped: 1, faults: 1, announced: []string{blockedAnnounced},
		sinks: []sinkResult{{name: "sqs", state: state{messages: 3}}},
	}
}

func TestVerdict(t *testing.T) {
	if err := right().verdict(); err != nil {
		t.Errorf("error %v", err)
	}
	for want, change := range map[string]func(*result){
		"2 was due":                       func(r *result) { r.sinks[0].violated = []string{"sqs: 2 was due"} },
		`first is 7 of queue "q"`:         func(r *result) { r.sinks[0].missing = []place{{"q", 7}, {"q", 8}} },
		"sqs: nothing came out":           func(r *result) { r.sinks[0].messages = 0 },
		"not announced":                   func(r *result) { r.wrong = []string{"not announced: x"} },
		"no process was killed":           func(r *result) { r.killed = 0 },
		"no record was repeated":          func(r *result) { r.repeated = 0 },
		"no record was dropped":           func(r *result) { r.dropped = 0 },
		"no request went wrong: the soak": func(r *result) { r.faults = 0 },
	} {
		r := right()
		change(&r)
		if err := r.verdict(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestPrint(t *testing.T) {
	var out bytes.Buffer
	r := right()
	r.sinks[0].missing = []place{{"q", 7}}
	r.sinks[0].violations = 2
	r.print(&out)
	for _, want := range []string{"3 messages, 0 again, 0 stale, 2 violations, 1 lost", "lost                1\n", "violations          2\n", blockedAnnounced} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}
