package sqlmarker_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/pull"
)

// TestRestoredTables: the tables went back, and hand out again what the database
// has. Nothing is done twice; an operator sets the consumer behind it, and it
// goes on.
func TestRestoredTables(t *testing.T) {
	onEach(t, func(b *bench) {
		before := newTables(b.T, 3)
		check.OK(b, b.Consume(b.Context(), before.puller(0), "q", "c", book, before.options()))
		b.booked(1, 2, 3)

		restored := newTables(b.T, 5) // to before the consumer began
		var ahead *pull.AheadError
		err := b.Consume(b.Context(), restored.puller(0), "q", "c", book, restored.options())
		if !errors.As(err, &ahead) || ahead.To != 3 || ahead.From != 0 || ahead.Queue != "q" || ahead.Consumer != "c" {
			b.Fatalf("%v; want that the database is at 3", err)
		}
		b.booked(1, 2, 3)

		order := delivery.Order{Kind: "rewind", Start: delivery.At(ahead.To + 1), Queue: "q", Consumer: "c", Reason: "the tables were restored"}
		check.Get(restored.deliverer(0).Operate(b.Context(), order))
		check.OK(b, b.Consume(b.Context(), restored.puller(0), "q", "c", book, restored.options()))
		b.booked(1, 2, 3, 4, 5)
	})
}

// TestAnEffectThatFailsByARestore: where the database refuses what it has already, or
// what is built on what it lost, by a constraint of its own, the restore is reported all
// the same, and the consumer is not blocked by it.
func TestAnEffectThatFailsByARestore(t *testing.T) {
	refused := errors.New("UNIQUE constraint failed")
	refuse := func(context.Context, *sql.Tx, delivery.Batch) error { return refused }
	atOnce := func(o *pull.ConsumeOptions) *pull.ConsumeOptions {
		o.Wait = func(context.Context, time.Duration) error { return errors.New("it tries again") }
		return o
	}
	onEach(t, func(b *bench) {
		before := newTables(b.T, 3)
		check.OK(b, b.Consume(b.Context(), before.puller(0), "q", "c", book, before.options()))
		var ahead *pull.AheadError
		restored := newTables(b.T, 5)
		err := b.Consume(b.Context(), restored.puller(0), "q", "c", refuse, atOnce(restored.options()))
		check.That(b, errors.As(err, &ahead) && ahead.To == 3 && errors.Is(err, refused),
			"%v; want that the database is at 3, and why the effect failed", err)

		b.exec("DELETE FROM streamsort_markers")
		var lost *pull.RestoredError
		before.put(4, 4)
		err = b.Consume(b.Context(), before.puller(0), "q", "c", refuse, atOnce(before.options()))
		if !errors.As(err, &lost) || lost.Last != 0 || lost.Committed == 0 || !errors.Is(err, refused) {
			b.Errorf("%v; want that the database lost what was committed, and why the effect failed", err)
		}
	})
}

// TestThePlaceOfAMarker: what is ahead of what.
func TestThePlaceOfAMarker(t *testing.T) {
	onEach(t, func(b *bench) {
		batch := func(n, rewinds, from, to int64) delivery.Batch {
			return delivery.Batch{Queue: "q", Consumer: "c", Token: delivery.Token{N: n, Req: "r"}, Rewinds: rewinds, From: from, To: to}
		}
		for _, c := range []struct {
			batch delivery.Batch
			ahead bool
		}{
			{batch(5, 1, 0, 10), false},
			{batch(6, 1, 10, 20), false},
			{batch(7, 1, 19, 21), true},
			{batch(7, 1, 20, 21), false},
			{batch(4, 1, 5, 6), true},   // an older one, that another went past
			{batch(8, 0, 30, 31), true}, // before it was set back
			{batch(8, 2, 0, 1), false},  // after it was set back again
			{batch(9, 2, 0, 1), true},
		} {
			tx := b.begin()
			err := b.Mark(b.Context(), tx, c.batch, 0)
			var ahead *pull.AheadError
			check.That(b, errors.As(err, &ahead) == c.ahead && (err == nil || c.ahead),
				"%+v: %v, want ahead %v", c.batch, err, c.ahead)
			if err != nil {
				_ = tx.Rollback()
				continue
			}
			check.OK(b, tx.Commit())
		}
	})
}

// late is a process that sleeps after its first claim, while something happens.
type late struct {
	delivery.Claims
	meanwhile func()
}

func (l *late) Claim(ctx context.Context, r delivery.Request) (delivery.Answer, error) {
	a, err := l.Claims.Claim(ctx, r)
	if l.meanwhile != nil {
		l.meanwhile()
		l.meanwhile = nil
	}
	return a, err
}

// TestATakenOverClaimIsNoRestore: a process that sleeps past its lease finds what the
// other committed in the database, and goes on behind it.
func TestATakenOverClaimIsNoRestore(t *testing.T) {
	onEach(t, func(b *bench) {
		tb := newTables(b.T, 2)
		other := tb.puller(time.Hour)
		p := &late{Claims: tb.puller(0), meanwhile: func() {
			a := tb.claim(other, b.Name()+"-other", 1)
			tx := b.begin()
			check.OK(b, errors.Join(book(b.Context(), tx, a.Batch), b.Mark(b.Context(), tx, a.Batch, 0)))
			tb.is("prepare", delivery.OK)(other.Prepare(b.Context(), a.Held()))
			check.OK(b, tx.Commit())
			tb.is("commit", delivery.OK)(other.Commit(b.Context(), a.Held()))
		}}
		check.OK(b, b.Consume(b.Context(), p, "q", "c", book, tb.options()))
		b.booked(1, 2)
	})
}
