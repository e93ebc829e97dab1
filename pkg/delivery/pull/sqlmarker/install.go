package sqlmarker

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"fmt"
)

// Install makes the marker tables where they are not there yet, and gives the database its name. It
// may be called at every start, by any number of processes at once. The role needs CREATE only the
// first time.
//
// Lost response, or another did it first: the repeat changes nothing. We die between two tables:
// the next call makes the rest.
func Install(ctx context.Context, db *sql.DB, dialect Dialect) error {
	var version int
	var name string
	if err := db.QueryRowContext(ctx, dialect.Version).Scan(&version, &name); err == nil {
		return nil
	}
	for _, table := range dialect.Tables {
		if _, err := db.ExecContext(ctx, table); err != nil {
			// Two that make one table at once can collide in PostgreSQL; the one that comes second
			// finds it there.
			if _, again := db.ExecContext(ctx, table); again != nil {
				return fmt.Errorf("install the marker tables: %w", err)
			}
		}
	}
	random := make([]byte, 6)
	_, _ = rand.Read(random) // never fails
	if _, err := db.ExecContext(ctx, dialect.SetVersion, layout,
		hex.EncodeToString(random)); err != nil {
		return fmt.Errorf("install the marker tables: %w", err)
	}
	return nil
}
