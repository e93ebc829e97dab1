//go:build whole

package localpg_test

import (
	"database/sql"
	"os"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/localpg"
)

func TestMain(m *testing.M) {
	code := m.Run()
	localpg.Stop()
	os.Exit(code)
}

func TestDatabasesAreApart(t *testing.T) {
	for range 2 {
		db := check.Get(sql.Open("pgx", localpg.ForTest(t)))
		defer db.Close()
		check.Get(db.ExecContext(t.Context(), "CREATE TABLE one (n BIGINT)"))
	}
}
