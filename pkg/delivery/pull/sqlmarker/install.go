package sqlmarker

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"fmt"
)

// Install makes the marker tables where they are not there yet, and gives the database its name;
// tables of an older version it brings up to date. It may be called at every start, by any number
// of processes at once. The role needs CREATE only the first time, and the tables' ownership where
// they are older.
//
// A program of an earlier version cannot open the tables after that. One that is still running goes
// on, but does not see replies: stop those first.
//
// Lost response, or another did it first: the repeat changes nothing. We die between two tables:
// the next call makes the rest. We die within a step from one version to the next: it is a
// transaction, and is rolled back.
func Install(ctx context.Context, db *sql.DB, dialect Dialect) error {
	var version int
	var name string
	if err := db.QueryRowContext(ctx, dialect.Version).Scan(&version, &name); err == nil {
		for ; version < layout; version++ {
			if err := upgrade(ctx, db, dialect, version+1); err != nil {
				return fmt.Errorf("bring the marker tables to version %d: %w", version+1, err)
			}
		}
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
	if _, err := db.ExecContext(ctx, dialect.SetVersion, layout, hex.EncodeToString(random)); err != nil {
		return fmt.Errorf("install the marker tables: %w", err)
	}
	return nil
}

// upgrade brings the tables to a version from the one before. The version is set first: that locks
// its row, and who comes second finds the work done.
func upgrade(ctx context.Context, db *sql.DB, dialect Dialect, to int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after the commit it does nothing
	done, err := tx.ExecContext(ctx, dialect.SetUpgraded, to)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return err // another did it
	}
	if _, err := tx.ExecContext(ctx, dialect.Upgrades[to-2]); err != nil {
		return err
	}
	return tx.Commit()
}
