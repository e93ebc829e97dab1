// Package ledger shows the two-phase delivery: a consumer that books messages in an SQLite
// database, each once and in order, in the transaction that says how far it is. `make verify
// S=ledger` has two copies of it share the books, while they and the stack's functions are killed
// at random, and audits the books.
package ledger

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/streamsort/streamsort/internal/dev/mortal"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/pull"
	"github.com/streamsort/streamsort/pkg/delivery/pull/pullhttp"
	"github.com/streamsort/streamsort/pkg/delivery/pull/sqlmarker"
)

// Consumer is the consumer of every queue.
const Consumer = "ledger"

// schema are the books: a line a message, and an account a queue, to which the bytes of its
// messages go from the account "in".
var schema = []string{
	`CREATE TABLE IF NOT EXISTS ledger (line INTEGER PRIMARY KEY AUTOINCREMENT, queue TEXT NOT NULL, seq INTEGER NOT NULL, digest TEXT NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS accounts (name TEXT PRIMARY KEY, balance INTEGER NOT NULL)`,
}

// Open opens the books.
func Open(ctx context.Context, path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+path+
		"?_txlock=immediate&_pragma=busy_timeout(30000)&_pragma=journal_mode(WAL)")
	if err != nil {
		return nil, err
	}
	for _, statement := range schema {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return db, nil
}

// Consume is a copy of the consumer: it is killed, it never ends by itself. The arguments are the
// API's URL and the path of the books.
func Consume(ctx context.Context, arguments []string) error {
	api, path := arguments[0], arguments[1]
	claims, err := pullhttp.New(api)
	if err != nil {
		return err
	}
	db, err := Open(ctx, path)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := sqlmarker.Install(ctx, db, sqlmarker.SQLite); err != nil {
		return err
	}
	markers, err := sqlmarker.Open(ctx, db, sqlmarker.SQLite, "examples/ledger")
	if err != nil {
		return err
	}
	// A copy that is killed holds its claims until their leases end: the shortest one.
	return markers.ConsumeAll(ctx, mortal.AtRandom(claims), "", Consumer, 4, book,
		&pull.ConsumeOptions{
			MaxMessages: 10, Lease: 30 * time.Second, Poll: 100 * time.Millisecond,
		})
}

// book books a batch.
func book(ctx context.Context, tx *sql.Tx, b delivery.Batch) error {
	for _, m := range b.Messages {
		if _, err := tx.ExecContext(ctx, `INSERT INTO ledger (queue, seq, digest) VALUES (?, ?, ?)`,
			b.Queue, m.Seq, digest(m.Body)); err != nil {
			return fmt.Errorf("book message %d of queue %q: %w", m.Seq, b.Queue, err)
		}
		for name, amount := range map[string]int{"in": -len(m.Body), "queue " + b.Queue: len(m.Body)} {
			if _, err := tx.ExecContext(ctx, `INSERT INTO accounts (name, balance) VALUES (?, ?)
				ON CONFLICT (name) DO UPDATE SET balance = balance + excluded.balance`, name, amount); err != nil {
				return fmt.Errorf("move %d bytes to %q: %w", amount, name, err)
			}
		}
	}
	return nil
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
