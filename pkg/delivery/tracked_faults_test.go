package delivery_test

import (
	"errors"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// TestPoisonBlocksAlone: the messages of its batch that come before it are committed, and the
// consumer is blocked on it.
func TestPoisonBlocksAlone(t *testing.T) {
	for name, poison := range map[string]func(*trackedDesk, delivery.Batch) error{
		"the sink fails": func(*trackedDesk, delivery.Batch) error { return errors.New("no") },
		"its work fails": func(k *trackedDesk, b delivery.Batch) error {
			for i, m := range b.Messages {
				if m.Seq == 2 {
					_, err := k.acker.Fail(t.Context(), b.Edges[i], "no")
					return err
				}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := newTrackedDesk(t)
			k.put("q", 1, 2, 3)
			k.fails = func(b delivery.Batch) error {
				for _, m := range b.Messages {
					if m.Seq == 2 {
						return poison(k, b)
					}
				}
				k.works(b.Edges...)
				return nil
			}
			for range 20 {
				k.must(k.d.Deliver(t.Context(), "q", k.reader(), -1).Err)
				k.finishes()
				k.pass(10 * time.Minute)
			}
			c := k.at("q", 1, delivery.Blocked)
			check.That(t, !c.Deferred && c.Attempts == 3, "%+v", c)
			k.gets("q 1,2,3 #1", "q 1,2,3 #2", "q 1 #3", "q 2 #3", "q 2 #4", "q 2 #5")
			k.fails = nil
			check.Get(k.d.Operate(t.Context(), skips(delivery.Order{Queue: "q", Consumer: "c", Reason: "why"}, 2)))
			k.ends(endedDeferred)
			k.works(k.edges...)
			k.finishes()
			k.at("q", 3, delivery.Idle)
		})
	}
}

// TestTrackIsChanged: by a deployment, while a claim is in flight. The claim ends as it was made,
// and the next one is made as the reader says now.
func TestTrackIsChanged(t *testing.T) {
	plain := func(k *trackedDesk) delivery.Reader {
		r := k.reader()
		r.Track = 0
		return r
	}
	longer := func(k *trackedDesk) delivery.Reader {
		r := k.reader()
		r.Track = 3 * trackTime
		return r
	}
	for name, c := range map[string]struct {
		after func(*trackedDesk) delivery.Reader
		// done is whether the work was done; pass is what goes by before the reader of the new
		// deployment looks.
		done bool
		pass time.Duration
		want string
		at   int64
	}{
		"to off, done":              {plain, true, 2 * time.Minute, endedCaughtUp, 2},
		"to off, open":              {plain, false, 2 * time.Minute, endedBusy, 0},
		"to off, late":              {plain, false, trackTime + time.Second, endedWait, 0},
		"to longer, in its time":    {longer, false, trackTime - time.Second, endedBusy, 0},
		"to longer, late as it was": {longer, false, trackTime + time.Second, endedWait, 0},
	} {
		t.Run(name, func(t *testing.T) {
			k := newTrackedDesk(t)
			k.put("q", 1, 2)
			k.ends(endedDeferred)
			if c.done {
				k.works(k.edges...)
			}
			k.pass(c.pass)
			done := k.d.Deliver(t.Context(), "q", c.after(k), -1)
			k.must(done.Err)
			check.That(t, ending(done) == c.want && done.Record.Delivered == c.at,
				"it ended as %s at %d, want %s at %d", ending(done), done.Record.Delivered, c.want, c.at)
		})
	}
	t.Run("to on", func(t *testing.T) {
		k := newTrackedDesk(t)
		k.put("q", 1)
		k.must(k.d.Deliver(t.Context(), "q", plain(k), -1).Err)
		k.put("q", 2)
		_, made, err := k.store.Requests(request.Inside{}).Claim(t.Context(), k.standing("q"), request.Claim{Req: "old", To: 2, Now: k.now, LeaseUntil: k.now.Add(time.Minute)})
		check.Need(t, err == nil && made, "made %v, error %v", made, err)
		k.ends(endedBusy)
		k.pass(2 * time.Minute)
		k.ends(endedDeferred)
		c := k.at("q", 1, delivery.Started)
		check.That(t, c.Deferred && c.Attempts == 2, "%+v; want a deferred claim, the second", c)
		_, made, err = k.store.Requests(request.Inside{}).Commit(t.Context(), "q", "c", delivery.Token{N: 2, Req: "old"}, delivery.Response{})
		check.That(t, err == nil && !made, "the old claim was committed: %v, error %v", made, err)
	})
}
