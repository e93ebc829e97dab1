package dedup

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/streamsort/streamsort/internal/bounds"
	"github.com/streamsort/streamsort/internal/ddb"
)

// Entry is a row and its state by this process's clock.
type Entry struct {
	Row    Row
	Status Status
}

// Status is the state of an id, by a strong read. A row that cannot be read is a [RowError].
func (d *Deduplicator[ID, R]) Status(ctx context.Context, id ID) (Entry, error) {
	k, err := d.Key(id)
	if err != nil {
		return Entry{}, err
	}
	r, err := d.store.Row(ctx, k, true)
	if err != nil {
		return Entry{}, err
	}
	return d.entry(r), nil
}

func (d *Deduplicator[ID, R]) entry(r Row) Entry {
	return Entry{r, r.status(d.options.Now(), d.options.Margin, int64(d.options.MaxAttempts))}
}

// List walks over the ids of this processor that are in one of the states: with Running, what is
// under way; with TimedOut, what is stuck; with Quarantined, what waits for an operator; with none,
// all of them. It reads the whole table, not strongly: half a read unit for each 4 KB. A row that
// cannot be read is an error in the walk, a [RowError], and the walk goes on; any other error ends
// it.
func (d *Deduplicator[ID, R]) List(ctx context.Context, states ...Status) iter.Seq2[Entry, error] {
	if err := d.made(); err != nil {
		return func(yield func(Entry, error) bool) { yield(Entry{}, err) }
	}
	return func(yield func(Entry, error) bool) {
		for after := ""; ; {
			page, err := d.store.Rows(ctx, after)
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for _, r := range page.Rows {
				e := d.entry(r)
				if r.Processor == d.processor && (len(states) == 0 || slices.Contains(states, e.Status)) &&
					!yield(e, nil) {
					return
				}
			}
			for _, broken := range page.Broken {
				// One whose processor is not known may be ours.
				if p := broken.Key.Processor; (p == "" || p == d.processor) && !yield(Entry{}, &broken) {
					return
				}
			}
			if after = page.Next; after == "" {
				return
			}
		}
	}
}

// Audit is who repairs an id, and why: both are stored with the row and logged.
type Audit struct {
	// By and Reason are 1 to 256 bytes.
	By, Reason string
	// Force repairs an id whose effect is running by its lease. Its owner has then lost the claim,
	// and may have its effect all the same.
	Force bool
}

// Release gives an id back that is not completed: the next call runs the effect, as attempt 1. It
// is how a quarantined id runs again; to give an id a result by hand, call Once then with an effect
// that returns it. It reports whether there was something to release: not where there is no row, or
// it has expired, or is completed.
//
// It is a look, and a write under the fence that it saw. Where the write's condition fails,
// somebody claimed, completed or released meanwhile: it looks again.
//
// Errors: [InvalidError], [StillRunningError] without Force, those of the store.
func (d *Deduplicator[ID, R]) Release(ctx context.Context, id ID, audit Audit) (bool, error) {
	k, err := d.Key(id)
	if err == nil {
		err = cmp.Or(bounds.Text("by", audit.By, 1, maxMessage),
			bounds.Text("reason", audit.Reason, 1, maxMessage))
	}
	if err != nil {
		return false, err
	}
	for {
		r, err := d.store.Row(ctx, k, true)
		now := ddb.ToMillis(d.options.Now())
		switch {
		case err != nil || !r.Exists() || r.expired(now) || r.completed():
			return false, err
		case r.running(now, d.options.Margin) && !audit.Force:
			return false, &StillRunningError{Key: k, Until: r.LeaseUntil}
		}
		next := r
		next.Fence++
		next.Token = d.options.NewToken()
		next.LeaseUntil, next.Attempt, next.Payload = longAgo, 0, nil
		next.Repair = Repair{By: audit.By, Reason: audit.Reason, At: now}
		r, done, err := d.store.Swap(ctx, r, next)
		if err != nil {
			return false, err
		}
		if done || r.Token == next.Token {
			d.note(ctx, EventReleased, r)
			return true, nil
		}
	}
}
