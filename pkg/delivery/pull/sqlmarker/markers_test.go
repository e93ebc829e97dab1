package sqlmarker_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/pull"
	"github.com/streamsort/streamsort/pkg/delivery/pull/sqlmarker"
)

func claim(n int64, req string) delivery.Held {
	return delivery.Held{Queue: "q", Consumer: "c", Token: delivery.Token{N: n, Req: req}}
}

// batchOf is an empty batch under a claim.
func batchOf(h delivery.Held) delivery.Batch {
	return delivery.Batch{Queue: h.Queue, Consumer: h.Consumer, Token: h.Token}
}

// work is a transaction with an effect and the marker of a claim, not yet committed.
func (b *bench) work(h delivery.Held, committed int64) (*sql.Tx, error) {
	b.Helper()
	tx := b.begin()
	check.Get(tx.ExecContext(b.Context(), "INSERT INTO effects (n) VALUES (1)"))
	err := b.Mark(b.Context(), tx, batchOf(h), committed)
	if err != nil {
		_ = tx.Rollback()
	}
	return tx, err
}

// committed commits the work of a claim.
func (b *bench) committed(h delivery.Held) {
	b.Helper()
	check.OK(b, check.Get(b.work(h, 0)).Commit())
}

// settles checks how a claim is settled.
func (b *bench) settles(h delivery.Held, want delivery.TokenOutcome) {
	b.Helper()
	for range 2 { // the repeat answers the same
		got, _ := check.Get2(b.Settle(b.Context(), h, 0))
		check.Is(b, got, want, h.Token)
	}
}

func TestRolledBackIsAborted(t *testing.T) {
	onEach(t, func(b *bench) {
		check.OK(b, check.Get(b.work(claim(1, "r"), 0)).Rollback())
		b.settles(claim(1, "r"), delivery.Aborted)
		check.Is(b, b.count("effects"), 0)
	})
}

// TestSettleWaitsForTheTransaction: the marker is there, but not committed.
func TestSettleWaitsForTheTransaction(t *testing.T) {
	onEach(t, func(b *bench) {
		tx := check.Get(b.work(claim(1, "r"), 0))
		var settled sync.WaitGroup
		var outcome delivery.TokenOutcome
		var failed error
		settled.Go(func() { outcome, _, failed = b.Settle(b.Context(), claim(1, "r"), 0) })
		check.OK(b, tx.Commit())
		settled.Wait()
		check.That(b, failed == nil && outcome == delivery.Committed, "%q, %v", outcome, failed)
	})
}

// TestTheWholeKeyTells: a number can be given twice, the whole token cannot.
func TestTheWholeKeyTells(t *testing.T) {
	onEach(t, func(b *bench) {
		b.committed(claim(1, "r"))
		other := check.Get(sqlmarker.Open(b.Context(), b.db, b.server.dialect, "stack 2"))
		b.settles(claim(1, "another request"), delivery.Aborted)
		queue, consumer := claim(1, "r"), claim(1, "r")
		queue.Queue, consumer.Consumer = "q2", "c2"
		b.settles(queue, delivery.Aborted)
		b.settles(consumer, delivery.Aborted)
		outcome, _ := check.Get2(other.Settle(b.Context(), claim(1, "r"), 0))
		check.Is(b, outcome, delivery.Aborted)
		b.settles(claim(1, "r"), delivery.Committed)
	})
}

// TestForget: a zombie of a claim whose marker is gone finds the floor (T3).
func TestForget(t *testing.T) {
	onEach(t, func(b *bench) {
		for n := range int64(5) {
			b.settles(claim(n+1, "r"), delivery.Aborted)
		}
		for range 2 {
			check.OK(b, b.Forget(b.Context(), "q", "c", 4))
		}
		check.OK(b, b.Forget(b.Context(), "q", "c", 2))
		check.Is(b, b.count("streamsort_markers"), 2)
		check.Fails(b, check.Err(b.work(claim(3, "r"), 0)), sqlmarker.ErrForgotten, "it is marked")
		_, _, err := b.Settle(b.Context(), claim(3, "r"), 0)
		check.Fails(b, err, sqlmarker.ErrForgotten, "a claim under the floor is settled")
		b.settles(claim(4, "r"), delivery.Aborted)
		b.committed(claim(6, "r"))
	})
}

// TestRestored: the database does not know what was committed in it.
func TestRestored(t *testing.T) {
	onEach(t, func(b *bench) {
		b.committed(claim(2, "r"))
		refused := func(what string, err error) {
			b.Helper()
			var restored *pull.RestoredError
			check.That(b, errors.As(err, &restored) && restored.Last == 2 && restored.Committed == 5,
				"%s: error %v, want that the database knows 2 and not 5", what, err)
		}
		_, err := b.work(claim(6, "r"), 5)
		refused("mark", err)
		_, _, err = b.Settle(b.Context(), claim(6, "r"), 5)
		refused("settle", err)
		refused("check", b.Check(b.Context(), "q", "c", 5))
		check.OK(b, b.Check(b.Context(), "q", "c", 2))
		check.Is(b, b.count("streamsort_markers"), 1)
		check.OK(b, b.Acknowledge(b.Context(), "q", "c", 5))
		check.OK(b, check.Get(b.work(claim(6, "r"), 5)).Commit())
	})
}

func TestManySettleAtOnce(t *testing.T) {
	onEach(t, func(b *bench) {
		const at = 8
		var all sync.WaitGroup
		outcomes := make([]delivery.TokenOutcome, at)
		errs := make([]error, at)
		for i := range at {
			all.Go(func() { outcomes[i], _, errs[i] = b.Settle(b.Context(), claim(1, "r"), 0) })
		}
		all.Wait()
		for i := range at {
			check.That(b, errs[i] == nil && outcomes[i] == delivery.Aborted, "%q, %v", outcomes[i], errs[i])
		}
	})
}

// TestInstallAtOnce is a program with many copies that start.
func TestInstallAtOnce(t *testing.T) {
	for _, s := range servers {
		t.Run(s.name, func(t *testing.T) {
			db := s.open(t)
			var all sync.WaitGroup
			errs := make([]error, 6)
			for i := range errs {
				all.Go(func() { errs[i] = sqlmarker.Install(t.Context(), db, s.dialect) })
			}
			all.Wait()
			check.OK(t, errors.Join(errs...))
			first := check.Get(sqlmarker.Open(t.Context(), db, s.dialect, "s"))
			check.OK(t, sqlmarker.Install(t.Context(), db, s.dialect))
			second, err := sqlmarker.Open(t.Context(), db, s.dialect, "s")
			check.That(t, err == nil && first.Name() == second.Name() && len(first.Name()) == 12,
				"names %q and %q, %v", first.Name(), second.Name(), err)
		})
	}
}

func TestNotInstalled(t *testing.T) {
	for _, s := range servers {
		t.Run(s.name, func(t *testing.T) {
			db := s.open(t)
			check.Fails(t, check.Err(sqlmarker.Open(t.Context(), db, s.dialect, "s")),
				sqlmarker.ErrNotInstalled)
			check.OK(t, sqlmarker.Install(t.Context(), db, s.dialect))
			for _, version := range []int{3, 5} {
				set := fmt.Sprint("UPDATE streamsort_marker_layout SET version = ", version)
				check.Get(db.ExecContext(t.Context(), set))
				err := check.Err(sqlmarker.Open(t.Context(), db, s.dialect, "s"))
				check.Has(t, err.Error(), fmt.Sprintf("version %d, and this program needs 4", version))
			}
			var invalid *cursor.InvalidError
			for _, stack := range []string{"", strings.Repeat("x", sqlmarker.MaxStack+1)} {
				_, err := sqlmarker.Open(t.Context(), db, s.dialect, stack)
				check.That(t, errors.As(err, &invalid), "stack of %d bytes: error %v", len(stack), err)
			}
		})
	}
}

// server is a kind of database.
type server struct {
	name    string
	dialect sqlmarker.Dialect
	// open opens a fresh database.
	open func(t *testing.T) *sql.DB
}

// servers are the databases that every test runs on.
var servers = []server{
	{"sqlite", sqlmarker.SQLite, func(t *testing.T) *sql.DB {
		return opened(t, "sqlite", "file:"+filepath.Join(t.TempDir(), "test.db")+
			"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)")
	}},
}

func opened(t *testing.T, driver, source string) *sql.DB {
	t.Helper()
	db := check.Get(sql.Open(driver, source))
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// onEach runs a test on markers in a fresh database of each kind.
func onEach(t *testing.T, test func(*bench)) {
	t.Helper()
	for _, s := range servers {
		t.Run(s.name, func(t *testing.T) {
			test(newBench(t, s))
		})
	}
}

func newBench(t *testing.T, s server) *bench {
	t.Helper()
	db := s.open(t)
	check.OK(t, sqlmarker.Install(t.Context(), db, s.dialect))
	m := check.Get(sqlmarker.Open(t.Context(), db, s.dialect, "stack 1"))
	b := &bench{T: t, Markers: m, db: db, server: s}
	b.exec("CREATE TABLE effects (n INTEGER NOT NULL)")
	return b
}

// bench is markers under test.
type bench struct {
	*testing.T
	*sqlmarker.Markers
	db     *sql.DB
	server server
}

func (b *bench) exec(statement string, arguments ...any) {
	b.Helper()
	check.Get(b.db.ExecContext(b.Context(), statement, arguments...))
}

func (b *bench) begin() *sql.Tx {
	b.Helper()
	tx := check.Get(b.db.BeginTx(b.Context(), nil))
	b.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// count is how many rows a table has.
func (b *bench) count(table string) int {
	b.Helper()
	var n int
	check.OK(b, b.db.QueryRowContext(b.Context(), "SELECT count(*) FROM "+table).Scan(&n))
	return n
}

// tables are a queue with a consumer in memory, and their clock.
type tables struct {
	*testing.T
	queues *cursor.Store
	store  *delivery.Store
	now    time.Time
}

// onTables is onEach beside tables with so many messages.
func onTables(t *testing.T, messages int64, test func(*bench, *tables)) {
	t.Helper()
	onEach(t, func(b *bench) { test(b, newTables(b.T, messages)) })
}

func newTables(t *testing.T, messages int64) *tables {
	t.Helper()
	tb := &tables{T: t, queues: cursor.NewMemory(), store: delivery.NewMemory(),
		now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
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
		check.OK(tb,
			s.Put(tb.Context(), cursor.Message{Queue: "q", Seq: seq, Body: fmt.Append(nil, seq)})[0].Err)
	}
}

// deliverer is one whose clock is off by skew.
func (tb *tables) deliverer(skew time.Duration) *delivery.Deliverer {
	tb.Helper()
	clock := func() time.Time { return tb.now.Add(skew) }
	return check.Get(delivery.New(tb.store, tb.sorter(),
		&delivery.Options{Lease: 30 * time.Second, Now: clock}))
}

func (tb *tables) puller(skew time.Duration) delivery.Claims {
	tb.Helper()
	return check.Get(delivery.NewClaims(tb.deliverer(skew), &delivery.ClaimsOptions{MaxAttempts: 3}))
}

// claim claims n messages.
func (tb *tables) claim(p delivery.Claims, id string, n int) delivery.Answer {
	tb.Helper()
	return check.Get(p.Claim(tb.Context(),
		delivery.Request{Queue: "q", Consumer: "c", ID: id, MaxMessages: n}))
}

// is checks an answer.
func (tb *tables) is(what string, want delivery.Outcome, reason ...string) func(delivery.Answer,
	error) delivery.Answer {
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
		if _, err := tx.ExecContext(ctx,
			fmt.Sprintf("INSERT INTO effects (n) VALUES (%d)", m.Seq)); err != nil {
			return err
		}
	}
	return nil
}

// booked checks which messages are written down, and in which order.
func (b *bench) booked(want ...int64) {
	b.Helper()
	order := map[string]string{"sqlite": "rowid", "postgresql": "ctid"}[b.server.name]
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
	onTables(t, 1, func(b *bench, tb *tables) {
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
	onTables(t, 1, func(b *bench, tb *tables) {
		p, q := tb.puller(0), tb.puller(0)
		h := tb.claim(p, "same", 1).Held()
		again := tb.claim(q, "same", 1)
		check.Need(b, again.Held() == h && again.Outcome == delivery.OK && len(again.Messages) == 1,
			"the same request: %+v", again)
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
	onTables(t, 3, func(b *bench, tb *tables) {
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
		check.That(b, b.count("streamsort_markers") <= 2, "old markers are there")
	})
}
