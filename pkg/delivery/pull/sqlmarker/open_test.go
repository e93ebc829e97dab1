package sqlmarker_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/delivery/pull/sqlmarker"
)

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
