package handoff_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/record"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// patient is the desk's reader with the default time after which a message blocks though
// nothing is known of its sink.
func (k *desk) patient() handoff.Reader {
	r := k.reader()
	r.BlockAfter = 0
	return r
}

// hands hands on what a queue has, and checks how that ended.
func (k *desk) hands(queue string, want handoff.Ended) handoff.Delivery {
	k.t.Helper()
	done := k.d.Deliver(k.t.Context(), queue, k.patient(), -1)
	k.must(done.Err)
	if done.Ended != want {
		k.t.Errorf("%s ended as %s (%v), want %s", queue, done.Ended, done.Cause, want)
	}
	return done
}

// refuses makes the sink refuse queues.
func (k *desk) refuses(queues ...string) {
	k.fails = func(b handoff.Batch) error {
		if slices.Contains(queues, b.Queue) {
			return errNo
		}
		return nil
	}
}

// restarted is a process that knows nothing yet.
func (k *desk) restarted() {
	k.t.Helper()
	var err error
	k.d, err = handoff.New(k.store, k.sorter, &handoff.Options{ForEach: fanout.OneByOne, Now: func() time.Time { return k.now }})
	k.must(err)
}

// TestAPoisonMessageAmongWorkingOnesIsBlocked: within its attempts, and alone.
func TestAPoisonMessageAmongWorkingOnesIsBlocked(t *testing.T) {
	k := newDesk(t)
	k.put("bad", 1)
	k.refuses("bad")
	next := int64(1)
	for _, wait := range []time.Duration{0, time.Second, 10 * time.Second} {
		k.pass(wait)
		k.d.Deliver(t.Context(), "bad", k.patient(), -1)
		k.pass(6 * time.Second)
		k.put("good", next)
		k.hands("good", handoff.EndedCaughtUp)
		next++
	}
	k.at("bad", 0, handoff.Blocked)
	k.at("good", next-1, handoff.Idle)
}

// TestAnOutageBlocksNothing: where nothing is taken, nothing is blocked, however long that is;
// what is bad then is known by what is taken later.
func TestAnOutageBlocksNothing(t *testing.T) {
	k := newDesk(t)
	k.put("bad", 1)
	k.put("good", 1)
	k.refuses("bad", "good")
	for range 100 {
		k.hands("bad", handoff.EndedFailed)
		k.hands("good", handoff.EndedFailed)
		k.pass(time.Hour)
	}
	k.refuses("bad")
	k.hands("bad", handoff.EndedFailed)
	k.hands("good", handoff.EndedCaughtUp)
	k.pass(time.Hour)
	k.hands("bad", handoff.EndedBlocked)
	k.put("good", 2)
	k.hands("good", handoff.EndedCaughtUp)
}

// TestAnOutageHasManyWords: one queue is told that its batch failed, and the other cannot reach
// the sink.
func TestAnOutageHasManyWords(t *testing.T) {
	k := newDesk(t)
	k.put("a", 1)
	k.put("b", 1)
	k.fails = func(b handoff.Batch) error {
		if b.Queue == "b" {
			return handoff.SinkAway(errNo)
		}
		return errNo
	}
	for range 10 {
		k.hands("b", handoff.EndedFailed)
		k.hands("a", handoff.EndedFailed)
		k.pass(time.Hour)
	}
}

// TestWhatWasTakenBeforeIsNoEvidence: a batch that was handed on before a message failed shows
// nothing, also where it is noted later.
func TestWhatWasTakenBeforeIsNoEvidence(t *testing.T) {
	k := newDesk(t)
	k.put("a", 1)
	k.put("b", 1)
	// Messages before them failed, so that there is something to note.
	_, _, err := k.store.Learn(t.Context(), record.Evidence{Consumer: "c"}, record.Evidence{Consumer: "c", By: "x", Failing: []string{"a", "c"}})
	k.must(err)
	k.fails = func(b handoff.Batch) error {
		switch b.Queue {
		case "b":
			// While it is at it, the sink goes away.
			k.hands("a", handoff.EndedFailed)
			return nil
		default:
			return errNo
		}
	}
	k.hands("b", handoff.EndedCaughtUp)
	for range 5 {
		k.pass(6 * time.Minute)
		k.hands("a", handoff.EndedFailed)
	}
	if c := k.at("a", 0, handoff.Idle); c.Attempts != 6 {
		t.Errorf("%d attempts, want 6", c.Attempts)
	}
}

// TestWhatIsTakenMeanwhileProvesNothing: where the sink comes back while a last attempt fails, the
// message is tried once more.
func TestWhatIsTakenMeanwhileProvesNothing(t *testing.T) {
	k := newDesk(t)
	k.put("a", 1)
	k.put("b", 1)
	k.refuses("a", "b")
	for range 2 {
		k.hands("a", handoff.EndedFailed)
		k.hands("b", handoff.EndedFailed)
		k.pass(time.Minute)
	}
	k.fails = func(b handoff.Batch) error {
		if b.Queue == "b" {
			return nil
		}
		k.hands("b", handoff.EndedCaughtUp)
		return errNo
	}
	k.hands("a", handoff.EndedFailed)
	if c := k.at("a", 0, handoff.Idle); c.Attempts != 3 {
		t.Errorf("%d attempts, want 3", c.Attempts)
	}
	k.pass(time.Hour)
	k.fails = nil
	k.hands("a", handoff.EndedCaughtUp)
}

// TestAConsumerOfOneQueueBlocksInTime: nothing else can tell.
func TestAConsumerOfOneQueueBlocksInTime(t *testing.T) {
	k := newDesk(t)
	k.put("q", 1)
	k.refuses("q")
	began := k.now
	for k.standing("q").State != handoff.Blocked && k.now.Sub(began) < 2*time.Hour {
		k.d.Deliver(t.Context(), "q", k.patient(), -1)
		k.pass(time.Second)
	}
	if took := k.now.Sub(began); took < time.Hour || took > time.Hour+5*time.Minute {
		t.Errorf("blocked after %s, want an hour and what is left to the next try", took)
	}
}

// TestAQueueThatWasTakenFailsNoMore: that another queue failed once, and nobody noted that it
// was taken, keeps no message from being blocked in time.
func TestAQueueThatWasTakenFailsNoMore(t *testing.T) {
	k := newDesk(t)
	for _, queue := range []string{"mended", "blocked", "gone"} {
		_, err := k.d.Create(t.Context(), queue, "c", handoff.First)
		k.must(err)
	}
	k.put("blocked", 1)
	k.block("blocked", 1)
	_, _, err := k.store.Learn(t.Context(), record.Evidence{Consumer: "c", Rev: 1}, record.Evidence{Consumer: "c", By: "x", Failing: []string{"mended", "blocked", "gone"}})
	k.must(err)
	_, err = k.d.Remove(t.Context(), handoff.Order{Queue: "gone", Consumer: "c", Reason: "gone"})
	k.must(err)
	k.put("q", 1)
	k.refuses("q")
	for range 4 {
		k.d.Deliver(t.Context(), "q", k.patient(), -1)
		k.pass(time.Hour)
	}
	k.at("q", 0, handoff.Blocked)
}

// TestARedriveBeginsAnew: what was taken before says nothing of the message now.
func TestARedriveBeginsAnew(t *testing.T) {
	k := newDesk(t)
	k.put("q", 1)
	k.block("q", 1)
	_, err := k.d.Redrive(t.Context(), handoff.Order{Queue: "q", Consumer: "c", Reason: "mended"}, 1)
	k.must(err)
	k.pass(time.Hour)
	k.refuses("q")
	for range 3 {
		k.hands("q", handoff.EndedFailed)
		k.pass(10 * time.Minute)
	}
}

// TestEvidenceOfOthersIsSeenAtOnce: a message is not taken for a bad one because a read shows
// what was known before others failed.
func TestEvidenceOfOthersIsSeenAtOnce(t *testing.T) {
	k := newDesk(t)
	k.put("a", 1)
	k.put("b", 1)
	k.refuses("a", "b")
	for range 2 {
		k.hands("a", handoff.EndedFailed)
		k.pass(10 * time.Second)
	}
	k.store = k.storeOn(ddbtest.NewStale(k.consumers, nil).Do)
	k.restarted()
	k.hands("b", handoff.EndedFailed)
	for range 2 {
		k.pass(time.Hour)
		k.hands("a", handoff.EndedFailed)
	}
}

// TestAProcessLooksAgain: what another one learnt is seen after some seconds.
func TestAProcessLooksAgain(t *testing.T) {
	k := newDesk(t)
	k.put("good", 1)
	k.hands("good", handoff.EndedCaughtUp)
	k.put("bad", 1)
	other := k.d
	k.restarted()
	k.refuses("bad")
	k.hands("bad", handoff.EndedFailed)
	k.d = other
	for next, want := range []int64{0, 1} {
		k.put("good", int64(next)+2)
		k.hands("good", handoff.EndedCaughtUp)
		e, err := k.store.Evidence(t.Context(), "c", true)
		k.must(err)
		if e.Taken != want {
			t.Errorf("it is known %d times that something was taken, want %d: %+v", e.Taken, want, e)
		}
		k.pass(5 * time.Second)
	}
}

// TestDeathsAloneBlockAsEver: the sink never refused the message.
func TestDeathsAloneBlockAsEver(t *testing.T) {
	k := newDesk(t)
	k.put("q", 1)
	_, err := k.d.Create(t.Context(), "q", "c", handoff.First)
	k.must(err)
	for n := range 3 {
		claim := record.Claim{Req: fmt.Sprint(n), To: 1, Now: k.now, LeaseUntil: k.now.Add(time.Minute)}
		_, _, err := k.store.Claim(t.Context(), k.standing("q"), claim)
		k.must(err)
		k.pass(2 * time.Minute)
	}
	k.sweep(handoff.SweepOptions{Sorter: cursor.SweepOptions{Segments: 1}, MaxAttempts: 3})
	k.at("q", 0, handoff.Blocked)
}
