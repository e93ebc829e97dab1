package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dev/mortal"
	"github.com/streamsort/streamsort/internal/dev/progress"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/localstack"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// options say how the ledger runs.
type options struct {
	// input is a file of messages; empty means made-up ones, count of them.
	input string
	count int
	// kills is how many copies of the consumer die.
	kills int
}

// copies is how many consumers share the books.
const copies = 2

// oneStepIn is how many steps of the protocol a copy survives on average, while
// there are kills left.
const oneStepIn = 25

// patience is how long nothing may be booked: longer than the claims of killed
// copies take to run out.
const patience = 3 * time.Minute

// run runs the ledger. The error says what the audit found.
func run(ctx context.Context, o options, out io.Writer) error {
	began := time.Now()
	arrivals, err := o.arrivals()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "ledger")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	path := filepath.Join(folder, "ledger.db")
	db, err := open(ctx, path)
	if err != nil {
		return err
	}
	defer db.Close()
	root, err := localdb.Root()
	if err != nil {
		return err
	}
	stack, err := localstack.Run(ctx, localstack.Config{
		Templates: []string{filepath.Join(root, "localstack", "streamsort.template.json")},
		Env:       map[string]string{"SweepFunction.STREAMSORT_EVENT_BUS": ""},
		Logger:    slog.New(slog.DiscardHandler),
		Chaos:     localstack.Chaos{Seed: 1, Kill: 0.05, Duplicate: 0.1, Late: 0.1, LateBy: 50 * time.Millisecond},
	})
	if err != nil {
		return err
	}
	defer stack.Close()
	d, err := deliverer(stack.DynamoDB())
	if err != nil {
		return err
	}
	wanted := want(arrivals)
	fmt.Fprintf(out, "==> the stack runs (%.1fs); %d copies of the consumer share %s\n", time.Since(began).Seconds(), copies, filepath.Base(path))

	consumers := mortal.Keep(ctx, mortal.Plan{
		Arguments: []string{"consume", stack.URL(), path},
		Copies:    copies, Kills: o.kills, OneStepIn: oneStepIn,
	})
	defer consumers.Close()
	fmt.Fprintf(out, "==> sending %d messages to %d queues, out of order\n", len(arrivals), len(wanted))
	if err := send(ctx, stack.URL(), arrivals); err != nil {
		return err
	}
	if err := await(ctx, stack, d, db, wanted, out); err != nil {
		return err
	}
	fmt.Fprintf(out, "==> booked after %.1fs, %d copies killed; the audit:\n", time.Since(began).Seconds(), consumers.Killed())
	return audit(ctx, db, d, wanted, out)
}

func (o options) arrivals() ([]traffic.Arrival, error) {
	if o.input != "" {
		return traffic.Read(o.input, true)
	}
	return traffic.Generate(o.count)
}

// send sends the messages in batches.
func send(ctx context.Context, base string, arrivals []traffic.Arrival) error {
	c, err := client.New(base)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(arrivals, 25) {
		documents := make([]json.RawMessage, len(part))
		for i, a := range part {
			documents[i] = a.Document
		}
		if _, err := c.Put(ctx, documents); err != nil {
			return err
		}
	}
	return nil
}

// await waits until every queue is booked and nothing is in doubt.
func await(ctx context.Context, stack *localstack.Stack, d *delivery.Deliverer, db *sql.DB, wanted map[string][]traffic.Arrival, out io.Writer) error {
	total := 0
	for _, list := range wanted {
		total += len(list)
	}
	booked := progress.Wait{Total: total, What: "messages are booked", Patience: patience, Sweep: stack.Sweep, Out: out}
	return booked.Until(ctx, func(ctx context.Context) (lines int, left string, err error) {
		if err := db.QueryRowContext(ctx, "SELECT count(*) FROM ledger").Scan(&lines); err != nil {
			return 0, "", err
		}
		left, err = unfinished(ctx, d, wanted)
		return lines, left, err
	})
}

// unfinished names a queue that is not done with, or nothing.
func unfinished(ctx context.Context, d *delivery.Deliverer, wanted map[string][]traffic.Arrival) (string, error) {
	for queue, list := range wanted {
		all, err := d.Status(ctx, queue)
		if err != nil {
			return "", err
		}
		for _, c := range all {
			if c.Name == consumerName && (c.State != delivery.Idle || c.Delivered < int64(len(list))) {
				return fmt.Sprintf("queue %q is %s at %d of %d", queue, c.State, c.Delivered, len(list)), nil
			}
		}
	}
	return "", nil
}
