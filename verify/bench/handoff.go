package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"cirello.io/dynamolock/v2"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dev/meter"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/handoff/pull"
	"github.com/streamsort/streamsort/pkg/table"
)

// handing prints what a batch costs under a claim of two phases, beside a lock
// of dynamolock that is acquired and released around it.
func handing(ctx context.Context, out io.Writer) error {
	server, err := localdb.Start(ctx, localdb.Choose(), "")
	if err != nil {
		return err
	}
	defer server.Close()
	count := meter.New(dynamo.Transport())
	client, err := dynamo.New(&dynamo.Options{Endpoint: server.Endpoint, Transport: count})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "==> a batch delivered to a database, beside dynamolock's lock around it, on %s\n", server.Kind)
	fmt.Fprintf(out, "    %-58s %6s %6s %12s %11s %6s\n", "", "writes", "reads", "write units", "read units", "ms")
	line := func(name string, times int, do func(i int) error) error {
		before, began := count.Counts(), time.Now()
		for i := range times {
			if err := do(i); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		took := time.Since(began)
		c := count.Counts().Sub(before)
		total, each := c.Total(), float64(times)
		writes := c["PutItem"].Requests + c["UpdateItem"].Requests + c["DeleteItem"].Requests
		fmt.Fprintf(out, "    %-58s %6.1f %6.1f %12.1f %11.1f %6.1f\n", name, float64(writes)/each, float64(total.Requests-writes)/each,
			total.Writes/each, total.Reads/each, took.Seconds()*1000/each)
		return nil
	}
	if err := claims(ctx, client, line); err != nil {
		return err
	}
	return locks(ctx, client, line)
}

const (
	batches     = 20
	batchOf     = 10
	handedQueue = "orders"
)

// claims are ours.
func claims(ctx context.Context, client *dynamodb.Client, line func(string, int, func(int) error) error) error {
	if err := table.Create(ctx, client, append((cursor.Names{}).Tables(), (handoff.Names{}).Tables()...)...); err != nil {
		return err
	}
	store, err := cursor.NewDynamo(client, cursor.Names{})
	if err != nil {
		return err
	}
	sorter, err := cursor.New(store, nil)
	if err != nil {
		return err
	}
	d, err := handoff.New(handoff.NewDynamo(client, handoff.Names{}), sorter, nil)
	if err != nil {
		return err
	}
	claims, err := pull.New(d, nil)
	if err != nil {
		return err
	}
	var messages []cursor.Message
	for seq := range int64(2*batches*batchOf + batchOf) {
		messages = append(messages, cursor.Message{Queue: handedQueue, Seq: seq + 1, Body: make([]byte, 100)})
	}
	if _, err := sorter.PutGroup(ctx, messages); err != nil {
		return err
	}
	if _, err := d.Create(ctx, handedQueue, "ledger", handoff.First); err != nil {
		return err
	}
	request := func(i int) pull.Request {
		return pull.Request{
			Queue: handedQueue, Consumer: "ledger", ID: fmt.Sprint("r", i), Bounds: pull.Bounds{MaxMessages: batchOf},
		}
	}
	expect := func(a pull.Answer, err error) error {
		if err == nil && a.Verdict != pull.OK {
			err = fmt.Errorf("answered %s", a.Verdict)
		}
		return err
	}
	var a pull.Answer
	err = line(fmt.Sprintf("ours: claim, prepare, commit of %d", batchOf), batches, func(i int) error {
		var err error
		if a, err = claims.Claim(ctx, request(i)); expect(a, err) != nil {
			return expect(a, err)
		}
		if err := expect(claims.Prepare(ctx, a.Held())); err != nil {
			return err
		}
		return expect(claims.Commit(ctx, a.Held()))
	})
	if err != nil {
		return err
	}
	if a, err = claims.Claim(ctx, request(batches)); expect(a, err) != nil {
		return expect(a, err)
	}
	err = line(fmt.Sprintf("ours: prepare of %d, commit and claim of the next %d", batchOf, batchOf), batches, func(i int) error {
		if err := expect(claims.Prepare(ctx, a.Held())); err != nil {
			return err
		}
		done, next, err := claims.CommitAndClaim(ctx, a.Held(), request(batches+1+i))
		if a = next; expect(done, err) != nil {
			return expect(done, err)
		}
		return expect(next, nil)
	})
	if err != nil {
		return err
	}
	if err := expect(claims.Prepare(ctx, a.Held())); err != nil {
		return err
	}
	if err := expect(claims.Commit(ctx, a.Held())); err != nil {
		return err
	}
	return line("ours: nothing ready", batches, func(i int) error {
		_, err := claims.Claim(ctx, request(3*batches+i))
		return err
	})
}

// locks are dynamolock's.
func locks(ctx context.Context, client *dynamodb.Client, line func(string, int, func(int) error) error) error {
	const name = "locks"
	err := table.Create(ctx, client, table.Definition{Name: name, Partition: table.Key{Name: "key", Type: table.String}})
	if err != nil {
		return err
	}
	c, err := dynamolock.New(client, name, dynamolock.DisableHeartbeat(), dynamolock.WithLeaseDuration(30*time.Second))
	if err != nil {
		return err
	}
	return line("dynamolock: acquire, release, with no place and no outcome", batches, func(int) error {
		lock, err := c.AcquireLockWithContext(ctx, handedQueue)
		if err != nil {
			return err
		}
		_, err = c.ReleaseLockWithContext(ctx, lock)
		return err
	})
}
