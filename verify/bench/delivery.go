package main

import (
	"context"
	"fmt"
	"time"

	"cirello.io/dynamolock/v2"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/dev/figures"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dev/meter"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
)

// handing measures what a batch costs under a claim of two phases, beside a lock
// of dynamolock that is acquired and released around it.
func handing(ctx context.Context) (figures.Measured, error) {
	server, err := localdb.Start(ctx, localdb.Choose(), "")
	if err != nil {
		return figures.Measured{}, err
	}
	defer server.Close()
	h := &deliveries{meter: meter.New(dynamo.Transport()), Measured: figures.Measured{
		Title: "Delivery in two phases, on a server",
		About: fmt.Sprintf("Batches of %d inside items of 100 messages, by requests to %s one after the other; mean of %d. "+
			"dynamolock acquires and releases.", batchOf, server.Kind, batches),
		Case: "a batch", Others: []string{"dynamolock"},
	}}
	client, err := dynamo.New(&dynamo.Options{Endpoint: server.Endpoint, Transport: h.meter})
	if err != nil {
		return h.Measured, err
	}
	locked, err := h.locks(ctx, client)
	if err == nil {
		err = h.claims(ctx, client, locked)
	}
	return h.Measured, err
}

// deliveries is the table that is made, and the meter of its figures.
type deliveries struct {
	figures.Measured
	meter *meter.Meter
}

// each is what do takes in the mean, and as text.
func (h *deliveries) each(do func(i int) error) (meter.Count, string, error) {
	before, began := h.meter.Counts(), time.Now()
	for i := range batches {
		if err := do(i); err != nil {
			return meter.Count{}, "", err
		}
	}
	took, total := time.Since(began), h.meter.Counts().Sub(before).Total()
	c := meter.Count{Writes: total.Writes / batches, Reads: total.Reads / batches}
	return c, fmt.Sprintf("%s, %.1f ms", figures.Units{Writes: c.Writes, Reads: c.Reads}, ms(took)/batches), nil
}

// line adds a row of ours.
func (h *deliveries) line(name string, limit figures.Units, lock string, do func(i int) error) error {
	c, ours, err := h.each(do)
	h.Rows = append(h.Rows, figures.MeasuredRow{
		Name: name, Limit: limit.String(), Ours: ours, Others: []string{lock}, Ratio: c.Dollars() / limit.Dollars(),
		Why: "a claim reads the consumer strongly, and by itself the position too; inside an item of many messages it looks for that item",
	})
	return err
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

const (
	batches     = 20
	batchOf     = 10
	handedQueue = "orders"
)

// claims are ours.
func (h *deliveries) claims(ctx context.Context, client *dynamodb.Client, locked string) error {
	if err := table.Create(ctx, client, append((cursor.Names{}).Tables(), (delivery.Names{}).Tables()...)...); err != nil {
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
	d, err := delivery.New(delivery.NewDynamo(client, delivery.Names{}), sorter, nil)
	if err != nil {
		return err
	}
	claims, err := delivery.NewClaims(d, nil)
	if err != nil {
		return err
	}
	var messages []cursor.Message
	for seq := range int64(2*batches*batchOf + batchOf) {
		messages = append(messages, cursor.Message{Queue: handedQueue, Seq: seq + 1, Body: make([]byte, 100)})
	}
	if err := sorter.Put(ctx, messages...)[0].Err; err != nil {
		return err
	}
	if _, err := d.Create(ctx, handedQueue, "ledger", delivery.First); err != nil {
		return err
	}
	request := func(i int) delivery.Request {
		return delivery.Request{
			Queue: handedQueue, Consumer: "ledger", ID: fmt.Sprint("r", i), MaxMessages: batchOf,
		}
	}
	expect := func(a delivery.Answer, err error) error {
		if err == nil && a.Outcome != delivery.OK {
			err = fmt.Errorf("answered %s", a.Outcome)
		}
		return err
	}
	var a delivery.Answer
	err = h.line("claim, prepare, commit", figures.Units{Writes: 3, Reads: 0.5}, locked, func(i int) error {
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
	err = h.line("prepare, commit and claim of the next", figures.Units{Writes: 2, Reads: 0.5}, locked, func(i int) error {
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
	return h.line("nothing ready", figures.Units{Reads: 0.5}, "", func(i int) error {
		_, err := claims.Claim(ctx, request(3*batches+i))
		return err
	})
}

// locks are dynamolock's. What they take is what the counted table has of them.
func (h *deliveries) locks(ctx context.Context, client *dynamodb.Client) (string, error) {
	const name = "locks"
	err := table.Create(ctx, client, table.Definition{Name: name, Partition: table.Key{Name: "key", Type: table.String}})
	if err != nil {
		return "", err
	}
	c, err := dynamolock.New(client, name, dynamolock.DisableHeartbeat(), dynamolock.WithLeaseDuration(30*time.Second))
	if err != nil {
		return "", err
	}
	units, text, err := h.each(func(int) error {
		lock, err := c.AcquireLockWithContext(ctx, handedQueue)
		if err != nil {
			return err
		}
		_, err = c.ReleaseLockWithContext(ctx, lock)
		return err
	})
	if err == nil && (units.Writes != figures.Lock.Writes || units.Reads != figures.Lock.Reads) {
		err = fmt.Errorf("dynamolock takes %s, and the counted table has %s", text, figures.Lock)
	}
	return text, err
}
