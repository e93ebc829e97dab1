package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/timer"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// batch is a batch of an SQS queue's messages, m0, m1 and so on.
func batch(t *testing.T, bodies ...string) json.RawMessage {
	t.Helper()
	var e events.SQSEvent
	for i, body := range bodies {
		e.Records = append(e.Records,
			events.SQSMessage{MessageId: fmt.Sprint("m", i), Body: body, EventSource: "aws:sqs"})
	}
	return check.Get(json.Marshal(e))
}

func gapOfQ(queue string) string {
	return timer.WakeUp{Thing: timer.Thing{Kind: timer.Gap, Queue: queue},
		Due: time.Now().Add(-time.Second)}.String()
}

// answers checks which of the messages have to come again.
func answers(ctx context.Context, t *testing.T, s *bench, event json.RawMessage, want ...string) {
	t.Helper()
	answer := check.Get(s.handle(ctx, event))
	var again []string
	for _, f := range answer.(events.SQSEventResponse).BatchItemFailures {
		again = append(again, f.ItemIdentifier)
	}
	check.Is(t, cmp.Diff(want, again), "")
}

// TestHandlerWakes: a gap, a consumer and a chain, and what is unknown or gone; nothing else is
// looked at.
func TestHandlerWakes(t *testing.T) {
	s := sweeperOf(t, gapOf(t))
	check.OK(t, s.sorter.Put(t.Context(), cursor.Message{Queue: "other", Seq: 3})[0].Err)
	check.OK(t, s.sorter.Put(t.Context(), cursor.Message{Queue: "fails", Seq: 1})[0].Err)
	store := delivery.NewMemory()
	later := time.Now().Add(2 * time.Second)
	s.deliverer = check.Get(delivery.New(store, s.sorter, &delivery.Options{Now: func() time.Time {
		return later
	}}))
	earlier := check.Get(delivery.New(store, s.sorter, nil))
	bad := delivery.Reader{Name: "c", Handle: func(context.Context, delivery.Batch) error {
		return errors.New("no luck")
	}}
	done := earlier.Deliver(t.Context(), "fails", bad, -1)
	check.Need(t, done.Outcome == delivery.Wait, "%+v", done)
	chains := xorack.NewMemory()
	creator := check.Get(xorack.New(chains, nil))
	s.acker = check.Get(xorack.New(chains, &xorack.Options{Now: func() time.Time { return later }}))
	check.Get(creator.Create(t.Context(), "t", &xorack.CreateOptions{Deadline: time.Second}))
	s.consumers.LagAfter = 100 * 365 * 24 * time.Hour // the queues' clock is behind
	at := time.Now()
	answers(t.Context(), t, s, batch(t,
		timer.WakeUp{Thing: timer.Thing{Kind: timer.Gap, Queue: "q"}, Due: at}.String(),
		timer.WakeUp{Thing: timer.Thing{Kind: timer.Consumer, Queue: "fails", Consumer: "c"},
			Due: at}.String(),
		timer.WakeUp{Thing: timer.Thing{Kind: timer.Chain, Tag: "t"}, Due: at}.String(),
		timer.WakeUp{Thing: timer.Thing{Kind: timer.Gap, Queue: "gone"}, Due: at}.String(),
		timer.WakeUp{Thing: timer.Thing{Kind: timer.Consumer, Queue: "q", Consumer: "gone"},
			Due: at}.String(),
		timer.WakeUp{Thing: timer.Thing{Kind: timer.Chain, Tag: "gone"}, Due: at}.String(),
		"what is this?",
	))
	s.hasMetrics(`"WakeUps":7`, `"WakeUpsInVain":3`, `"WakeUpLate":[`, `"Errors":1`, `"Skipped":2`,
		`"GapsSkipped":1`, `"Notified":1`, `"ChainsTimedOut":1`)
	want := map[string]int{"gap.opened": 1, "gap.skipped": 1, "TIMED_OUT": 1}
	check.That(t, cmp.Equal(want, s.said), "said %v, want %v", s.said, want)
}

// TestHandlerWakesACircuit: people hear of it, by the metric too; its next turn has a wake-up.
func TestHandlerWakesACircuit(t *testing.T) {
	s, d := timed(t, gapOf(t))
	bad := delivery.Reader{Name: "c", Handle: func(context.Context, delivery.Batch) error {
		return errors.New("no luck")
	}}
	for queue := range strings.SplitSeq("abcdefghij", "") { // as many open it at once
		check.OK(t, s.sorter.Put(t.Context(), cursor.Message{Queue: queue, Seq: 1})[0].Err)
		done := s.deliverer.Deliver(t.Context(), queue, bad, -1)
		check.Need(t, done.Outcome == delivery.Wait, "%+v", done)
	}
	circuit := timer.WakeUp{Thing: timer.Thing{Kind: timer.Circuit, Consumer: "c"},
		Due: time.Now()}.String()
	answers(t.Context(), t, s, batch(t, circuit))
	check.Need(t, len(d.waits) == 1, "sent %v", d.waits)
	check.Is(t, check.Get(timer.Parse(d.waits[0].body)).Kind, timer.Circuit)
	s.consumers.Readers = []delivery.Reader{{Name: "c"}}
	check.Get(s.run(t.Context(), nil))
	s.hasMetrics(`"WakeUpLate":`, `"CircuitsOpen":1`)
	check.That(t, s.said["consumer.circuit-open"] == 1, "said %v", s.said)
}

// TestHandlerWakesTooEarly: what is not due yet is sent again.
func TestHandlerWakesTooEarly(t *testing.T) {
	s := sweeperOf(t, gapOf(t))
	long := time.Hour
	check.Get(s.sorter.Configure(t.Context(), "q", cursor.Change{GapAfter: &long}))
	s.sends(t, "http://127.0.0.1:1")
	answers(t.Context(), t, s, batch(t, gapOfQ("q")))
	s.hasMetrics(`"WakeUpsEarly":1`, `"WakeUpsFailed":1`)
}

// TestWakeUpsThatComeAgain: what fails, and what there is no time for; a message of any other queue
// is not ours.
func TestWakeUpsThatComeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storeBehind(t, func(_ context.Context, r *ddb.Request) error {
			if get, ok := (*r).(ddb.Get); ok && get.Key.Get("queue").Str() == "bad" {
				return errors.New("no luck")
			}
			return nil
		})
		sorter := check.Get(cursor.New(store, nil))
		s := sweeperOf(t, sorter)
		answers(t.Context(), t, s, batch(t, gapOfQ("well"), gapOfQ("bad")), "m1")
		s.hasMetrics(`"Errors":1`)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		answers(ended, t, s, batch(t, gapOfQ("well")), "m0")
	})
}
