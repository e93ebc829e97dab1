package sqlmarker_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/pull"
	"github.com/streamsort/streamsort/pkg/delivery/pull/sqlmarker"
	"github.com/streamsort/streamsort/pkg/table"
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

func TestCommittedIsCommitted(t *testing.T) {
	onEach(t, func(b *bench) {
		b.committed(claim(1, "r"))
		b.settles(claim(1, "r"), delivery.Committed)
		check.Is(b, b.count("effects"), 1)
	})
}

func TestRolledBackIsAborted(t *testing.T) {
	onEach(t, func(b *bench) {
		check.OK(b, check.Get(b.work(claim(1, "r"), 0)).Rollback())
		b.settles(claim(1, "r"), delivery.Aborted)
		check.Is(b, b.count("effects"), 0)
	})
}

// TestSettledCannotCommit: the zombie's own insert finds what was settled.
func TestSettledCannotCommit(t *testing.T) {
	onEach(t, func(b *bench) {
		b.settles(claim(1, "r"), delivery.Aborted)
		check.Fails(b, check.Err(b.work(claim(1, "r"), 0)), sqlmarker.ErrSettled)
	})
}

// TestAConflictProvesNothing: what stands there is another's ABORTED (T1).
func TestAConflictProvesNothing(t *testing.T) {
	onEach(t, func(b *bench) {
		b.settles(claim(1, "r"), delivery.Aborted)
		b.settles(claim(1, "r"), delivery.Aborted)
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
		h := claim(1, "r")
		h.Queue = "q2"
		b.settles(h, delivery.Aborted)
		h = claim(1, "r")
		h.Consumer = "c2"
		b.settles(h, delivery.Aborted)
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
		if _, err := b.work(claim(3, "r"), 0); !errors.Is(err, sqlmarker.ErrForgotten) {
			b.Fatalf("a claim under the floor is marked: %v", err) // its transaction would hold up the rest
		}
		if outcome, _, err := b.Settle(b.Context(), claim(3, "r"), 0); !errors.Is(err, sqlmarker.ErrForgotten) {
			b.Errorf("a claim under the floor is settled: %q, %v", outcome, err)
		}
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
		err = b.Check(b.Context(), "q", "c", 2)
		check.That(b, err == nil, "check of what it knows: %v", err)
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
			check.Fails(t, check.Err(sqlmarker.Open(t.Context(), db, s.dialect, "s")), sqlmarker.ErrNotInstalled)
			check.OK(t, sqlmarker.Install(t.Context(), db, s.dialect))
			check.Get(db.ExecContext(t.Context(), "UPDATE streamsort_marker_layout SET version = 7"))
			check.Fails(t, check.Err(sqlmarker.Open(t.Context(), db, s.dialect, "s")), table.ErrNewerLayout)
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
		return opened(t, "sqlite", "file:"+filepath.Join(t.TempDir(), "test.db")+"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)")
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
			db := s.open(t)
			check.OK(t, sqlmarker.Install(t.Context(), db, s.dialect))
			m := check.Get(sqlmarker.Open(t.Context(), db, s.dialect, "stack 1"))
			b := &bench{T: t, Markers: m, db: db, server: s}
			b.exec("CREATE TABLE effects (n INTEGER NOT NULL)")
			test(b)
		})
	}
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
