package handoff_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/record"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/table"
)

// gathering is a desk with a process behind the stream whose consumer has a window of two seconds.
type gathering struct {
	*desk
	meter  *ddbtest.Meter
	begin  time.Time
	handle func(context.Context, table.StreamEvent) (events.DynamoDBEventResponse, error)
	// told are the wake-ups that it told of, such as "q 3 2.5s".
	told   []string
	window time.Duration
	// failing are the records that have to come again.
	failing []string
}

func newGathering(t *testing.T) *gathering {
	g := &gathering{desk: newDesk(t), window: 2 * time.Second}
	g.begin = g.now
	g.meter = ddbtest.NewMeter(g.consumers)
	g.store = g.storeOn(g.meter.Do)
	g.process()
	return g
}

// process begins a new one, which remembers nothing.
func (g *gathering) process() {
	var err error
	g.d, err = handoff.New(g.store, g.sorter, &handoff.Options{
		ForEach: fanout.OneByOne, Now: func() time.Time { return g.now },
		WakeBatch: func(queue string, upTo int64, due time.Time) {
			g.told = append(g.told, fmt.Sprintf("%s %d %v", queue, upTo, due.Sub(g.begin)))
		},
	})
	g.must(err)
	g.handle, err = handoff.OnStream(g.d, cursor.Names{}, g.windowed())
	g.must(err)
}

func (g *gathering) windowed() handoff.Reader {
	r := g.reader()
	r.BatchWindow = g.window
	return r
}

// comes puts messages of a queue, and hands the process a record of their move.
func (g *gathering) comes(queue string, from, to int64) {
	g.t.Helper()
	g.put(queue, upTo(from+1, to)...)
	g.event(moved(1, queue, from, to))
}

func (g *gathering) event(records ...json.RawMessage) {
	g.t.Helper()
	answer, err := g.handle(g.t.Context(), table.StreamEvent{Records: records})
	g.must(err)
	if g.failing = nil; len(answer.BatchItemFailures) > 0 {
		g.failing = []string{answer.BatchItemFailures[0].ItemIdentifier}
	}
}

// tells checks of which wake-ups it told since the last call.
func (g *gathering) tells(want ...string) {
	g.t.Helper()
	if !slices.Equal(g.told, want) {
		g.t.Errorf("told %q, want %q", g.told, want)
	}
	g.told = nil
}

// wakes checks whether a wake-up finds something to do.
func (g *gathering) wakes(upTo int64, want bool) {
	g.t.Helper()
	got, err := g.d.WakeBatch(g.t.Context(), "q", upTo, handoff.SweepOptions{Readers: []handoff.Reader{g.windowed()}})
	if err != nil || got != want {
		g.t.Errorf("woken: %t, %v; want %t", got, err, want)
	}
}

// TestBatchesGather: the first batch waits for nothing, the next one for the window, and it costs no request until
// then; another event has it delivered.
func TestBatchesGather(t *testing.T) {
	g := newGathering(t)
	g.comes("q", 0, 1)
	g.gets("q 1 #1")
	g.tells()
	g.pass(500 * time.Millisecond)
	g.meter.Take()
	g.comes("q", 1, 2)
	g.pass(500 * time.Millisecond)
	g.comes("q", 2, 3)
	g.gets()
	g.tells("q 2 2.5s", "q 3 2.5s")
	if took := g.meter.Take(); took != (ddbtest.Total{}) {
		t.Errorf("what is put off took %+v", took)
	}
	g.pass(time.Second)
	g.comes("other", 0, 1)
	g.gets("other 1 #1", "q 2,3 #1")
	g.wakes(3, false)
	g.pass(2 * time.Second)
	g.comes("q", 3, 4) // quiet for longer
	g.gets("q 4 #1")
	g.tells()
}

// TestAFullBatchDoesNotGather: and neither does a delivery that is asked for.
func TestAFullBatchDoesNotGather(t *testing.T) {
	g := newGathering(t)
	g.comes("q", 0, 1)
	g.comes("q", 1, 3)
	g.gets("q 1 #1")
	g.comes("q", 3, 4)
	g.gets("q 2,3,4 #1")
	g.comes("q", 4, 5)
	g.gets()
	if done := g.d.Deliver(t.Context(), "q", g.windowed(), -1); done.Ended != handoff.EndedCaughtUp {
		t.Errorf("%+v", done)
	}
	g.gets("q 5 #1")
}

// TestAnotherProcessGathers: it knows of the last batch by what it reads of the consumer.
func TestAnotherProcessGathers(t *testing.T) {
	g := newGathering(t)
	g.comes("q", 0, 1)
	g.process()
	g.pass(time.Second)
	g.comes("q", 1, 2)
	g.gets("q 1 #1")
	g.tells("q 2 2.5s")
	// What was put off is gone with the process, and its wake-up wakes up another.
	g.process()
	g.pass(1500 * time.Millisecond)
	g.wakes(2, true)
	g.event(moved(2, "q", 2, 2))
	g.gets("q 2 #1")
	g.wakes(2, false)
	g.tells()
}

// TestWakeUpsOfBatches: who has it, or does not wait for it, is not woken up.
func TestWakeUpsOfBatches(t *testing.T) {
	g := newGathering(t)
	g.wakes(1, false) // no such queue
	g.comes("q", 0, 1)
	g.comes("q", 1, 2)
	g.wakes(1, false)
	g.wakes(2, true) // too early: it is put off again
	g.event(moved(2, "q", 2, 2))
	g.gets("q 1 #1")
	if woken, err := g.d.WakeBatch(t.Context(), "q", 2, handoff.SweepOptions{}); woken || err != nil {
		t.Errorf("nobody has a window: %t, %v", woken, err)
	}
	_, err := g.d.Pause(t.Context(), order("p"))
	g.must(err)
	g.wakes(2, false)
	_, err = g.d.Resume(t.Context(), order("r"))
	g.must(err)
	// One whose claim is in flight may not know of it.
	_, _, err = g.store.Claim(t.Context(), g.standing("q"), record.Claim{Req: "other", To: 2, Now: g.now, LeaseUntil: g.now.Add(time.Minute)})
	g.must(err)
	g.wakes(2, false)
	g.wakes(3, true)
	if _, err := g.d.WakeBatch(t.Context(), "", 2, handoff.SweepOptions{}); err == nil {
		t.Error("a queue that none can be is no error")
	}
}

// TestNothingGathersThatFailed: a retry comes in its time, and what is due without a record fails none.
func TestNothingGathersThatFailed(t *testing.T) {
	g := newGathering(t)
	g.comes("q", 0, 1)
	g.poison(2, errNo)
	g.comes("q", 1, 2)
	g.pass(2 * time.Second)
	g.comes("other", 0, 1)
	g.gets("q 1 #1", "other 1 #1", "q 2 #1")
	if len(g.failing) > 0 {
		t.Errorf("record %v comes again", g.failing)
	}
	g.fails = nil
	g.pass(time.Second)
	g.event(moved(3, "q", 1, 2))
	g.gets("q 2 #2")
}

// TestWhatIsDueForLongIsLookedAt: most likely another delivered it, after a wake-up, while the process was frozen.
func TestWhatIsDueForLongIsLookedAt(t *testing.T) {
	g := newGathering(t)
	g.comes("other", 0, 1)
	g.comes("q", 0, 1)
	g.comes("q", 1, 2)
	frozen := g.handle
	g.pass(time.Minute)
	g.process()
	g.event(moved(2, "q", 2, 2))
	g.gets("other 1 #1", "q 1 #1", "q 2 #1")
	g.handle = frozen
	g.meter.Take()
	g.comes("other", 1, 2)
	g.gets("other 2 #1")
	if took := g.meter.Take(); took.Writes != 2 {
		t.Errorf("it claims what is delivered: %+v", took)
	}
}

// TestTheSweepLeavesWhatGathers: it does not lag, until its wake-up must have come. Any other wake-up comes again then: the
// call that was to deliver the queue may have been refused, and nothing put off.
func TestTheSweepLeavesWhatGathers(t *testing.T) {
	g := newGathering(t)
	g.comes("q", 0, 1)
	g.comes("q", 1, 2)
	options := handoff.SweepOptions{Sorter: cursor.SweepOptions{Segments: 1}, Readers: []handoff.Reader{g.windowed()}}
	if report := g.sweep(options); report.Notified != 0 || report.Lagging != 0 {
		t.Errorf("%+v", report)
	}
	wake := func() (int, time.Duration) {
		report, next, err := g.d.Wake(t.Context(), "q", "c", options)
		g.must(err)
		if next.IsZero() {
			return report.Notified, 0
		}
		return report.Notified, next.Sub(g.now)
	}
	if notified, in := wake(); notified != 0 || in != 7*time.Second {
		t.Errorf("notified %d, and to be looked at in %s", notified, in)
	}
	g.pass(6 * time.Second)
	if report := g.sweep(options); report.Notified != 0 || report.Lagging != 0 {
		t.Errorf("its wake-up may be on its way: %+v", report)
	}
	g.pass(time.Second)
	if report := g.sweep(options); report.Notified != 1 || report.Lagging != 1 {
		t.Errorf("%+v", report)
	}
}

// TestAWindowNeedsATimer: else what is put off would wait for the sweep.
func TestAWindowNeedsATimer(t *testing.T) {
	g := newGathering(t)
	d, err := handoff.New(g.store, g.sorter, nil)
	g.must(err)
	_, err = handoff.OnStream(d, cursor.Names{}, g.windowed())
	invalid(t, err, "batchWindow")
	for _, window := range []time.Duration{time.Millisecond, -time.Second, time.Hour} {
		r := g.windowed()
		r.BatchWindow = window
		invalid(t, r.Validate(), "batchWindow")
	}
	r := g.windowed()
	r.Track = time.Hour
	invalid(t, r.Validate(), "batchWindow")
}

// TestAStoreThatFailsLosesNothingThatGathers: a record comes again, and what was due is left to its wake-up.
func TestAStoreThatFailsLosesNothingThatGathers(t *testing.T) {
	g := newGathering(t)
	g.comes("q", 0, 1)
	g.comes("q", 1, 2)
	g.pass(2 * time.Second)
	g.queues.fail = func(request, queue string) error {
		if queue == "q" && request == "messages" {
			return errors.New("away")
		}
		return nil
	}
	g.comes("other", 0, 1)
	g.gets("q 1 #1", "other 1 #1")
	g.queues.fail = nil
	g.pass(time.Second)
	g.wakes(2, true)
	g.event(moved(2, "q", 2, 2))
	g.gets("q 2 #1")
}

// TestAProbeDoesNotGather: while the sink is away, its next message shows whether it is back, and waits for no window.
func TestAProbeDoesNotGather(t *testing.T) {
	g := newGathering(t)
	g.window = 20 * time.Second
	g.process()
	g.comes("u", 0, 1)
	g.fails = func(handoff.Batch) error { return handoff.SinkAway(errNo) }
	g.comes("q", 0, 1)
	g.comes("r", 0, 1)
	g.pass(10 * time.Second)
	g.comes("s", 0, 1)
	g.fails, g.got = nil, nil
	g.pass(6 * time.Second)
	g.comes("u", 1, 2)
	g.gets("u 2 #1")
	g.tells()
}

// TestAClockThatIsAheadKeepsNobodyWaiting: of who claimed the last batch.
func TestAClockThatIsAheadKeepsNobodyWaiting(t *testing.T) {
	g := newGathering(t)
	g.pass(time.Minute)
	g.comes("q", 0, 1)
	g.pass(-time.Minute)
	g.process()
	g.comes("q", 1, 2)
	g.gets("q 1 #1", "q 2 #1")
}
