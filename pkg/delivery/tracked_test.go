package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// trackedDesk is a desk whose batches are tracked: their work may take an hour.
type trackedDesk struct {
	*desk
	chains *ddb.Memory
	acker  *xorack.Acker
	// edges are those of the last batch that the sink was given, tags the chains of all.
	edges []xorack.Edge
	tags  []string
}

const trackTime = time.Hour

func newTrackedDesk(t *testing.T, seqs ...int64) *trackedDesk {
	t.Helper()
	k := &trackedDesk{desk: newDesk(t, seqs...), chains: ddb.NewMemory(xorack.Names{}.Tables()...)}
	k.d, k.acker = k.process(k.chains)
	return k
}

// process is a process on a view of the chains' table.
func (k *trackedDesk) process(chains ddb.Engine) (*delivery.Deliverer, *xorack.Acker) {
	k.t.Helper()
	clock := func() time.Time { return k.now }
	store := xorack.NewStore(chains, xorack.Names{})
	acker := check.Get(xorack.New(store, &xorack.Options{Now: clock}))
	return k.deliverer(delivery.Options{Acker: acker}), acker
}

func (k *trackedDesk) reader() delivery.Reader {
	r := k.desk.reader()
	r.Track = trackTime
	r.Handle = func(ctx context.Context, b delivery.Batch) error {
		k.edges = b.Edges
		if len(b.Edges) > 0 {
			k.tags = append(k.tags, b.Edges[0].Tag())
		}
		return k.take(ctx, b)
	}
	return r
}

func (k *trackedDesk) ends(want string) delivery.Delivery {
	k.t.Helper()
	return k.to(k.reader(), "q", want)
}

func (k *trackedDesk) works(edges ...xorack.Edge) {
	k.t.Helper()
	for _, e := range edges {
		check.Get(k.acker.Done(k.t.Context(), e))
	}
}

// finishes is the handler behind the chains' stream, for all chains so far.
func (k *trackedDesk) finishes() {
	k.t.Helper()
	for _, tag := range k.tags {
		c := check.Get(k.acker.Get(k.t.Context(), tag))
		check.Get(k.acker.Finish(k.t.Context(), c, k.d.Ender(nil)))
	}
}

// TestCommittedWhenItsTreeIsDone: the claim stays in flight until the last edge of the tree has
// ended, however often somebody looks.
func TestCommittedWhenItsTreeIsDone(t *testing.T) {
	k := newTrackedDesk(t, 1, 2, 3, 4)
	done := k.ends(endedDeferred)
	check.Is(t, [2]int{done.Deferred, done.Batches}, [2]int{1, 0}, "deferred and committed")
	k.gets("q 1,2,3 #1")
	check.Need(t, len(k.edges) == 3, "%d edges of 3 messages", len(k.edges))
	first := k.edges
	k.ends(endedBusy)
	k.pass(10 * time.Minute) // the invocation's lease is over
	k.ends(endedBusy)
	child := first[0].Child(0)
	check.Get(k.acker.Done(t.Context(), first[0], child))
	k.works(first[1], first[2])
	k.finishes()
	k.ends(endedBusy)
	check.That(t, k.at("q", 0, delivery.Started).Deferred, "the claim is not deferred")
	k.works(child)
	k.finishes()
	k.at("q", 3, delivery.Idle)
	k.ends(endedDeferred)
	k.gets("q 4 #1")
	k.works(k.edges...)
	k.finishes()
	k.finishes() // late records do nothing
	k.at("q", 4, delivery.Idle)
	k.ends(endedCaughtUp)
}

// crashing is a process whose write of this name to the consumers' table fails: it reaches the
// table where lost says so.
func (k *trackedDesk) crashing(name string, lost bool) *delivery.Deliverer {
	k.t.Helper()
	was := k.store
	defer func() { k.store = was }()
	k.store = k.storeOn(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if r.Name() != name {
			return k.consumers.Do(ctx, r)
		}
		if lost {
			check.Get(k.consumers.Do(ctx, r))
		}
		return ddb.Answer{}, errFlaky
	})
	return k.deliverer(delivery.Options{Acker: k.acker})
}

// TestDeferGoesWrong: a lost response, another that was first, a death right after.
func TestDeferGoesWrong(t *testing.T) {
	t.Run("lost response, death right after", func(t *testing.T) {
		k := newTrackedDesk(t, 1)
		done := k.crashing("defer", true).Deliver(t.Context(), "q", k.reader(), -1)
		check.That(t, errors.Is(done.Err, errFlaky), "error %v", done.Err)
		k.ends(endedBusy)
		k.pass(2 * time.Minute) // nobody takes it over
		k.ends(endedBusy)
		k.works(k.edges...)
		k.finishes()
		k.at("q", 1, delivery.Idle)
		k.gets("q 1 #1")
	})
	for name, c := range map[string]struct {
		first func(*trackedDesk)
		ended string
		at    int64
	}{
		"the chain was done": {func(k *trackedDesk) { k.works(k.edges...); k.finishes() }, endedCaughtUp, 1},
		"the chain failed": {func(k *trackedDesk) {
			check.Get(k.acker.Fail(k.t.Context(), k.edges[0], "no"))
			k.finishes()
		}, endedLost, 0},
	} {
		t.Run(name+" first", func(t *testing.T) {
			k := newTrackedDesk(t, 1)
			k.fails = func(delivery.Batch) error { c.first(k); return nil }
			k.ends(c.ended)
			k.at("q", c.at, delivery.Idle)
		})
	}
}

// TestAHandlerThatFailsFailsItsTree: the claim is given back at once.
func TestAHandlerThatFailsFailsItsTree(t *testing.T) {
	k := newTrackedDesk(t, 1, 2)
	k.fails = func(delivery.Batch) error { return errors.New("no") }
	done := k.ends(endedFailed)
	check.That(t, done.Cause != nil && done.Deferred == 0, "%+v; want why", done)
	k.at("q", 0, delivery.Idle)
	chain := check.Get(k.acker.Get(t.Context(), k.tags[0]))
	check.That(t, chain.End() == xorack.Failed && chain.Reason == "no",
		"the chain is %q, %q", chain.End(), chain.Reason)
	k.finishes()
	check.Is(t, k.at("q", 0, delivery.Idle).Attempts, 1)
	k.fails = func(delivery.Batch) error { return delivery.Permanent(errors.New("never")) }
	k.pass(time.Minute)
	k.ends(endedBlocked)
}

// TestAHandlerThatFailsWhereWorkIsDone: the batch comes again, whatever its workers said.
func TestAHandlerThatFailsWhereWorkIsDone(t *testing.T) {
	for name, done := range map[string]int{"one of two": 1, "both": 2} {
		t.Run(name, func(t *testing.T) {
			k := newTrackedDesk(t, 1, 2)
			k.fails = func(b delivery.Batch) error {
				k.works(b.Edges[:done]...)
				return errNo
			}
			k.ends(endedFailed)
			k.finishes()
			k.at("q", 0, delivery.Idle)
		})
	}
}

// TestSkippedSeqsAreNotTracked: nobody can do their work.
func TestSkippedSeqsAreNotTracked(t *testing.T) {
	k := newTrackedDesk(t, 4)
	check.Get2(k.sorter.Inside(queuelog.Inside{}).SkipGap(t.Context(), "q", "lost", 0, 10, nil))
	k.ends(endedDeferred)
	k.gets("q no 1,no 2,no 3 #1", "q 4 #1")
	check.Is(t, [2]int{len(k.tags), len(k.edges)}, [2]int{1, 1}, "chains and edges")
}

// TestALongQueueNameIsTracked: the tag has no room for it, and the end finds it all the same.
func TestALongQueueNameIsTracked(t *testing.T) {
	k := newTrackedDesk(t)
	queue := strings.Repeat("q/", 512)
	k.put(queue, 1)
	k.to(k.reader(), queue, endedDeferred)
	token := k.edges[0].String()
	check.That(t, len(token) <= 128, "the token has %d characters: %s", len(token), token)
	k.works(k.edges...)
	k.finishes()
	k.at(queue, 1, delivery.Idle)
}

// TestATenantsBatchIsItsOwn: the chain's tag has the queue's tenant in front, so that a reader who
// knows a tenant's names knows whose it is. No other tenant's, and none without one, is taken for
// it.
func TestATenantsBatchIsItsOwn(t *testing.T) {
	k := newTrackedDesk(t)
	for queue, whose := range map[string]string{"@acme/orders": "@acme/delivery/",
		"orders": "delivery/", "@acme": "delivery/", "@a b/c": "delivery/"} {
		k.put(queue, 1, 2)
		k.to(k.reader(), queue, endedDeferred)
		tag := k.edges[0].Tag()
		check.That(t, strings.HasPrefix(tag, whose) && request.TracksBatch(tag) &&
			delivery.ChainOf(k.standing(queue)) == tag,
			"%s: the chain is %s, want it to begin with %s", queue, tag, whose)
		of, name, _ := strings.Cut(tag, "delivery/")
		for _, other := range []string{"@globex/delivery/", "delivery/", "@acme/delivery/"} {
			if other != of+"delivery/" {
				k.must(k.d.Ender(nil)(t.Context(),
					xorack.Chain{Tag: other + name, Data: "c/" + queue, Recorded: xorack.Failed}))
			}
		}
		k.at(queue, 0, delivery.Started)
		k.works(k.edges...)
		k.finishes()
		k.at(queue, 2, delivery.Idle)
	}
	for _, tag := range []string{"orders", "@acme/orders", "@acme/x/delivery/y", "x/delivery/y"} {
		check.That(t, !request.TracksBatch(tag), "%s is taken for a batch's", tag)
	}
}

// TestOtherEndsGoOn: those of chains that are no tracked batch's. A chain that begins like one and
// names none has nobody who waits.
func TestOtherEndsGoOn(t *testing.T) {
	k := newTrackedDesk(t)
	var announced []string
	ender := k.d.Ender(func(_ context.Context, c xorack.Chain) error {
		announced = append(announced, c.Tag)
		return errFlaky
	})
	check.Fails(t, ender(t.Context(), xorack.Chain{Tag: "order 7"}), errFlaky)
	k.must(k.d.Ender(nil)(t.Context(), xorack.Chain{Tag: "order 7"}))
	for _, tag := range []string{"delivery/", "delivery/x/1-r", "delivery/x",
		"delivery/aaaaaaaaaaaaaaaaaaaaaa/x-r"} {
		k.must(ender(t.Context(), xorack.Chain{Tag: tag, Data: "c/q"}))
	}
	check.That(t, fmt.Sprint(announced) == "[order 7]", "announced %q", announced)
}

// TestTheEndStaysDueUntilTheQueueIsAwake: what cannot be committed or woken up is tried again.
func TestTheEndStaysDueUntilTheQueueIsAwake(t *testing.T) {
	k := newTrackedDesk(t, 1, 2, 3, 4)
	k.ends(endedDeferred)
	k.works(k.edges...)
	for _, request := range []string{"cursor", "notify"} {
		k.away(request, "")
		c := check.Get(k.acker.Get(t.Context(), k.tags[0]))
		check.Fails(t, check.Err(k.acker.Finish(t.Context(), c, k.d.Ender(nil))), errFlaky, request)
		c = check.Get(k.acker.Get(t.Context(), k.tags[0]))
		check.That(t, !c.Sealed(), "%+v %+v", request, c.Sealed())
	}
	k.queues.fail = nil
	before := k.notified()
	k.finishes()
	c := check.Get(k.acker.Get(t.Context(), k.tags[0]))
	check.That(t, c.Sealed() && k.notified().After(before), "%+v %+v", c.Sealed(), k.notified())
}

func (k *trackedDesk) notified() time.Time {
	k.t.Helper()
	return check.Get(k.sorter.Status(k.t.Context(), "q")).Notified
}

func TestTrackIsChecked(t *testing.T) {
	k := newTrackedDesk(t)
	for _, track := range []time.Duration{-1, time.Second - 1, xorack.MaxDeadline + 1} {
		r := k.reader()
		r.Track = track
		invalid(t, r.Validate(), "track")
	}
	bare := newDesk(t)
	invalid(t, check.Err(delivery.OnStream(bare.d, cursor.Names{}, k.reader())), "acker")
	bare.put("q", 1)
	invalid(t, bare.d.Deliver(t.Context(), "q", k.reader(), -1).Err, "acker")
	// Without an Acker the lease is all that is known of a deferred claim.
	k.put("q", 1)
	k.ends(endedDeferred)
	k.restarted()
	for _, want := range []string{endedBusy, endedWait} {
		k.desk.ends("q", want)
		k.pass(trackTime + time.Millisecond)
	}
}

// TestPoisonBlocksAlone: the messages of its batch that come before it are committed, and the
// consumer is blocked on it.
func TestPoisonBlocksAlone(t *testing.T) {
	for name, poison := range map[string]func(*trackedDesk, delivery.Batch) error{
		"the sink fails": func(*trackedDesk, delivery.Batch) error { return errors.New("no") },
		"its work fails": func(k *trackedDesk, b delivery.Batch) error {
			i := slices.IndexFunc(b.Messages, func(m cursor.Message) bool { return m.Seq == 2 })
			return check.Err(k.acker.Fail(t.Context(), b.Edges[i], "no"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := newTrackedDesk(t, 1, 2, 3)
			k.fails = func(b delivery.Batch) error {
				if b.From < 2 && b.To >= 2 {
					return poison(k, b)
				}
				k.works(b.Edges...)
				return nil
			}
			for range 20 {
				k.to(k.reader(), "q", "")
				k.finishes()
				k.pass(10 * time.Minute)
			}
			c := k.at("q", 1, delivery.Blocked)
			check.That(t, !c.Deferred && c.Attempts == 3, "%+v", c)
			k.gets("q 1,2,3 #1", "q 1,2,3 #2", "q 1 #3", "q 2 #3", "q 2 #4", "q 2 #5")
			k.fails = nil
			k.operates(skips(orderOf("q"), 2))
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
	tracks := func(k *trackedDesk, track time.Duration) delivery.Reader {
		r := k.reader()
		r.Track = track
		return r
	}
	const longer = 3 * trackTime
	for name, c := range map[string]struct {
		after time.Duration
		// done is whether the work was done; pass is what goes by before the reader of the new
		// deployment looks.
		done bool
		pass time.Duration
		want string
		at   int64
	}{
		"to off, done":              {0, true, 2 * time.Minute, endedCaughtUp, 2},
		"to off, open":              {0, false, 2 * time.Minute, endedBusy, 0},
		"to off, late":              {0, false, trackTime + time.Second, endedWait, 0},
		"to longer, in its time":    {longer, false, trackTime - time.Second, endedBusy, 0},
		"to longer, late as it was": {longer, false, trackTime + time.Second, endedWait, 0},
	} {
		t.Run(name, func(t *testing.T) {
			k := newTrackedDesk(t, 1, 2)
			k.ends(endedDeferred)
			if c.done {
				k.works(k.edges...)
			}
			k.pass(c.pass)
			check.Is(t, k.to(tracks(k, c.after), "q", c.want).Record.Delivered, c.at)
		})
	}
	t.Run("to on", func(t *testing.T) {
		k := newTrackedDesk(t, 1)
		k.to(tracks(k, 0), "q", "")
		k.put("q", 2)
		old := heldOf(k.claims("q", 2, time.Minute))
		k.ends(endedBusy)
		k.pass(2 * time.Minute)
		k.ends(endedDeferred)
		c := k.at("q", 1, delivery.Started)
		check.That(t, c.Deferred && c.Attempts == 2, "%+v; want a deferred claim, the second", c)
		_, made, err := k.store.Requests(request.Inside{}).Commit(t.Context(), old,
			delivery.Response{})
		check.That(t, err == nil && !made, "the old claim was committed: %v, error %v", made, err)
	})
}
