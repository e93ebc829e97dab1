package delivery_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// treed is a tracked consumer.
type treed struct {
	t      *testing.T
	store  *delivery.Store
	sorter *cursor.Sorter
	acker  *xorack.Acker
	d      *delivery.Deliverer
	now    time.Time
	// edges are those of the last batch, tags the chains of all.
	edges []xorack.Edge
	tags  []string
	// to is the last seq of that batch, worked up to where work was done.
	to, worked int64
}

// newTreedOn has tables in memory.
func newTreedOn(t *testing.T, engine ddb.Engine) *treed {
	t.Helper()
	store, queues := storesOn(t, engine)
	chains := check.Get(xorack.NewStore(engine, xorack.Names{}))
	return newTreed(t, store, queues, chains)
}

func newTreed(t *testing.T, store *delivery.Store, queues *cursor.Store, chains *xorack.Store) *treed {
	t.Helper()
	k := &treed{t: t, store: store, now: time.Date(2126, 5, 6, 7, 8, 9, 0, time.UTC)}
	clock := func() time.Time { return k.now }
	k.sorter = check.Get(cursor.New(queues, &cursor.Options{Now: clock}))
	k.acker = check.Get(xorack.New(chains, &xorack.Options{Now: clock}))
	k.d = check.Get(delivery.New(store, k.sorter, &delivery.Options{Now: clock, Acker: k.acker}))
	return k
}

func (k *treed) must(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

func (k *treed) put(seqs ...int64) {
	k.t.Helper()
	for _, seq := range seqs {
		k.must(k.sorter.Put(k.t.Context(), cursor.Message{Queue: "q", Seq: seq, Body: make([]byte, 100)})[0].Err)
	}
}

func (k *treed) deliver(messages int) error {
	return k.d.Deliver(k.t.Context(), "q", delivery.Reader{
		Name: "c", Track: trackTime, MaxMessages: messages, MaxAttempts: 9,
		Handle: func(_ context.Context, b delivery.Batch) error {
			k.edges, k.to = b.Edges, b.To
			if tag := b.Edges[0].Tag(); !slices.Contains(k.tags, tag) {
				k.tags = append(k.tags, tag)
			}
			return nil
		},
	}, -1).Err
}

// finish handles the ends of all chains, as the stream's handler does.
func (k *treed) finish() error {
	for _, tag := range k.tags {
		c, err := k.acker.Get(k.t.Context(), tag)
		if err == nil {
			_, err = k.acker.Finish(k.t.Context(), c, k.d.Ender(nil))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// work does the work of the last batch.
func (k *treed) work() error {
	for _, e := range k.edges {
		if _, err := k.acker.Done(k.t.Context(), e); err != nil {
			return err
		}
	}
	k.worked = max(k.worked, k.to)
	return nil
}

func (k *treed) standing() delivery.Consumer {
	k.t.Helper()
	c := check.Get(k.store.Requests(request.Inside{}).Consumer(k.t.Context(), "q", "c"))
	return c
}

// TestTrackedRequestsGoWrong lets each request of a delivery, of the end of a
// chain, and of a look at one go wrong in each way. What comes next brings the batch to its commit, not before its
// work was done.
func TestTrackedRequestsGoWrong(t *testing.T) {
	for name, o := range map[string]struct {
		prepare func(*treed) error
		do      func(*treed) error
	}{
		"deliver":          {func(*treed) error { return nil }, func(k *treed) error { return k.deliver(2) }},
		"finish":           {func(k *treed) error { return firstError(k.deliver(2), k.work()) }, (*treed).finish},
		"finish a failure": {func(k *treed) error { return firstError(k.deliver(2), k.fail()) }, (*treed).finish},
		"look": {func(k *treed) error {
			err := firstError(k.deliver(2), k.work())
			k.now = k.now.Add(2 * time.Minute)
			return err
		}, func(k *treed) error { return k.deliver(2) }},
		"sweep": {func(k *treed) error {
			err := k.deliver(2)
			k.now = k.now.Add(trackTime + time.Second)
			return err
		}, func(k *treed) error {
			_, err := k.d.Sweep(k.t.Context(), delivery.SweepOptions{Sorter: cursor.SweepOptions{Segments: 1}})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			goesWrong := func(fault ddbtest.Fault, n int) bool {
				faults := faultyTables()
				k := newTreedOn(t, faults)
				k.put(1, 2, 3)
				_, err := k.d.Create(t.Context(), "q", "c", delivery.First)
				k.must(firstError(err, o.prepare(k)))
				faults.Fail(n, fault)
				err = o.do(k)
				if faults.Pending() {
					k.must(err)
					return false
				}
				faults.Fail(0, "")
				for round := 0; k.standing().Delivered < 3; round++ {
					if round > 20 {
						t.Fatalf("%s at request %d: %+v", fault, n, k.standing())
					}
					k.must(firstError(k.finish(), k.deliver(2)))
					if c := k.standing(); c.Delivered > k.worked {
						t.Fatalf("%s at request %d: %d is committed, and the work is done up to %d", fault, n, c.Delivered, k.worked)
					}
					_, err := k.acker.Sweep(t.Context(), xorack.SweepOptions{Announce: k.d.Ender(nil)})
					k.must(firstError(k.work(), k.finish(), err))
					k.now = k.now.Add(trackTime)
				}
				for _, tag := range k.tags {
					c, err := k.acker.Get(t.Context(), tag)
					k.must(err)
					if !c.Sealed() {
						t.Errorf("%s at request %d: chain %s is %q and not sealed", fault, n, tag, c.End())
					}
				}
				return true
			}
			for _, fault := range ddbtest.EveryFault() {
				n := 1
				for goesWrong(fault, n) {
					if n++; n > 50 {
						t.Fatal("more than 50 requests")
					}
				}
			}
		})
	}
}

// fail fails the last batch's work.
func (k *treed) fail() error {
	_, err := k.acker.Fail(k.t.Context(), k.edges[0], "no")
	return err
}

// TestAnOpenTreeKeepsItsConsumer: what an operator may not do meanwhile is
// refused, with when the claim ends at the latest; once the tree has failed it is done.
func TestAnOpenTreeKeepsItsConsumer(t *testing.T) {
	k := newTrackedDesk(t)
	k.put("q", 1, 2)
	k.ends(endedDeferred)
	until := k.standing("q").LeaseUntil
	k.pass(10 * time.Minute)
	order := func() delivery.Order { return delivery.Order{Queue: "q", Consumer: "c", Reason: "why"} }
	for name, op := range map[string]func() (delivery.Consumer, error){
		"remove": func() (delivery.Consumer, error) { return k.d.Operate(t.Context(), does("remove", order())) },
		"rewind": func() (delivery.Consumer, error) { return k.d.Operate(t.Context(), rewinds(order(), delivery.At(1))) },
	} {
		_, err := op()
		var claimed *delivery.RefusedError
		check.That(t, errors.As(err, &claimed) && claimed.Code == "claimed" && claimed.Until.Equal(until),
			"%s: error %v; want that the claim is in flight, until %s", name, err, until)
	}
	for name, op := range map[string]func() (delivery.Consumer, error){
		"skip":    func() (delivery.Consumer, error) { return k.d.Operate(t.Context(), skips(order(), 1)) },
		"redrive": func() (delivery.Consumer, error) { return k.d.Operate(t.Context(), redrives(order(), 1)) },
	} {
		if _, err := op(); !refused(err, "not-blocked") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	k.at("q", 0, delivery.Started)
	check.Get(k.acker.Fail(t.Context(), k.edges[0], "given up"))
	k.finishes()
	check.Get(k.d.Operate(t.Context(), rewinds(order(), delivery.At(2))))
	k.at("q", 1, delivery.Idle)
}

// TestPoisonBlocksAlone: the messages of its batch that come before it are
// committed, and the consumer is blocked on it.
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
			if c := k.at("q", 1, delivery.Blocked); c.Deferred || c.Attempts != 3 {
				t.Errorf("%+v; want it blocked after three attempts, and deferred no more", c)
			}
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

// TestTrackIsChanged: by a deployment, while a claim is in flight. The claim ends as
// it was made, and the next one is made as the reader says now.
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
		// done is whether the work was done; pass is what goes by before the
		// reader of the new deployment looks.
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
		if c := k.at("q", 1, delivery.Started); !c.Deferred || c.Attempts != 2 {
			t.Errorf("%+v; want a deferred claim, the second", c)
		}
		_, made, err = k.store.Requests(request.Inside{}).Commit(t.Context(), "q", "c", delivery.Token{N: 2, Req: "old"}, delivery.Response{})
		check.That(t, err == nil && !made, "the old claim was committed: %v, error %v", made, err)
	})
}
