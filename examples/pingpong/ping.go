// Package pingpong shows replies with the commit: two consumers answer each other's messages
// through two queues in arrival order. One is a Lambda function that process calls (pong); the
// other one's effects and replies are in one transaction of an SQLite database. `make verify
// S=pingpong` has both, and the stack's functions, killed at random, and one in a hundred responses
// lost, and audits both queues.
package pingpong

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/streamsort/streamsort/internal/dev/mortal"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/pull"
	"github.com/streamsort/streamsort/pkg/delivery/pull/pullhttp"
	"github.com/streamsort/streamsort/pkg/delivery/pull/sqlmarker"
)

// The queues, and the consumer of pongs.
const (
	Pings, Pongs = "pings", "pongs"
	Consumer     = "ping"
)

// Ball is a message's body: which ball it is, how often it was hit, and the message that it
// answers.
type Ball struct {
	Ball    int   `json:"ball"`
	Hits    int   `json:"hits"`
	Answers int64 `json:"answers"`
}

// schema is what the consumer writes down: a line a message.
const schema = `CREATE TABLE IF NOT EXISTS hits (line INTEGER PRIMARY KEY AUTOINCREMENT, seq INTEGER NOT NULL, ball INTEGER NOT NULL, hits INTEGER NOT NULL)`

// Open opens the database.
func Open(ctx context.Context, path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+path+
		"?_txlock=immediate&_pragma=busy_timeout(30000)&_pragma=journal_mode(WAL)")
	if err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// Consume is a copy of the consumer of pongs: it is killed, it never ends by itself. The arguments
// are the API's URL, the path of the database, and how often a ball is hit in all.
func Consume(ctx context.Context, arguments []string) error {
	claims, err := pullhttp.New(arguments[0])
	if err != nil {
		return err
	}
	last, err := strconv.Atoi(arguments[2])
	if err != nil {
		return err
	}
	db, err := Open(ctx, arguments[1])
	if err != nil {
		return err
	}
	defer db.Close()
	if err := sqlmarker.Install(ctx, db, sqlmarker.SQLite); err != nil {
		return err
	}
	markers, err := sqlmarker.Open(ctx, db, sqlmarker.SQLite, "examples/pingpong")
	if err != nil {
		return err
	}
	hit := func(ctx context.Context, tx *sql.Tx, b delivery.Batch) error {
		return hit(ctx, tx, b, last)
	}
	return markers.Consume(ctx, mortal.AtRandom(claims), Pongs, Consumer, hit, &pull.ConsumeOptions{
		Lease: 30 * time.Second, Poll: 50 * time.Millisecond,
	})
}

// hit writes every message down and hits its ball back, in one transaction.
func hit(ctx context.Context, tx *sql.Tx, b delivery.Batch, last int) error {
	for _, m := range b.Messages {
		var it Ball
		if err := json.Unmarshal(m.Body, &it); err != nil {
			return fmt.Errorf("message %d: %w", m.Seq, err)
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO hits (seq, ball, hits) VALUES (?, ?, ?)`, m.Seq,
			it.Ball, it.Hits); err != nil {
			return fmt.Errorf("message %d: %w", m.Seq, err)
		}
		if it.Hits >= last {
			continue
		}
		body, err := json.Marshal(Ball{it.Ball, it.Hits + 1, m.Seq})
		if err != nil {
			return err
		}
		if err := b.Reply(delivery.Reply{Queue: Pings, Body: body}); err != nil {
			return err
		}
	}
	return nil
}
