package delivery

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/tenant"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// ChainOf is the tag of the chain of the claim that is in flight: what [xorack.Acker.Get] shows of
// it says how far the work is. It is empty where no claim is deferred; one that was deferred
// without a chain has none under the tag.
func ChainOf(c Consumer) string {
	if !c.Deferred {
		return ""
	}
	return heldBy(c).tag()
}

// tag is the chain's: the same names, number and request are the same claim, and another claim has
// another, also that of a consumer which was removed and recreated, and counts from 1 again. The
// names are in it as a hash, because a queue's may have as many bytes as a tag, and because the tag
// is in every token that travels with a message: see [Held.data]. The chain of a tenant's batch
// is the tenant's.
func (h Held) tag() string {
	names := sha256.Sum256([]byte(h.data()))
	tag := request.TrackedPrefix + base64.RawURLEncoding.EncodeToString(names[:16]) + "/" +
		h.Token.String()
	if of, _ := tenant.Split(h.Queue); of != "" {
		return tenant.Name(of, tag)
	}
	return tag
}

// data is what the chain keeps of the names. A consumer's name has no slash.
func (h Held) data() string { return h.Consumer + "/" + h.Queue }

// trackedOf is the claim that a chain is about. A chain of which it cannot be known has no claim
// that waits for it: it failed before it was created, so that nothing was delivered, and the next
// look at the claim finds that.
func trackedOf(c xorack.Chain) (h Held, known bool) {
	h.Consumer, h.Queue, _ = strings.Cut(c.Data, "/")
	_, tag := tenant.Split(c.Tag)
	_, token, _ := strings.Cut(strings.TrimPrefix(tag, request.TrackedPrefix), "/")
	number, req, _ := strings.Cut(token, "-")
	n, err := strconv.ParseInt(number, 10, 64)
	h.Token = Token{N: n, Req: req}
	return h, err == nil && h.tag() == c.Tag
}

// errNoAcker is the answer where a reader is tracked, and there is no Acker.
var errNoAcker = invalid.New(invalid.Missing, "acker", "is missing: a consumer is tracked")

// track creates the chain of a claim, with a root edge for each of its messages. One that has ended
// already is returned as it is.
//
// Lost response, another did it first: the chain is the same, and so are its edges. We die right
// after: the claim is taken over when its lease is over, and the chain times out.
func (run *delivery) track(ctx context.Context, c Consumer, messages int) (xorack.Created, error) {
	t := heldBy(c)
	return run.acker.Create(ctx, t.tag(),
		&xorack.CreateOptions{Edges: messages, Deadline: run.reader.Track, Data: t.data()})
}

// giveUp fails the chain of a batch that was not handed over, so that nobody works for it in vain.
// It is best effort: a chain that stays open times out.
func (run *delivery) giveUp(ctx context.Context, root xorack.Edge, cause error) {
	if root.IsZero() {
		return
	}
	why := cause.Error()
	if shown := shownOf(cause, why); shown > 0 {
		why = why[:shown] // the chain is the tenant's
	}
	reason := shorten(strings.ToValidUTF8(why, "?"), xorack.MaxReason)
	_, _ = run.acker.Fail(ctx, root, cmp.Or(reason, "the delivery failed"))
}

// leave defers the claim of a batch that was handed over. A chain that was faster has committed it.
//
// Lost response: the delivery is repeated, and finds the claim deferred. Another did it first: the
// claim has ended. We die before: the claim is taken over when its lease is over.
func (run *delivery) leave(ctx context.Context, c Consumer, batch Batch,
	until time.Time) (Consumer, error) {
	run.tell(batch, time.Time{}, nil)
	if run.probe > 0 {
		run.closes(ctx, run.learnt) // the sink took it: what becomes of the work is another matter
	}
	after, made, err := run.store.Defer(ctx, c, until)
	if err != nil {
		return c, err
	}
	run.position = -1 // nobody notes what comes meanwhile
	if outcome, _ := after.Outcome(c.Token); made {
		run.end(Deferred, "")
		run.Deferred++
	} else if outcome != Committed {
		run.lost(after)
	}
	return after, nil
}

// look finds out how the work of a deferred claim is, and ends the claim where the chain has ended,
// or nobody works any more in time; it reports whether the claim has ended. The claim of a chain
// that was extended gets the chain's deadline. A batch without a chain has nothing but its lease.
//
// It costs a read of the chain.
func (d *Deliverer) look(ctx context.Context, c Consumer) (Consumer, bool, error) {
	chain, err := d.chainOf(ctx, c)
	if err != nil {
		return c, false, err
	}
	now := d.now()
	switch {
	case chain.End() != xorack.Open:
		after, _, err := d.endAs(ctx, c, chain)
		return after, err == nil, err
	case !over(c, now):
		return c, false, nil
	case chain.Deadline.After(now):
		after, made, err := d.store.Defer(ctx, c, chain.Deadline)
		return after, err == nil && !made, err
	}
	failure := d.failureOf(ctx, c, "TIMED_OUT: the work was neither done nor failed in time")
	after, made, err := d.store.Expire(ctx, c, failure)
	if made {
		d.store.Note(ctx, c, after)
		d.endChain(ctx, c, chain, failure.Error)
	}
	return after, err == nil, err
}

// chainOf is the chain of a deferred claim: or the zero Chain. It costs a read.
func (d *Deliverer) chainOf(ctx context.Context, c Consumer) (chain xorack.Chain, err error) {
	if d.acker == nil {
		return chain, nil
	}
	if chain, err = d.acker.Get(ctx, heldBy(c).tag()); errors.Is(err, xorack.ErrTagNotFound) {
		err = nil
	}
	return chain, err
}

// endChain ends the chain of a claim that has ended, so that nobody works for it in vain, by an
// edge that is no message's: each of those may have ended. It is best effort: a chain that stays
// open times out.
func (d *Deliverer) endChain(ctx context.Context, c Consumer, chain xorack.Chain, why string) {
	if chain.IsCreated() {
		_, _ = d.acker.Fail(ctx, xorack.Root(heldBy(c).tag(), "", -1), why)
	}
}

// endAs ends a claim as its chain ended: one that is done is a commit, every other end a failure.
// Anybody may repeat it: the token says whose claim it is. A message that failed as often as it may
// is blocked before its next attempt.
func (d *Deliverer) endAs(ctx context.Context, c Consumer,
	chain xorack.Chain) (Consumer, bool, error) {
	if chain.End() == xorack.Done {
		seen, _ := d.health(ctx, c.Name) // what cannot be known now cannot be noted
		after, made, err := d.store.Commit(ctx, heldBy(c), Response{})
		if made {
			d.noteTaken(ctx, seen, chain.Created, false)
			d.store.NoteTaken(ctx, c)
		}
		return after, made, err
	}
	why := string(chain.End())
	if chain.Reason != "" {
		why += ": " + chain.Reason
	}
	return d.failDeferred(ctx, c, why)
}

// failDeferred gives a deferred claim back, and notes that its message is tried again.
func (d *Deliverer) failDeferred(ctx context.Context, c Consumer,
	why string) (Consumer, bool, error) {
	after, made, err := d.store.Fail(ctx, heldBy(c), d.failureOf(ctx, c, why))
	if made && after.Exists() {
		d.store.Note(ctx, c, after)
	}
	return after, made, err
}

// failureOf is what is noted of a batch whose work failed: nobody knows whether the message is bad.
func (d *Deliverer) failureOf(ctx context.Context, c Consumer, why string) request.Failure {
	now := d.now()
	failure := request.Failure{
		Error: shorten(strings.ToValidUTF8(why, "?"), maxError), Alone: c.alone(), Now: now,
		RetryAt: now.Add(request.RetryAfter(c.ownAttempts(), request.DefaultRetries)),
	}
	failure.Last = c.Last.With(attemptOf(c, now, 0, why, 0))
	d.count(ctx, failed{Consumer: c, good: goodFor(request.DefaultRetries, request.DefaultProbes)},
		&failure)
	return failure
}

// endDeferred ends a deferred claim for the worker that has its token, and wakes the consumer up
// for what comes next.
//
// Lost response: the repeat finds the claim ended. Another ended it first: the stored consumer says
// how. We die right after the end: the sweep wakes the consumer up.
func (d *Deliverer) endDeferred(ctx context.Context, c Consumer, commit bool,
	why string) (after Consumer, made bool, err error) {
	if commit {
		after, made, err = d.commitDeferred(ctx, c)
	} else {
		after, made, err = d.failDeferred(ctx, c, why)
	}
	if err == nil {
		err = d.awaken(ctx, after)
	}
	return after, made, err
}

// commitDeferred commits a deferred claim for the worker that has its token, and ends its chain, if
// there is one.
//
// When the batch was handed over the chain knows. Without a chain nothing does: the commit counts
// as of now, but never as of after the circuit opened. So the work of a batch that was handed over
// before its sink went away may keep the circuit closed for as long as one success does, and closes
// none.
//
// Lost response, another did it first: what stands there says so. We die right after: the chain
// times out.
func (d *Deliverer) commitDeferred(ctx context.Context, c Consumer) (Consumer, bool, error) {
	chain, err := d.chainOf(ctx, c)
	if err != nil {
		return c, false, err
	}
	seen, _ := d.health(ctx, c.Name) // what cannot be known now cannot be noted
	handed := chain.Created
	if handed.IsZero() {
		handed = d.now()
		if seen.Circuit.Open() {
			handed = seen.Circuit.Opened
		}
	}
	after, made, err := d.store.Commit(ctx, heldBy(c), Response{})
	if made {
		d.noteTaken(ctx, seen, handed, false)
		d.store.NoteTaken(ctx, c)
		d.endChain(ctx, c, chain, "COMMITTED: by its token")
	}
	return after, made, err
}

// awaken wakes a consumer up that does not have everything. Whatever moves the cursor after this
// read finds the claim ended.
func (d *Deliverer) awaken(ctx context.Context, c Consumer) error {
	if !c.Exists() {
		return nil // it was removed
	}
	cur, err := d.sorter.Status(ctx, c.Queue)
	if err != nil || cur.Position <= c.Delivered {
		return err
	}
	return d.sorter.Notify(ctx, c.Queue)
}

// Ender returns what [xorack.OnEnds] and [xorack.Acker.Sweep] announce ends to where batches are
// tracked: it ends the claim of a tracked batch as its chain ended, and wakes the consumer up for
// what comes next. The ends of all other chains go to next, if it is not nil.
//
// It does all of it each time, also where it was done before: the process that did it may have died
// before the waking up. An error keeps the chain due, so a crash anywhere repeats the whole. A
// batch that failed as often as it may is not blocked here, but by the next Deliver, which knows
// the bounds.
//
// A chain that is done costs a write and a read, and a write more where there is more to deliver;
// one that failed a read more.
func (d *Deliverer) Ender(next xorack.Announce) xorack.Announce {
	return func(ctx context.Context, chain xorack.Chain) error {
		if request.TracksBatch(chain.Tag) {
			return d.ended(ctx, chain)
		}
		if next == nil {
			return nil
		}
		return next(ctx, chain)
	}
}

// ended ends the claim of a chain, and wakes the consumer up.
func (d *Deliverer) ended(ctx context.Context, chain xorack.Chain) error {
	t, known := trackedOf(chain)
	if !known {
		return nil
	}
	c := Consumer{Queue: t.Queue, Name: t.Consumer, Token: t.Token, State: Started}
	var err error
	if chain.End() != xorack.Done {
		// How often it was tried says when it is tried again.
		if c, err = d.store.Consumer(ctx, t.Queue, t.Consumer); err != nil {
			return err
		}
	}
	if c.State == Started && c.Token == t.Token {
		if c, _, err = d.endAs(ctx, c, chain); err != nil {
			return err
		}
	}
	return d.awaken(ctx, c)
}
