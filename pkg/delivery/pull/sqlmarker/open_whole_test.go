//go:build whole

package sqlmarker_test

import (
	"database/sql"
	"fmt"
	"os"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
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

// TestTheFloorStays: it is not raised over a claim whose transaction is under way.
func TestTheFloorStays(t *testing.T) {
	b := newBench(t, servers[1])
	b.settles(claim(1, "r"), delivery.Aborted)
	tx := check.Get(b.work(claim(2, "r"), 0))
	check.OK(t, b.Forget(t.Context(), "q", "c", 3))
	if err := b.Acknowledge(t.Context(), "q", "c", 1); err == nil {
		t.Error("acknowledged while a transaction holds the floor")
	}
	check.OK(t, tx.Commit())
	b.settles(claim(2, "r"), delivery.Committed)
	check.OK(t, b.Forget(t.Context(), "q", "c", 3))
	check.Is(t, b.count("streamsort_markers"), 0)
}
