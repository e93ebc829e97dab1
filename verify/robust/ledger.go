package main

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/streamsort/streamsort/examples/ledger"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/mortal"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/internal/dev/trial"
	"github.com/streamsort/streamsort/localstack"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// claimPatience is how long nothing may come where processes are killed: longer than their claims
// take to run out.
const claimPatience = 3 * time.Minute

// books sends MESSAGES of three queues out of order and some of them twice, and has two copies of
// the consumer of examples/ledger book them in one database, while KILLS copies and the stack's
// functions are killed. Then it audits the books: each message once, in order, as it was sent, and
// no byte from nowhere.
func books(ctx context.Context, w *world) {
	messages := traffic.Generate(w.number("MESSAGES"), "")
	last := map[string]int64{}
	for _, m := range messages {
		last[m.Queue] = max(last[m.Queue], m.Seq)
	}
	folder := w.Folder()
	path := filepath.Join(folder, "ledger.db")
	db := check.Get(ledger.Open(ctx, path))
	w.Later(func() { _ = db.Close() })
	w.Start(ctx, trial.Setup{Templates: []string{"localstack/streamsort.template.json"},
		Config: localstack.Config{
			Chaos: localstack.Chaos{Seed: 1, Kill: 0.05, Duplicate: 0.1, Late: 0.1,
				LateBy: 50 * time.Millisecond},
		}})
	d, _ := w.tables()
	queues := slices.Sorted(maps.Keys(last))
	copies := mortal.Keep(ctx, mortal.Plan{
		Arguments: []string{"ledger-copy", w.Stack.URL(), path},
		Copies:    2, Kills: w.number("KILLS"), OneStepIn: 25,
	})
	w.Later(copies.Close)
	check.Must(w.SendAll(ctx, 4, batchSize, messages))
	total, _ := w.Account.Count()
	booked := w.wait(total, "messages are booked")
	booked.Sweep = w.Stack.Sweep
	check.Must(booked.Until(ctx, func(ctx context.Context) (lines int, left string, err error) {
		check.Must(db.QueryRowContext(ctx, "SELECT count(*) FROM ledger").Scan(&lines))
		for queue, seq := range last {
			c := consumerOf(ctx, d, queue, ledger.Consumer)
			if c.State != delivery.Idle || c.Delivered < seq {
				left = fmt.Sprintf("queue %q is %s at %d of %d", queue, c.State, c.Delivered, seq)
			}
		}
		return lines, left, nil
	}))
	w.Row("killed", "%d copies of the consumer, %d processes of functions", copies.Killed(),
		w.Stack.Killed())
	w.auditBooks(ctx, db, d, queues)
}

// consumerOf is a queue's consumer of a name; none where it is not there.
func consumerOf(ctx context.Context, d *delivery.Deliverer,
	queue, name string) (c delivery.Status) {
	for _, one := range check.Get(d.Status(ctx, queue)) {
		if one.Name == name {
			c = one
		}
	}
	return c
}

func (w *world) auditBooks(ctx context.Context, db *sql.DB, d *delivery.Deliverer,
	queues []string) {
	watched := w.Watch("books", traffic.Once, traffic.All)
	readRows(ctx, db, "SELECT queue, seq, digest FROM ledger ORDER BY line", func(row []string) {
		seq, _ := strconv.ParseInt(row[1], 10, 64) // it is an integer
		place, sums := traffic.At(row[0], seq), traffic.Sums{Exact: row[2]}
		watched.Take(traffic.Output{Place: place, Sums: sums, At: time.Now()})
	})
	readRows(ctx, db, "SELECT sum(balance) FROM accounts", func(row []string) {
		w.Row("sum of all accounts", "%s", row[0])
		if row[0] != "0" {
			w.Not("the sum of all accounts is %s", row[0])
		}
	})
	claims, inDoubt := int64(0), 0
	for _, queue := range queues {
		c := consumerOf(ctx, d, queue, ledger.Consumer)
		claims += c.Token.N
		for _, q := range c.Quarantine {
			if q != (delivery.Quarantined{}) {
				inDoubt++
			}
		}
	}
	w.Row("claims", "%d, of which %d are left in doubt", claims, inDoubt)
	if inDoubt > 0 {
		w.Not("%d claims are left in doubt", inDoubt)
	}
}

// readRows hands the columns of each row to take, as texts.
func readRows(ctx context.Context, db *sql.DB, query string, take func(row []string)) {
	rows := check.Get(db.QueryContext(ctx, query))
	defer rows.Close()
	columns := check.Get(rows.Columns())
	for rows.Next() {
		row, to := make([]string, len(columns)), make([]any, len(columns))
		for i := range row {
			to[i] = &row[i]
		}
		check.Must(rows.Scan(to...))
		take(row)
	}
	check.Must(rows.Err())
}
