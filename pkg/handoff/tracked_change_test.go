package handoff_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/record"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/handoff/pull"
)

// TestAnOpenTreeKeepsItsConsumer: what an operator may not do meanwhile is
// refused, with what it waits for; once the tree has failed it is done.
func TestAnOpenTreeKeepsItsConsumer(t *testing.T) {
	k := newTrackedDesk(t)
	k.put("q", 1, 2)
	k.ends(handoff.EndedTracked)
	k.pass(10 * time.Minute) // the lease is over
	order := func() handoff.Order { return handoff.Order{Queue: "q", Consumer: "c", Reason: "why"} }
	for name, op := range map[string]func() (handoff.Consumer, error){
		"remove": func() (handoff.Consumer, error) { return k.d.Remove(t.Context(), order()) },
		"rewind": func() (handoff.Consumer, error) { return k.d.Rewind(t.Context(), order(), handoff.At(1)) },
	} {
		_, err := op()
		var claimed *handoff.ClaimedError
		if !errors.As(err, &claimed) || !errors.Is(err, handoff.ErrClaimed) || claimed.Chain != k.tags[0] {
			t.Errorf("%s: error %v; want that the claim is in flight, and its chain", name, err)
		}
		operations, _, err := k.d.Audit(t.Context(), "q", "")
		if err != nil || len(operations) == 0 || operations[0].Chain != k.tags[0] || strings.Contains(operations[0].Error, k.tags[0]) {
			t.Errorf("%s: operations %+v, %v; want the chain beside the error", name, operations, err)
		}
	}
	for name, op := range map[string]func() (handoff.Consumer, error){
		"skip":    func() (handoff.Consumer, error) { return k.d.Skip(t.Context(), order(), 1) },
		"redrive": func() (handoff.Consumer, error) { return k.d.Redrive(t.Context(), order(), 1) },
	} {
		if _, err := op(); !errors.Is(err, handoff.ErrNotBlocked) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	k.at("q", 0, handoff.Started)
	_, err := k.acker.Fail(t.Context(), k.edges[0], "given up")
	k.must(err)
	k.finishes()
	_, err = k.d.Rewind(t.Context(), order(), handoff.At(2))
	k.must(err)
	k.at("q", 1, handoff.Idle)
}

// TestPoisonBlocksAlone: the messages of its batch that come before it are
// committed, and the consumer is blocked on it.
func TestPoisonBlocksAlone(t *testing.T) {
	for name, poison := range map[string]func(*trackedDesk, handoff.Batch) error{
		"the sink fails": func(*trackedDesk, handoff.Batch) error { return errors.New("no") },
		"its work fails": func(k *trackedDesk, b handoff.Batch) error {
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
			k.fails = func(b handoff.Batch) error {
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
			if c := k.at("q", 1, handoff.Blocked); c.Tracked || c.Attempts != 3 {
				t.Errorf("%+v; want it blocked after three attempts, and tracked no more", c)
			}
			k.gets("q 1,2,3 #1", "q 1,2,3 #2", "q 1 #3", "q 2 #3", "q 2 #4", "q 2 #5")
			k.fails = nil
			_, err := k.d.Skip(t.Context(), handoff.Order{Queue: "q", Consumer: "c", Reason: "why"}, 2)
			k.must(err)
			k.ends(handoff.EndedTracked)
			k.works(k.edges...)
			k.finishes()
			k.at("q", 3, handoff.Idle)
		})
	}
}

// TestPermanentIsSoHoweverTheClaimEnds: the function behind the chains' stream may
// end the claim first, and does not know what the handler said.
func TestPermanentIsSoHoweverTheClaimEnds(t *testing.T) {
	for name, c := range map[string]struct {
		messages  []int64
		meanwhile func(*trackedDesk)
		ended     handoff.Ended
		state     handoff.State
		token     int64
	}{
		"alone":      {[]int64{1}, func(*trackedDesk) {}, handoff.EndedBlocked, handoff.Blocked, 2},
		"in a batch": {[]int64{1, 2}, func(*trackedDesk) {}, handoff.EndedWait, handoff.Idle, 1},
		"and the consumer is paused": {[]int64{1}, func(k *trackedDesk) {
			_, err := k.d.Pause(t.Context(), handoff.Order{Queue: "q", Consumer: "c", Reason: "why"})
			k.must(err)
		}, handoff.EndedPaused, handoff.Idle, 1},
		"and the batch is claimed again": {[]int64{1}, func(k *trackedDesk) {
			k.pass(2 * time.Second)
			k.fails = nil
			k.ends(handoff.EndedTracked)
		}, handoff.EndedBusy, handoff.Started, 2},
		"and the batch is tried again in vain": {[]int64{1}, func(k *trackedDesk) {
			k.pass(2 * time.Second)
			k.fails = func(handoff.Batch) error { return errors.New("another time") }
			k.ends(handoff.EndedFailed)
		}, handoff.EndedWait, handoff.Idle, 2},
	} {
		t.Run(name, func(t *testing.T) {
			k := newTrackedDesk(t)
			k.put("q", c.messages...)
			// The chains' stream is faster than who fails a chain: the end is handled
			// before the answer is there.
			d, _ := k.process(ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
				a, err := k.chains.Do(ctx, r)
				if r.Name() == "fail" {
					k.finishes()
					c.meanwhile(k)
				}
				return a, err
			}))
			k.fails = func(handoff.Batch) error { return handoff.Permanent(errors.New("never")) }
			done := d.Deliver(t.Context(), "q", k.reader(), -1)
			k.must(done.Err)
			if at := k.at("q", 0, c.state); done.Ended != c.ended || at.Token.N != c.token || c.state != handoff.Started && at.Error == "" {
				t.Errorf("it ended as %s, %+v", done.Ended, at)
			}
		})
	}
}

// TestTrackIsChanged: by a deployment, while a claim is in flight. The claim ends as
// it was made, and the next one is made as the reader says now.
func TestTrackIsChanged(t *testing.T) {
	plain := func(k *trackedDesk) handoff.Reader {
		r := k.reader()
		r.Track = 0
		return r
	}
	longer := func(k *trackedDesk) handoff.Reader {
		r := k.reader()
		r.Track = 3 * trackTime
		return r
	}
	for name, c := range map[string]struct {
		after func(*trackedDesk) handoff.Reader
		// done is whether the work was done; pass is what goes by before the
		// reader of the new deployment looks.
		done bool
		pass time.Duration
		want handoff.Ended
		at   int64
	}{
		"to off, done":              {plain, true, 2 * time.Minute, handoff.EndedCaughtUp, 2},
		"to off, open":              {plain, false, 2 * time.Minute, handoff.EndedBusy, 0},
		"to off, late":              {plain, false, trackTime, handoff.EndedWait, 0},
		"to longer, in its time":    {longer, false, trackTime - time.Second, handoff.EndedBusy, 0},
		"to longer, late as it was": {longer, false, trackTime, handoff.EndedWait, 0},
	} {
		t.Run(name, func(t *testing.T) {
			k := newTrackedDesk(t)
			k.put("q", 1, 2)
			k.ends(handoff.EndedTracked)
			if c.done {
				k.works(k.edges...)
			}
			k.pass(c.pass)
			done := k.d.Deliver(t.Context(), "q", c.after(k), -1)
			k.must(done.Err)
			if done.Ended != c.want || done.Record.Delivered != c.at {
				t.Errorf("it ended as %s at %d, want %s at %d", done.Ended, done.Record.Delivered, c.want, c.at)
			}
		})
	}
	t.Run("to on", func(t *testing.T) {
		k := newTrackedDesk(t)
		k.put("q", 1)
		k.must(k.d.Deliver(t.Context(), "q", plain(k), -1).Err)
		k.put("q", 2)
		_, made, err := k.store.Claim(t.Context(), k.standing("q"), record.Claim{Req: "old", To: 2, Now: k.now, LeaseUntil: k.now.Add(time.Minute)})
		if err != nil || !made {
			t.Fatalf("made %v, error %v", made, err)
		}
		k.ends(handoff.EndedBusy)
		k.pass(2 * time.Minute)
		k.ends(handoff.EndedTracked)
		if c := k.at("q", 1, handoff.Started); !c.Tracked || c.Attempts != 2 {
			t.Errorf("%+v; want a tracked claim, the second", c)
		}
		_, made, err = k.store.Commit(t.Context(), "q", "c", handoff.Token{N: 2, Req: "old"})
		if err != nil || made {
			t.Errorf("the old claim was committed: %v, error %v", made, err)
		}
	})
}

// TestPullersLeaveTrackedClaimsAlone: the token of a tracked claim travels with
// its messages, and ends nothing by itself.
func TestPullersLeaveTrackedClaimsAlone(t *testing.T) {
	k := newTrackedDesk(t)
	k.put("q", 1)
	k.ends(handoff.EndedTracked)
	p, err := pull.New(k.d, nil)
	k.must(err)
	c := k.standing("q")
	h := pull.Held{Queue: "q", Consumer: "c", Token: c.Token}
	k.pass(2 * time.Minute)
	answers := map[string]func() (pull.Answer, error){
		"prepare": func() (pull.Answer, error) { return p.Prepare(t.Context(), h) },
		"extend":  func() (pull.Answer, error) { return p.Extend(t.Context(), h, time.Minute) },
		"commit":  func() (pull.Answer, error) { return p.Commit(t.Context(), h) },
		"abort":   func() (pull.Answer, error) { return p.Abort(t.Context(), h, "no") },
		"settle":  func() (pull.Answer, error) { return p.Settle(t.Context(), h, handoff.Aborted, "no") },
	}
	for name, do := range answers {
		if a, err := do(); err != nil || a.Verdict != pull.Foreign {
			t.Errorf("%s: %s, error %v", name, a.Verdict, err)
		}
	}
	// Its lease does not say when it ends: who waited for that would not wait.
	if a, err := p.Claim(t.Context(), pull.Request{Queue: "q", Consumer: "c", ID: "r"}); err != nil || a.Verdict != pull.Busy || !a.Until.IsZero() {
		t.Errorf("claim: %s until %s, error %v", a.Verdict, a.Until, err)
	}
	if now := k.standing("q"); now != c {
		t.Errorf("%+v became %+v", c, now)
	}
}
