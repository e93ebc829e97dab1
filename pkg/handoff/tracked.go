package handoff

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/record"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/tenant"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// TrackedPrefix is how the tags of tracked batches' chains begin, behind the tenant
// where their queue is one's. Nobody else should create, delete or stamp chains under
// such a tag: see [TracksBatch].
const TrackedPrefix = "handoff/"

// TracksBatch reports whether a tag is that of a tracked batch's chain.
func TracksBatch(tag string) bool {
	_, name := tenant.Split(tag)
	return strings.HasPrefix(name, TrackedPrefix)
}

// tracked names a claim whose end a chain decides.
type tracked struct {
	queue, name string
	token       Token
}

func trackedBy(c Consumer) tracked { return tracked{c.Queue, c.Name, c.Token} }

// ChainOf is the tag of the chain that decides about the claim that is in flight: what
// [xorack.Acker.Get] shows of it says how far the work is. It is empty where no
// claim is in flight, or none that is tracked.
func ChainOf(c Consumer) string {
	if !c.Tracked {
		return ""
	}
	return trackedBy(c).tag()
}

// tag is the chain's: the same names, number and request are the same claim,
// and another claim has another, also that of a consumer which was removed and
// made anew, and counts from 1 again. The names are in it as a hash, because a
// queue's may have as many bytes as a tag, and because the tag is in every token
// that travels with a message: see [tracked.data]. The chain of a tenant's batch is
// the tenant's.
func (t tracked) tag() string {
	names := sha256.Sum256([]byte(t.data()))
	tag := TrackedPrefix + base64.RawURLEncoding.EncodeToString(names[:16]) + "/" + t.token.String()
	if of, _ := tenant.Split(t.queue); of != "" {
		return tenant.Name(of, tag)
	}
	return tag
}

// data is what the chain keeps of the names. A consumer's name has no slash.
func (t tracked) data() string { return t.name + "/" + t.queue }

// root is the root edge of the claim's i-th message.
func (t tracked) root(i int) xorack.Edge { return xorack.Root(t.tag(), "", i) }

// trackedOf is the claim that a chain is about. A chain of which it cannot be
// known has no claim that waits for it: it failed before it was created, so that
// nothing was delivered, and the next look at the claim finds that.
func trackedOf(c xorack.Chain) (t tracked, known bool) {
	t.name, t.queue, _ = strings.Cut(c.Data, "/")
	_, tag := tenant.Split(c.Tag)
	_, token, _ := strings.Cut(strings.TrimPrefix(tag, TrackedPrefix), "/")
	number, req, _ := strings.Cut(token, "-")
	n, err := strconv.ParseInt(number, 10, 64)
	t.token = Token{N: n, Req: req}
	return t, err == nil && t.tag() == c.Tag
}

// validateTrack reports how long a batch's work must not take.
func validateTrack(track time.Duration) error {
	if track != 0 && (track < time.Second || track > xorack.MaxDeadline) {
		return &cursor.InvalidError{Field: "track", Code: invalid.OutOfRange, Problem: "must be 0, or from 1s to " + xorack.MaxDeadline.String()}
	}
	return nil
}

// errNoAcker is the answer where a claim is tracked, or ought to be, and nobody said
// where the chains are.
var errNoAcker = &cursor.InvalidError{Field: "acker", Code: invalid.Missing, Problem: "is missing: a consumer is tracked"}

// track opens the chain of a claim that has just been made, delivers the batch
// with the chain's root edges, and leaves the claim to the chain. Where the
// chain has ended already, somebody gave this claim up: nothing is delivered.
//
// The chain has the claim's lease at first, and its whole time only when the batch
// is delivered: see [delivery.grant].
//
// Dying before the chain is there: once the lease is over, the next caller
// ends the chain in advance. Dying before the batch is delivered, and known to be:
// the chain is late with the lease. Dying after: the chain's deadline ends it. A
// response that is lost: the create is repeated, and so may be the delivery,
// under the same edges.
func (run *delivery) track(ctx context.Context, c Consumer, batch Batch) (Consumer, error) {
	t := trackedBy(c)
	created, err := run.acker.Create(ctx, t.tag(), &xorack.CreateOptions{
		Edges: len(batch.Messages), Deadline: run.firstDeadline(c), Data: t.data(),
	})
	if err != nil {
		return c, err
	}
	if created.Chain.End() != xorack.Open {
		after, _, err := run.endAs(ctx, c, created.Chain)
		return after, err
	}
	batch.Edges = created.Roots
	cause := run.hand(ctx, batch, c.LeaseUntil)
	run.tell(batch, time.Time{}, cause)
	if cause != nil {
		chain, err := run.giveUp(ctx, created, cause)
		switch {
		case err != nil:
			run.Cause = cause
			return c, err
		case chain.End() == xorack.Done:
			after, _, err := run.endAs(ctx, c, chain)
			return after, err
		case chain.End() != xorack.Open:
			return run.fail(ctx, c, batch, cause)
		}
		// All that was delivered has been taken, and goes on.
	}
	if run.probe > 0 {
		run.closes(ctx, run.learnt) // what becomes of the work is the chain's
	}
	run.Ended, run.Tracked, run.Cause = EndedTracked, run.Tracked+1, cause
	return c, run.grant(ctx, created)
}

// firstDeadline is how long a chain may take that nobody is known to work for: as
// long as its claim's lease, if its work may take that long.
func (run *delivery) firstDeadline(c Consumer) time.Duration {
	left := max(c.LeaseUntil.Sub(run.now()), time.Millisecond)
	return min(left, run.reader.Track)
}

// grant gives the chain of a batch that is delivered the time that its work may
// take. It costs nothing where that is no longer than the lease.
//
// Lost response: the repeat finds the later deadline. Another extended it to a
// later one still: that stays. We die before: the batch comes again when the lease
// is over, unless its work is done by then, as one comes again whose process dies
// before its commit. We die right after: nothing is left to do.
func (run *delivery) grant(ctx context.Context, created xorack.Created) error {
	until := created.Chain.Created.Add(run.reader.Track)
	if !until.After(created.Chain.Deadline) || !until.After(run.now()) {
		return nil
	}
	_, err := run.acker.Extend(ctx, created.Root, until)
	return err
}

// giveUp fails the chain of a batch whose delivery failed, so that it is
// not waited for. A root edge whose work is done cannot fail; if all are done,
// the chain stays as it is.
func (run *delivery) giveUp(ctx context.Context, created xorack.Created, cause error) (xorack.Chain, error) {
	why := cause.Error()
	if shown := record.Shown(cause, why); shown > 0 {
		why = why[:shown] // the chain is the tenant's
	}
	reason := record.Cut(strings.ToValidUTF8(why, "?"), xorack.MaxReason)
	if reason == "" {
		reason = "the delivery failed"
	}
	chain := created.Chain
	for _, root := range created.Roots {
		if chain.Has(root.Op()) {
			continue
		}
		result, err := run.acker.Fail(ctx, root, reason)
		if err != nil || result.Chain.End() != xorack.Open {
			return result.Chain, err
		}
		chain = result.Chain
	}
	return chain, nil
}

// ask asks the chain of a tracked claim whose lease is over how the claim ends,
// and ends it so; it reports whether it has ended. A chain that is late, or was
// never created, is ended by the asking, and so barred to a create that comes
// late. An open one that is in time is left alone, and its claim with it.
func (d *Deliverer) ask(ctx context.Context, c Consumer) (Consumer, bool, error) {
	if d.acker == nil {
		return c, false, errNoAcker
	}
	t := trackedBy(c)
	chain, err := d.acker.Abandon(ctx, t.root(0), t.data(), "the claim's lease is over, and no work is under way in time")
	if err != nil || chain.End() == xorack.Open {
		return c, false, err
	}
	after, _, err := d.endAs(ctx, c, chain)
	return after, err == nil, err
}

// endAs ends a tracked claim as its chain ended: one that is done is a commit,
// every other end a failure. It may be repeated by anybody: the token says whose claim it
// is. A message that failed as often as it may is blocked before its next attempt.
func (d *Deliverer) endAs(ctx context.Context, c Consumer, chain xorack.Chain) (Consumer, bool, error) {
	if chain.End() == xorack.Done {
		seen := d.failing(ctx, c.Name)
		after, made, err := d.store.Commit(ctx, c.Queue, c.Name, c.Token)
		if made {
			d.noteTaken(ctx, seen, chain.Created, false)
		}
		return after, made, err
	}
	now := d.now()
	why := string(chain.End())
	if chain.Reason != "" {
		why += ": " + chain.Reason
	}
	failure := record.Failure{
		Error: record.Cut(why, record.MaxError), Alone: c.Alone(), Now: now,
		RetryAt: now.Add(record.RetryAfter(c.OwnAttempts(), record.DefaultRetries)),
	}
	d.count(ctx, failed{Consumer: c, good: goodFor(record.DefaultRetries, record.DefaultProbes)}, &failure)
	return d.store.Fail(ctx, c.Queue, c.Name, c.Token, failure)
}

// Ender returns what [xorack.OnEnds] and [xorack.Acker.Sweep] announce ends to
// where batches are tracked: it ends the claim of a tracked batch as its chain
// ended, and wakes the consumer up for what comes next. The ends of all other
// chains go to next, if it is not nil.
//
// It does all of it each time, also where it was done before: the process that did it
// may have died before the waking up. An error keeps the chain due, so a crash
// anywhere repeats the whole. A batch that failed as often as it may is not
// blocked here, but by the next Deliver, which knows the bounds.
//
// A chain that is done costs a write and a read, and a write more where there is
// more to deliver; one that failed a read more.
func (d *Deliverer) Ender(next xorack.Announce) xorack.Announce {
	return func(ctx context.Context, chain xorack.Chain) error {
		if TracksBatch(chain.Tag) {
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
	c := Consumer{Queue: t.queue, Name: t.name, Token: t.token, State: Started}
	var err error
	if chain.End() != xorack.Done {
		// How often it was tried says when it is tried again.
		if c, err = d.store.Consumer(ctx, t.queue, t.name); err != nil {
			return err
		}
	}
	if c.State == Started && c.Token == t.token {
		if c, _, err = d.endAs(ctx, c, chain); err != nil {
			return err
		}
	}
	if !c.Exists() {
		return nil // it was removed
	}
	// Whatever moves the cursor from here on finds the claim ended.
	cur, err := d.sorter.Status(ctx, t.queue)
	if err != nil || cur.Position <= c.Delivered {
		return err
	}
	return d.sorter.Notify(ctx, t.queue)
}
