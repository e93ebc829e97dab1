package handoff_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/faulty"
	"github.com/streamsort/streamsort/internal/localdb"
	"github.com/streamsort/streamsort/internal/meter"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// treed is a tracked consumer on fresh tables of a real server.
type treed struct {
	t      *testing.T
	store  handoff.Store
	sorter *cursor.Sorter
	acker  *xorack.Acker
	d      *handoff.Deliverer
	now    time.Time
	// track is how long the work of a batch may take.
	track time.Duration
	// edges are those of the last batch, tags the chains of all.
	edges []xorack.Edge
	tags  []string
	// to is the last seq of that batch, worked up to where work was done.
	to, worked int64
}

func newTreed(t *testing.T, kind localdb.Kind, options *dynamo.Options) *treed {
	t.Helper()
	k := &treed{t: t, now: time.Date(2126, 5, 6, 7, 8, 9, 0, time.UTC), track: trackTime}
	clock := func() time.Time { return k.now }
	store, queues := freshTables(t, kind, options)
	client, err := dynamo.New(options)
	k.must(err)
	names := xorack.Names{Chains: "chains" + localdb.Suffix()}
	for _, definition := range names.Tables() {
		k.must(dynamo.CreateTable(t.Context(), client, definition))
	}
	chains, err := xorack.NewDynamo(client, names)
	k.must(err)
	k.store = store
	k.sorter, err = cursor.New(queues, &cursor.Options{Now: clock})
	k.must(err)
	k.acker, err = xorack.New(chains, &xorack.Options{Now: clock})
	k.must(err)
	k.d, err = handoff.New(store, k.sorter, &handoff.Options{Now: clock, Acker: k.acker})
	k.must(err)
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
		_, err := k.sorter.Put(k.t.Context(), cursor.Message{Queue: "q", Seq: seq, Body: make([]byte, 100)})
		k.must(err)
	}
}

func (k *treed) deliver(messages int) error {
	return k.d.Deliver(k.t.Context(), "q", handoff.Reader{
		Name: "c", Track: k.track, MaxMessages: messages, MaxAttempts: 9,
		Handle: func(_ context.Context, b handoff.Batch) error {
			k.edges, k.to = b.Edges, b.To
			if tag := b.Edges[0].Tag(); !slices.Contains(k.tags, tag) {
				k.tags = append(k.tags, tag)
			}
			return nil
		},
	}, -1).Err
}

// finish sees to the ends of all chains, as the stream's handler does.
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

func (k *treed) standing() handoff.Consumer {
	k.t.Helper()
	c, err := k.store.Consumer(k.t.Context(), "q", "c")
	k.must(err)
	return c
}

// TestTrackedRequestsGoWrong lets each request of a delivery, of the end of a
// chain, and of a look at one go wrong in each way, on a real server; the SDK
// repeats none. What comes next brings the batch to its commit, not before its
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
			k.now = k.now.Add(trackTime)
			return err
		}, func(k *treed) error {
			_, err := k.d.Sweep(k.t.Context(), handoff.SweepOptions{Segments: 1})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			network := faulty.New(dynamo.Transport())
			goesWrong := func(fault faulty.Fault, n int) bool {
				k := newTreed(t, localdb.Choose(), &dynamo.Options{Transport: network, MaxAttempts: 1})
				k.put(1, 2, 3)
				_, err := k.d.Create(t.Context(), "q", "c", handoff.First)
				k.must(firstError(err, o.prepare(k)))
				network.Fail(n, fault)
				err = o.do(k)
				if network.Pending() {
					network.Fail(0, "")
					k.must(err)
					return false
				}
				network.Fail(0, "")
				for round := 0; k.standing().Delivered < 3; round++ {
					if round > 20 {
						t.Fatalf("%s at request %d: %+v", fault, n, k.standing())
					}
					k.must(firstError(k.finish(), k.deliver(2)))
					if c := k.standing(); c.Delivered > k.worked {
						t.Fatalf("%s at request %d: %d is committed, and the work is done up to %d", fault, n, c.Delivered, k.worked)
					}
					k.must(firstError(k.work(), k.finish()))
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
			for _, fault := range faulty.Faults() {
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

// TestTrackedFigures pins what a tracked batch costs beside the writes of its
// edges: a claim, a creation (and one of the index), and a later deadline where the
// work may take longer than the lease; a commit, and a seal (and one of the index);
// a nudge where there is more to hand on. A look at a chain that is under way is one
// write.
func TestTrackedFigures(t *testing.T) {
	network := meter.New(dynamo.Transport())
	k := newTreed(t, localdb.Kinds()[0], &dynamo.Options{Transport: network})
	k.put(upTo(1, 40)...)
	k.must(firstError(k.deliver(10), k.work(), k.finish()))
	k.tags = nil
	cost := func(name string, want meter.Count, do func() error) {
		t.Helper()
		before := network.Counts()
		k.must(do())
		counts := network.Counts().Sub(before)
		w := writes(counts)
		t.Logf("%-24s %d writes, %.1f write units, %.1f read units", name, w.Requests, counts.Total().Writes, counts.Total().Reads)
		if total := counts.Total(); w.Requests != want.Requests || total.Writes != want.Writes || total.Reads > want.Reads {
			t.Errorf("%s: want %d writes, %.1f write units, at most %.1f read units: %v", name, want.Requests, want.Writes, want.Reads, counts)
		}
	}
	cost("deliver", meter.Count{Requests: 3, Writes: 4, Reads: 3}, func() error { return k.deliver(10) })
	cost("a look before the end", meter.Count{Reads: 1}, func() error { return k.deliver(10) })
	k.now = k.now.Add(2 * time.Minute)
	cost("and after the lease", meter.Count{Requests: 1, Writes: 1, Reads: 1}, func() error { return k.deliver(10) })
	cost("the work of 10", meter.Count{Requests: 10, Writes: 10}, k.work)
	c, err := k.acker.Get(t.Context(), k.tags[0])
	k.must(err)
	cost("the end, with more to do", meter.Count{Requests: 3, Writes: 4, Reads: 1}, func() error {
		_, err := k.acker.Finish(t.Context(), c, k.d.Ender(nil))
		return err
	})
	k.track = time.Minute
	cost("deliver, a short track", meter.Count{Requests: 2, Writes: 3, Reads: 3}, func() error { return k.deliver(20) })
	k.must(k.work())
	c, err = k.acker.Get(t.Context(), k.tags[1])
	k.must(err)
	cost("the end, with nothing", meter.Count{Requests: 2, Writes: 3, Reads: 1}, func() error {
		_, err := k.acker.Finish(t.Context(), c, k.d.Ender(nil))
		return err
	})
	if c := k.standing(); c.Delivered != 40 {
		t.Errorf("%+v", c)
	}
}
