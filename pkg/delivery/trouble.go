package delivery

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// What is noted in the table of trouble is never the truth: what fails here is left to the sweep,
// and no delivery, and no operation, fails by it.

// rowOf is the row of a consumer that is in a state.
func rowOf(state trouble.State, c Consumer, since time.Time) trouble.Row {
	row := bareRow(c)
	row.State, row.Since = state, ddb.ToMillis(since)
	return row
}

// fails reports whether a message failed as often as it may, and is tried on.
func fails(c Consumer, attempts int) bool { return c.Fails() && c.ownAttempts() >= attempts }

// failingSince is since when a consumer retries a message, as far as its item says.
func failingSince(c Consumer) time.Time {
	return cmp.Or(c.FailingSince, c.Last[0].At, c.Failed, c.LeaseUntil)
}

// noteMissing notes that the next message of a consumer is not stored any more.
func (d *Deliverer) noteMissing(ctx context.Context, c Consumer) {
	d.noteMore(ctx, rowOf(trouble.Missing, c, d.now()))
}

// noteMore writes a row that may be there already, as it is or with another message or error: half
// a read unit where it is.
func (d *Deliverer) noteMore(ctx context.Context, row trouble.Row) {
	there, found, err := d.store.Trouble().Row(ctx, row.State, row.Queue, row.Consumer)
	lasts := row.State == trouble.Failing || row.State == trouble.Gap
	if found && (row.State == trouble.Missing || lasts && row.Seq == there.Seq) {
		row.Since = there.Since
	}
	if there.N = row.N; err != nil || !found || there != row {
		_ = d.store.Trouble().Put(ctx, row)
	}
}

// noteChanged notes what a visit changed of a consumer, and what is not noted of it that it was in
// before.
func (d *Deliverer) noteChanged(ctx context.Context, before, after Consumer) {
	d.store.Note(ctx, before, after)
	was := troubles(before)
	for _, row := range troubles(after) {
		// the delivery that comes next knows better
		if row.State != trouble.Failing && slices.Contains(was, row) {
			d.noteMore(ctx, row)
		}
	}
}

// noteOperated notes what an operation changed: one that goes to another place ends that a message
// is missing.
func (d *Deliverer) noteOperated(ctx context.Context, kind string, before, after Consumer) {
	d.store.Note(ctx, before, after)
	switch {
	case kind == opRewind || kind == opSkip:
		d.store.NoteOver(ctx, before, trouble.Missing)
	case kind == opRedrive && after.Paused == "":
		// The next probe is to be of the message, where the circuit breaker is open: its queue is the
		// first that is woken up. Where the probe is due already, its own wake-up makes it.
		if h, err := d.store.Health(ctx, after.Name, false); err == nil && h.Circuit.Open() {
			_ = d.store.Trouble().Put(ctx, held(after.Queue, after.Delivered+1, h, h.Circuit.Opened))
		}
	}
}

// listGapAfter is how old a gap is that is listed: those of messages that only came out of order
// are gone by then.
const listGapAfter = 5 * time.Second

// noteGaps has a sweep note the gaps that it sees, and their ends.
func (d *Deliverer) noteGaps(ctx context.Context, o *cursor.SweepOptions) {
	if d.store.Trouble() == nil {
		return
	}
	gap, announce := o.Gap, o.Announce
	o.Gap = func(of cursor.Cursor, age time.Duration) {
		if age >= listGapAfter {
			row := gapRow(of.Queue, of.Position+1, of.MovedAt)
			row.Since = ddb.ToMillis(d.now().Add(-age)) // what is behind it may have come before
			d.noteMore(ctx, row)
		}
		if gap != nil {
			gap(of, age)
		}
	}
	o.Announce = func(ctx context.Context, a cursor.Announcement) error {
		if a.Kind == cursor.GapClosed || a.Kind == cursor.GapSkipped {
			_ = d.store.Trouble().Delete(ctx, gapRow(a.Queue, 0, d.now()))
		}
		if announce == nil {
			return nil
		}
		return announce(ctx, a)
	}
}

// gapRow is the row of a gap. Its number is the time at which the queue stopped, which rises with
// each move.
func gapRow(queue string, seq int64, since time.Time) trouble.Row {
	since = ddb.ToMillis(since)
	return trouble.Row{State: trouble.Gap, Queue: queue, Seq: seq, Since: since, N: since.UnixMilli()}
}
