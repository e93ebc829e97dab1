//go:build whole

package sqlmarker_test

import (
	"database/sql"
	"fmt"
	"os"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/localpg"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/pull/sqlmarker"
)

// TestMain is also the copy that TestTwoProcessesKilledAtRandom starts.
func TestMain(m *testing.M) {
	if len(os.Args) == 6 && os.Args[1] == "copy" {
		if err := runCopy(os.Args[2], os.Args[3], os.Args[4], os.Args[5]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	servers = append(servers, server{"postgresql", sqlmarker.PostgreSQL, func(t *testing.T) *sql.DB {
		return opened(t, "pgx", localpg.ForTest(t))
	}})
	code := m.Run()
	localpg.Stop()
	os.Exit(code)
}

// TestTheFloorStays: it is not raised over a claim whose transaction is under
// way.
func TestTheFloorStays(t *testing.T) {
	s := servers[1]
	db := s.open(t)
	if err := sqlmarker.Install(t.Context(), db, s.dialect); err != nil {
		t.Fatal(err)
	}
	m, err := sqlmarker.Open(t.Context(), db, s.dialect, "stack 1")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, Markers: m, db: db, server: s}
	b.exec("CREATE TABLE effects (n INTEGER NOT NULL)")
	b.settles(claim(1, "r"), delivery.Aborted)
	tx, err := b.work(claim(2, "r"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Forget(t.Context(), "q", "c", 3); err != nil {
		t.Fatal(err)
	}
	if err := b.Acknowledge(t.Context(), "q", "c", 1); err == nil {
		t.Error("acknowledged while a transaction holds the floor")
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	b.settles(claim(2, "r"), delivery.Committed)
	if err := b.Forget(t.Context(), "q", "c", 3); err != nil {
		t.Fatal(err)
	}
	if n := b.count("streamsort_markers"); n != 0 {
		t.Errorf("%d markers, want none", n)
	}
}
