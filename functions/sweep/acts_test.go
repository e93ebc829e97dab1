package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/acts"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/timer"
)

// startedBatch blocks consumers of queues, and starts a batch that redrives them.
func startedBatch(t *testing.T, s *bench, queues int) acts.ID {
	t.Helper()
	return startedBatchAt(t, s, queues, acts.MaxRate)
}

// startedBatchAt does so at so many a second.
func startedBatchAt(t *testing.T, s *bench, queues, rate int) acts.ID {
	t.Helper()
	for i := range queues {
		queue := fmt.Sprint("blocked ", i)
		if _, err := s.sorter.Put(t.Context(), cursor.Message{Queue: queue, Seq: 1}); err != nil {
			t.Fatal(err)
		}
		bad := handoff.Reader{Name: "c", Handle: func(context.Context, handoff.Batch) error { return handoff.Permanent(errors.New("no")) }}
		if done := s.deliverer.Deliver(t.Context(), queue, bad, -1); done.Ended != handoff.EndedBlocked {
			t.Fatalf("%+v", done)
		}
	}
	desk := acts.New(s.deliverer)
	looked, err := desk.Look(t.Context(), acts.Ask{Action: handoff.OpRedrive, Reason: "the sink is back", Rate: rate})
	if err == nil {
		_, err = desk.Start(t.Context(), looked.Name(), looked.Who)
	}
	if err != nil || looked.Selected != queues {
		t.Fatalf("%+v, %v", looked, err)
	}
	return looked.Name()
}

// isDone checks that a batch acted on so many consumers.
func isDone(t *testing.T, s *bench, id acts.ID, queues int) {
	t.Helper()
	done, err := acts.New(s.deliverer).Batch(t.Context(), id)
	if err != nil || done.State != acts.Done || done.Done != queues {
		t.Errorf("%+v, %v", done, err)
	}
}

// TestHandlerGoesOnWithActs: a batch is carried out by its wake-up, and by a scheduled run where none came.
func TestHandlerGoesOnWithActs(t *testing.T) {
	var out bytes.Buffer
	s, _ := sweeperOf(t, gapOf(t), &out)
	id := startedBatch(t, s, 3)
	wakeUp := timer.WakeUp{Thing: timer.Thing{Kind: timer.Acts, Tag: id.String()}, Due: time.Now()}.String()
	answers(t.Context(), t, s, batch(t, wakeUp))
	hasMetrics(t, &out, `"Acts":3`, `"WakeUpLate":`)
	isDone(t, s, id, 3)
	answers(t.Context(), t, s, batch(t, wakeUp))
	hasMetrics(t, &out, `"WakeUpsInVain":1`)

	s, _ = sweeperOf(t, gapOf(t), &out)
	id = startedBatch(t, s, 2)
	if _, err := s.run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	hasMetrics(t, &out, `"Acts":2`)
	isDone(t, s, id, 2)
}
