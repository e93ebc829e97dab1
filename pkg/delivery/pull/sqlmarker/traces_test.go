package sqlmarker_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/pull"
	"github.com/streamsort/streamsort/pkg/delivery/pull/sqlmarker"
)

// tables are a queue with a consumer in memory, and their clock.
type tables struct {
	*testing.T
	queues *cursor.Store
	store  *delivery.Store
	now    time.Time
}

func newTables(t *testing.T, messages int64) *tables {
	t.Helper()
	tb := &tables{T: t, queues: cursor.NewMemory(), store: delivery.NewMemory(), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	tb.put(1, messages)
	check.Get(tb.deliverer(0).Create(t.Context(), "q", "c", delivery.First))
	return tb
}

func (tb *tables) sorter() *cursor.Sorter {
	tb.Helper()
	return check.Get(cursor.New(tb.queues, &cursor.Options{Now: func() time.Time { return tb.now }}))
}

func (tb *tables) put(first, last int64) {
	tb.Helper()
	s := tb.sorter()
	for seq := first; seq <= last; seq++ {
		check.OK(tb, s.Put(tb.Context(), cursor.Message{Queue: "q", Seq: seq, Body: fmt.Append(nil, seq)})[0].Err)
	}
}

// deliverer is one whose clock is off by skew.
func (tb *tables) deliverer(skew time.Duration) *delivery.Deliverer {
	tb.Helper()
	d := check.Get(delivery.New(tb.store, tb.sorter(), &delivery.Options{Lease: 30 * time.Second, Now: func() time.Time { return tb.now.Add(skew) }}))
	return d
}

func (tb *tables) puller(skew time.Duration) delivery.Claims {
	tb.Helper()
	return check.Get(delivery.NewClaims(tb.deliverer(skew), &delivery.ClaimsOptions{MaxAttempts: 3}))
}

// claim claims n messages.
func (tb *tables) claim(p delivery.Claims, id string, n int) delivery.Answer {
	tb.Helper()
	a := check.Get(p.Claim(tb.Context(), delivery.Request{Queue: "q", Consumer: "c", ID: id, MaxMessages: n}))
	return a
}

// is checks an answer.
func (tb *tables) is(what string, want delivery.Outcome, reason ...string) func(delivery.Answer, error) delivery.Answer {
	return func(a delivery.Answer, err error) delivery.Answer {
		tb.Helper()
		check.That(tb, err == nil && a.Outcome == want && a.Reason == strings.Join(reason, ""),
			"%s: %s %s, %v; want %s %s", what, a.Outcome, a.Reason, err, want, reason)
		return a
	}
}

// book is an effect: it writes down each message.
func book(ctx context.Context, tx *sql.Tx, b delivery.Batch) error {
	for _, m := range b.Messages {
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO effects (n) VALUES (%d)", m.Seq)); err != nil {
			return err
		}
	}
	return nil
}

// booked checks which messages are written down, and in which order.
func (b *bench) booked(want ...int64) {
	b.Helper()
	order := "rowid"
	if b.server.name == "postgresql" {
		order = "ctid"
	}
	rows := check.Get(b.db.QueryContext(b.Context(), "SELECT n FROM effects ORDER BY "+order))
	defer rows.Close()
	var got []int64
	for rows.Next() {
		var n int64
		check.OK(b, rows.Scan(&n))
		got = append(got, n)
	}
	err := rows.Err()
	check.That(b, err == nil && slices.Equal(got, want), "booked %d, %v; want %d", got, err, want)
}

// options are those of a loop that ends where nothing is ready, and lets time pass where it has to
// wait.
func (tb *tables) options() *pull.ConsumeOptions {
	return &pull.ConsumeOptions{
		MaxMessages: 1, Lease: 30 * time.Second, Beat: -1, UntilEmpty: true,
		Now: func() time.Time { return tb.now },
		Wait: func(_ context.Context, d time.Duration) error {
			tb.now = tb.now.Add(d)
			return nil
		},
	}
}

// T1: P is prepared, and silent. Q settles: its ABORTED is there first. P's own insert conflicts,
// which proves nothing: it must read what stands there.
func TestTraceT1AConflictIsNoCommit(t *testing.T) {
	onEach(t, func(b *bench) {
		tb := newTables(b.T, 1)
		p, q := tb.puller(0), tb.puller(0)
		h := tb.claim(p, b.Name()+"1", 1).Held()
		tb.is("prepare", delivery.OK)(p.Prepare(b.Context(), h))
		tb.now = tb.now.Add(time.Minute)
		a := tb.claim(q, "other", 1)
		check.Need(b, a.Outcome == delivery.InDoubt && a.Held() == h, "%+v", a)
		b.settles(h, delivery.Aborted)
		tb.is("settle", delivery.OK)(q.Settle(b.Context(), h, delivery.Aborted, "silent"))
		check.Fails(b, check.Err(b.work(h, 0)), sqlmarker.ErrSettled)
		b.settles(h, delivery.Aborted)
		tb.is("P settles", delivery.OK)(p.Settle(b.Context(), h, delivery.Aborted, "mine"))
		tb.is("P's commit", delivery.Lost, delivery.Aborted)(p.Commit(b.Context(), h))
	})
}

// T2: the claim's answer is lost, and the request repeated: two have one token. One commits; the
// other fails after its prepare, and must not give the claim back without a marker.
func TestTraceT2NoAbortAfterThePrepareWithoutAMarker(t *testing.T) {
	onEach(t, func(b *bench) {
		tb := newTables(b.T, 1)
		p, q := tb.puller(0), tb.puller(0)
		h := tb.claim(p, "same", 1).Held()
		if again := tb.claim(q, "same", 1); again.Held() != h || again.Outcome != delivery.OK || len(again.Messages) != 1 {
			b.Fatalf("the same request: %+v", again)
		}
		tb.is("prepare", delivery.OK)(p.Prepare(b.Context(), h))
		tb.is("prepare again", delivery.OK)(q.Prepare(b.Context(), h))
		b.committed(h)
		tb.is("a bare abort", delivery.InDoubt, delivery.Prepared)(q.Abort(b.Context(), h, "failed"))
		b.settles(h, delivery.Committed)
		tb.is("settle", delivery.OK)(q.Settle(b.Context(), h, delivery.Committed, ""))
		tb.is("commit", delivery.OK)(p.Commit(b.Context(), h))
	})
}

// T3: the markers are dropped, and a zombie under a settled token commits: the floor keeps it from
// that.
func TestTraceT3MarkersAreDroppedUnderAFloor(t *testing.T) {
	onEach(t, func(b *bench) {
		tb := newTables(b.T, 3)
		p := tb.puller(0)
		zombie := tb.claim(p, "zombie", 1).Held()
		tb.is("prepare", delivery.OK)(p.Prepare(b.Context(), zombie))
		tb.now = tb.now.Add(time.Minute)
		o := tb.options()
		o.KeepMarkers = 1
		check.OK(b, b.Forget(b.Context(), "q", "c", 1))
		// Not its own name: it settles by hand what it finds.
		b.settles(zombie, delivery.Aborted)
		tb.is("settle", delivery.OK)(p.Settle(b.Context(), zombie, delivery.Aborted, "silent"))
		check.OK(b, b.Consume(b.Context(), p, "q", "c", book, o))
		check.That(b, check.Err(b.work(zombie, 0)) != nil, "the zombie commits")
		b.booked(1, 2, 3)
		n := b.count("streamsort_markers")
		check.That(b, n <= 2, "%d markers, want that old ones are gone", n)
	})
}

// T5: clocks are farther apart than a lease. P's claim is taken over while it is at it, again and
// again: nothing is done twice.
func TestTraceT5ClocksFartherApartThanALease(t *testing.T) {
	onEach(t, func(b *bench) {
		tb := newTables(b.T, 1)
		p, q := tb.puller(0), tb.puller(time.Hour)
		first := tb.claim(p, "p", 1)
		second := tb.claim(q, "q", 1)
		if first.Outcome != delivery.OK || second.Outcome != delivery.OK || second.Token.N != 2 {
			b.Fatalf("%+v, %+v", first, second)
		}
		tb.is("P's prepare", delivery.Lost, delivery.Cancelled)(p.Prepare(b.Context(), first.Held()))
		tb.is("Q's prepare", delivery.OK)(q.Prepare(b.Context(), second.Held()))
		tb.is("P's commit", delivery.Lost, delivery.Cancelled)(p.Commit(b.Context(), first.Held()))
		b.committed(second.Held())
		tb.is("Q's commit", delivery.OK)(q.Commit(b.Context(), second.Held()))
	})
}
