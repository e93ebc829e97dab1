package main

import (
	"encoding/json"
	"testing"
	"time"
)

// TestStateOfAConsumer: what an operator has to know stands in the line.
func TestStateOfAConsumer(t *testing.T) {
	for document, want := range map[string]string{
		`{"state":"IDLE","attempts":0}`: "",
		`{"state":"IDLE","starting":true,"waiting":{"seq":7,"since":"2026-01-01T00:00:00Z","ageSeconds":60}}`:                                          ": finding its place; 7 waits for 1m0s",
		`{"state":"STARTED","attempts":1,"claim":{"token":"4-x","from":7,"to":"9007199254740993","leaseUntil":"2026-01-01T00:00:00Z"}}`:                ": at 7 to 9007199254740993, lease ended at 2026-01-01T00:00:00Z; attempt 1",
		`{"state":"STARTED","attempts":1,"claim":{"token":"4-x","from":7,"to":9,"leaseUntil":"x","deferred":true,"chain":"delivery/y/4-x"}}`:           ": at 7 to 9, deferred, claim 4-x ends at x, chain delivery/y/4-x; attempt 1",
		`{"state":"BLOCKED","attempts":5,"blocked":{"seq":7,"since":"x","ageSeconds":90.4},"failure":{"error":"no account","at":"x"}}`:                 ": blocked on 7 for 1m30s; attempt 5; failed: no account",
		`{"state":"IDLE","attempts":2,"failure":{"error":"no answer","at":"x","retryAt":"2026-01-01T00:00:10Z"}}`:                                      ": attempt 2; failed: no answer; tries again at 2026-01-01T00:00:10Z",
		`{"state":"IDLE","paused":{"reason":"the ledger is down","since":"2026-01-01T00:00:00Z"},"waiting":{"seq":"9007199254740993","missing":true}}`: ": paused since 2026-01-01T00:00:00Z: the ledger is down; 9007199254740993 is missing: it is not stored any more",
		`{"state":"IN_DOUBT","attempts":1,"claim":{"token":"4-x","from":7,"to":9,"leaseUntil":"2026-01-01T00:00:00Z"}}`:                                ": in doubt: claim 4-x of 7 to 9, whose lease ended at 2026-01-01T00:00:00Z; attempt 1",
		`{"state":"IDLE","attempts":0,"quarantine":[{"token":"4-x","from":7,"to":9,"state":"ABORTED","since":"yesterday"}]}`:                           ": quarantine: claim 4-x of 7 to 9, ABORTED since yesterday",
		`{"state":"IDLE","attempts":0,"refused":{"count":1,"claim":"1-r1","reason":"to queue \"n\": seq 1: conflict","since":"x"}}`:                    `: 1 reply refused, the last in claim 1-r1: to queue "n": seq 1: conflict`,
		`{"state":"IDLE","attempts":2,"refused":{"count":3,"claim":"2-r2","reason":"late","since":"x"}}`:                                               `: attempt 2; 3 replies refused, the last in claim 2-r2: late`,
		`{"state":"IDLE","sink":{"openSince":"x","probeAt":"y"}}`:                                                                                      ": circuit open since x, the next probe at y",
		`{"state":"IDLE","sink":{"openSince":"x","probeAt":"y","probes":2,"failingSince":"w","takenAt":"v"}}`:                                          ": circuit open since x, the next probe at y; 2 probes made; the sink has failed since w; the sink last took something at v, after a failure",
		`{"state":"IDLE","sink":{"waking":true}}`: ": the circuit has closed: queues that it held back are being woken up",
	} {
		var c consumer
		if err := json.Unmarshal([]byte(document), &c); err != nil {
			t.Fatal(err)
		}
		if got := c.state(clock{}); got != want {
			t.Errorf("%s: %q, want %q", document, got, want)
		}
	}
}

// TestTimesThatPassed are not ahead, and stand behind the word that is true of them.
func TestTimesThatPassed(t *testing.T) {
	now := time.Now()
	ahead, passed := now.Add(90*time.Second+500*time.Millisecond).Format(time.RFC3339Nano), now.Add(-27*time.Second).Format(time.RFC3339Nano)
	table := clock{style: "auto", table: true}
	for name, c := range map[string]struct{ got, want string }{
		"due ahead":   {table.due(ahead), "in 1m30s"},
		"due passed":  {table.due(passed), "now"},
		"due in text": {clock{style: "auto"}.due("2026-01-01T00:00:10Z"), "at 2026-01-01T00:00:10Z"},
		"end ahead":   {table.end(ahead), "ends in 1m30s"},
		"end passed":  {table.end(passed), "ended 27s ago"},
		"end in text": {clock{style: "iso"}.end("2026-01-01T00:00:10Z"), "ended at 2026-01-01T00:00:10Z"},
		"since":       {table.since(passed), "for 27s"},
		"since, text": {clock{style: "auto"}.since("2026-01-01T00:00:10Z"), "since 2026-01-01T00:00:10Z"},
		"when":        {table.when(passed), "27s ago"},
		"when, never": {table.when("never"), "at never"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", name, c.got, c.want)
		}
	}
}
