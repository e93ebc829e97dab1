package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// defers is a reader that passes the token on to a worker, which has ten minutes.
func (k *desk) defers() delivery.Reader {
	r := k.reader()
	r.Handle = func(ctx context.Context, b delivery.Batch) error {
		if err := k.take(ctx, b); err != nil {
			return err
		}
		return b.Defer(10 * time.Minute)
	}
	return r
}

func (k *desk) defersTo(want string) delivery.Held {
	k.t.Helper()
	k.to(k.defers(), "q", want)
	return heldOf(k.standing("q"))
}

func heldOf(c delivery.Consumer) delivery.Held {
	return delivery.Held{Queue: c.Queue, Consumer: c.Name, Token: c.Token}
}

func (k *desk) worker() delivery.Claims {
	k.t.Helper()
	return check.Get(delivery.NewClaims(k.d, nil))
}

func answered(t *testing.T, what string, want delivery.Outcome,
	reason ...string) func(delivery.Answer, error) {
	t.Helper()
	return func(a delivery.Answer, err error) {
		t.Helper()
		check.That(t, err == nil && a.Outcome == want && a.Reason == strings.Join(reason, ""),
			"%s: %s %s, error %v; want %s %s", what, a.Outcome, a.Reason, err, want, reason)
	}
}

// TestAWorkerCommitsByItsToken: while it works nobody else is given anything, and a commit that
// wants the next claim gets none: the consumer goes on by pushes.
func TestAWorkerCommitsByItsToken(t *testing.T) {
	k := newDesk(t, 1, 2, 3, 4)
	h := k.defersTo(endedDeferred)
	p := k.worker()
	k.defersTo(endedBusy)
	pulls := delivery.Request{Queue: "q", Consumer: "c", ID: "r"}
	answered(t, "one that pulls", delivery.Busy)(p.Claim(t.Context(), pulls))
	k.at("q", 0, delivery.Started)
	for _, token := range []delivery.Token{{N: 1, Req: "other"}, {N: 7, Req: h.Token.Req}} {
		other := delivery.Held{Queue: "q", Consumer: "c", Token: token}
		answered(t, "another token", delivery.Lost, "FOREIGN")(p.Commit(t.Context(), other))
	}
	answered(t, "commit", delivery.OK)(p.Commit(t.Context(), h))
	answered(t, "too late", delivery.Committed)(p.Abort(t.Context(), h, "no"))
	k.at("q", 3, delivery.Idle)
	next := k.defersTo(endedDeferred)
	answered(t, "the commit of the one before", delivery.OK)(p.Commit(t.Context(), h))
	answered(t, "commit and claim", delivery.OK)(first(p.CommitAndClaim(t.Context(), next, pulls)))
	k.at("q", 4, delivery.Idle)
	k.gets("q 1,2,3 #1", "q 4 #1")
}

func first(a, _ delivery.Answer, err error) (delivery.Answer, error) { return a, err }

// TestAWorkerHasMoreTimeBeforeTheHandlerDefers: it keeps what it was given, and no less than the
// handler says.
func TestAWorkerHasMoreTimeBeforeTheHandlerDefers(t *testing.T) {
	for _, more := range []time.Duration{time.Minute, 6 * time.Hour} {
		k := newDesk(t, 1)
		p := k.worker()
		k.fails = func(b delivery.Batch) error {
			answered(t, "extends", delivery.OK)(p.Extend(t.Context(), b.Held(), more))
			return nil
		}
		k.defersTo(endedDeferred)
		check.Is(t, k.standing("q").LeaseUntil.Sub(k.now), max(more, 10*time.Minute))
	}
}

// TestTheTokenOfATrackedBatch: a worker that has it ends the batch, and its chain with it; the
// chain has its time from its edges.
func TestTheTokenOfATrackedBatch(t *testing.T) {
	for _, begun := range []bool{false, true} {
		k := newTrackedDesk(t, 1, 2)
		h := heldOf(k.ends(endedDeferred).Record)
		p := k.worker()
		before := k.standing("q")
		invalid(t, check.Err(p.Extend(t.Context(), h, 6*time.Hour)), "token")
		check.Is(t, k.standing("q").LeaseUntil, before.LeaseUntil)
		if begun {
			k.works(k.edges[0])
		}
		answered(t, "commit", delivery.OK)(p.Commit(t.Context(), h))
		check.That(t, check.Get(k.acker.Get(t.Context(), k.tags[0])).End() != xorack.Open, "it is open")
		k.finishes()
		k.at("q", 2, delivery.Idle)
		answered(t, "extend, after the commit", delivery.Committed)(p.Extend(t.Context(), h, time.Hour))
	}
}

// TestAWorkerFails: the batch comes again, and blocks when it failed as often as it may, which the
// reader says, not the worker's function.
func TestAWorkerFails(t *testing.T) {
	for _, settle := range []bool{false, true} {
		k := newDesk(t, 1)
		p := k.worker()
		h := k.defersTo(endedDeferred)
		fail := func() (delivery.Answer, error) { return p.Abort(t.Context(), h, "no card") }
		if settle {
			fail = func() (delivery.Answer, error) {
				return p.Settle(t.Context(), h, delivery.Aborted, "no card")
			}
		}
		answered(t, "fails", delivery.OK)(fail())
		answered(t, "again, its response was lost", delivery.OK)(fail())
		answered(t, "commit, after the failure", delivery.Lost,
			delivery.Aborted)(p.Commit(t.Context(), h))
		c := k.at("q", 0, delivery.Idle)
		check.That(t, c.Error == "no card" && c.Attempts == 1 && !c.RetryAt.IsZero() &&
			!c.FailingSince.IsZero(), "%+v; want why, and when it comes again", c)
		for range 2 {
			k.pass(10 * time.Minute)
			h = k.defersTo(endedDeferred)
			answered(t, "fails", delivery.OK)(fail())
		}
		k.pass(10 * time.Minute)
		k.defersTo(endedBlocked)
		k.gets("q 1 #1", "q 1 #2", "q 1 #3")
	}
}

// TestADeferredClaimExpires: its worker is too late, unless it extended the claim.
func TestADeferredClaimExpires(t *testing.T) {
	for name, look := range map[string]func(*desk){
		"delivery": func(k *desk) {
			k.see = func(r ddb.Request) error { return map[string]error{"expire": errFlaky}[r.Name()] }
			check.Fails(k.t, k.d.Deliver(k.t.Context(), "q", k.defers(), -1).Err, errFlaky)
			k.see = nil
			k.defersTo(endedWait)
		},
		"sweep": func(k *desk) {
			report := k.sweep(delivery.SweepOptions{})
			check.That(k.t, report.Carried == 1 && report.Cancelled == 0, "%+v", report)
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := newDesk(t, 1)
			h := k.defersTo(endedDeferred)
			p := k.worker()
			k.pass(9 * time.Minute)
			k.defersTo(endedBusy)
			answered(t, "extends", delivery.OK)(p.Extend(t.Context(), h, 10*time.Minute))
			k.pass(10 * time.Minute)
			k.defersTo(endedBusy)
			k.pass(time.Second)
			look(k)
			c := k.at("q", 0, delivery.Idle)
			check.That(t, strings.HasPrefix(c.Error, "TIMED_OUT: ") && c.Attempts == 1 &&
				!c.FailingSince.IsZero(), "%+v; want a failure, and why", c)
			answered(t, "commits late", delivery.Lost, delivery.Cancelled)(p.Commit(t.Context(), h))
			answered(t, "extends late", delivery.Lost,
				delivery.Cancelled)(p.Extend(t.Context(), h, time.Minute))
		})
	}
}

// TestDeferIsChecked: its bounds, and what cannot be deferred.
func TestDeferIsChecked(t *testing.T) {
	k := newDesk(t, 1)
	for _, work := range []time.Duration{-time.Second, 0, time.Second - 1, xorack.MaxDeadline + 1} {
		k.fails = func(b delivery.Batch) error {
			invalid(t, b.Defer(work), "defer")
			return delivery.SinkAway(errNo)
		}
		k.d.Deliver(t.Context(), "q", k.reader(), -1)
		k.pass(10 * time.Minute)
	}
	check.That(t, (delivery.Batch{}).Defer(time.Minute) != nil,
		"a batch that nobody claimed here was deferred")
	k.fails = func(b delivery.Batch) error {
		return errors.Join(b.Reply(delivery.Reply{Queue: "r", Body: []byte("x")}), b.Defer(time.Minute))
	}
	check.Has(t, fmt.Sprint(k.deliver("q").Cause), "takes no replies")
	check.Fails(t, check.Err(k.sorter.Status(t.Context(), "r")), cursor.ErrNoQueue)
}
