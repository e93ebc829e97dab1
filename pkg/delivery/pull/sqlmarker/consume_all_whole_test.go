//go:build whole

package sqlmarker_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dev/localpg"
	"github.com/streamsort/streamsort/internal/dev/mortal"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/pause"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/pull"
	"github.com/streamsort/streamsort/pkg/delivery/pull/sqlmarker"
	"github.com/streamsort/streamsort/pkg/table"
)

// faster is how much faster than true time the copies' clock runs: a lease of 30 seconds is over
// after 1.5.
const faster = 20

// accounts is how many queues the copies share, of 10 messages each. The environment variable
// ACCOUNTS sets another number.
func accounts() int {
	if n, err := strconv.Atoi(os.Getenv("ACCOUNTS")); err == nil {
		return n
	}
	return 200
}

// onServer are the parts on the tables of a suffix, with the fast clock.
func onServer(endpoint, suffix string,
	began time.Time) (*delivery.Deliverer, *cursor.Sorter, error) {
	client, err := dynamo.New(&dynamo.Options{Endpoint: endpoint})
	if err != nil {
		return nil, nil, err
	}
	clock := func() time.Time { return began.Add(time.Since(began) * faster) }
	store, err := cursor.NewDynamo(client, queueTables(suffix))
	if err != nil {
		return nil, nil, err
	}
	sorter, err := cursor.New(store, &cursor.Options{Now: clock})
	if err != nil {
		return nil, nil, err
	}
	d, err := delivery.New(delivery.NewDynamo(client, consumerTables(suffix)), sorter,
		&delivery.Options{Now: clock})
	return d, sorter, err
}

func queueTables(suffix string) cursor.Names {
	return cursor.Names{Messages: "messages" + suffix, Cursors: "cursors" + suffix,
		Trouble: "trouble" + suffix, Arrivals: "arrivals" + suffix}
}

func consumerTables(suffix string) delivery.Names {
	return delivery.Names{Consumers: "consumers" + suffix, Audit: "operations" + suffix}
}

// runCopy consumes all queues until it is killed.
func runCopy(endpoint, suffix, source, nanos string) error {
	ctx := context.Background()
	n, err := strconv.ParseInt(nanos, 10, 64)
	if err != nil {
		return err
	}
	began := time.Unix(0, n)
	d, _, err := onServer(endpoint, suffix, began)
	if err != nil {
		return err
	}
	claims, err := delivery.NewClaims(d, nil)
	if err != nil {
		return err
	}
	db, err := sql.Open("pgx", source)
	if err != nil {
		return err
	}
	defer db.Close()
	markers, err := sqlmarker.Open(ctx, db, sqlmarker.PostgreSQL, "stack 1")
	if err != nil {
		return err
	}
	return markers.ConsumeAll(ctx, mortal.AtRandom(claims), "a/", "c", 4,
		func(ctx context.Context, tx *sql.Tx, b delivery.Batch) error {
			for _, m := range b.Messages {
				if _, err := tx.ExecContext(ctx, "INSERT INTO books (queue, seq) VALUES ($1, $2)", b.Queue,
					m.Seq); err != nil {
					return err
				}
			}
			return nil
		},
		&pull.ConsumeOptions{
			MaxMessages: 4, Lease: 30 * time.Second, Beat: 500 * time.Millisecond,
			Now:  func() time.Time { return began.Add(time.Since(began) * faster) },
			Wait: func(ctx context.Context, d time.Duration) error { return pause.For(ctx, d/faster) },
		})
}

// TestTwoProcessesKilledAtRandom book each message of many accounts once, in order, in PostgreSQL.
// ACCOUNTS=2000 in the environment runs it with 20,000 messages.
func TestTwoProcessesKilledAtRandom(t *testing.T) {
	const each, kills = 10, 4
	endpoint, suffix, source := ddbtest.Endpoint(t, ddbtest.Servers(t)[0]), ddbtest.Suffix(),
		localpg.ForTest(t)
	client := check.Get(dynamo.New(&dynamo.Options{Endpoint: endpoint}))
	queues := queueTables(suffix)
	definitions := append(queues.Tables(), queues.ArrivalsTable())
	check.OK(t,
		table.Create(t.Context(), client, append(definitions, consumerTables(suffix).Tables()...)...))
	began := time.Now()
	d, sorter := check.Get2(onServer(endpoint, suffix, began))
	db := opened(t, "pgx", source)
	check.OK(t, sqlmarker.Install(t.Context(), db, sqlmarker.PostgreSQL))
	check.Get(db.ExecContext(t.Context(),
		"CREATE TABLE books (line SERIAL, queue TEXT NOT NULL, seq INTEGER NOT NULL)"))
	copies := mortal.Keep(t.Context(), mortal.Plan{
		Arguments: []string{"copy", endpoint, suffix, source, strconv.FormatInt(began.UnixNano(), 10)},
		Copies:    2, Kills: kills, OneStepIn: 150,
	})
	defer copies.Close()
	for n := range accounts() {
		var messages []cursor.Message
		for seq := int64(each); seq > 0; seq-- { // out of order
			messages = append(messages,
				cursor.Message{Queue: fmt.Sprintf("a/%04d", n), Seq: seq, Body: []byte("1")})
		}
		for _, r := range sorter.Put(t.Context(), messages...) {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
	}
	await.Until(t, "the books", func() (bool, any) {
		var lines int
		check.OK(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM books").Scan(&lines))
		return lines >= accounts()*each && copies.Killed() >= kills, lines
	})
	copies.Close()
	t.Logf("%d accounts, %d messages: %v, %d copies killed", accounts(), accounts()*each,
		time.Since(began), copies.Killed())
	rows := check.Get(db.QueryContext(t.Context(), "SELECT queue, seq FROM books ORDER BY line"))
	defer rows.Close()
	next := map[string]int64{}
	for rows.Next() {
		var queue string
		var seq int64
		check.OK(t, rows.Scan(&queue, &seq))
		if next[queue]++; next[queue] != seq {
			t.Errorf("queue %s: %d is booked where %d is next", queue, seq, next[queue])
		}
	}
	if err := rows.Err(); err != nil || len(next) != accounts() {
		t.Errorf("%d accounts, %v", len(next), err)
	}
	var claims int64
	for queue := range next {
		all, err := d.Status(t.Context(), queue)
		if err != nil || len(all) != 1 {
			t.Fatal(queue, all, err)
		}
		claims += all[0].Token.N
	}
	t.Logf("%d claims", claims)
}
