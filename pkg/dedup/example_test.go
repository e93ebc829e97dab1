package dedup_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strconv"
	"time"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/dedup"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// Charge is what a payment results in.
type Charge struct {
	ID    string
	Cents int
}

// An event that comes twice has its effect once.
func Example() {
	ctx := context.Background()
	// In a Lambda function: dedup.NewDynamo(client, dedup.Names{Table: …}).
	payments, err := dedup.New[string, Charge](dedup.NewMemory(), "payments", nil)
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		out, err := payments.Once(ctx, "order-17", func(context.Context) (Charge, error) {
			fmt.Println("charging the card")
			return Charge{"ch_1", 4200}, nil
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %d cents, replayed %v\n", out.Value.ID, out.Value.Cents, out.Replayed)
	}
	// Output:
	// charging the card
	// ch_1: 4200 cents, replayed false
	// ch_1: 4200 cents, replayed true
}

// An effect that is not a function call is ended by hand.
func ExampleDeduplicator_TryStart() {
	ctx := context.Background()
	exports, err := dedup.New(dedup.NewMemory(), "exports",
		&dedup.Options[string, string]{Lease: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		started, err := exports.TryStart(ctx, "2026-01")
		if err != nil {
			log.Fatal(err)
		}
		if started.Attempt == nil {
			fmt.Println("exported before:", started.Duplicate.Value)
			continue
		}
		fmt.Println("attempt", started.Attempt.Run().Attempt)
		if err := started.Attempt.Extend(ctx, time.Hour); err != nil {
			log.Fatal(err)
		}
		if err := started.Attempt.Complete(ctx, "exports/2026-01.csv"); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// attempt 1
	// exported before: exports/2026-01.csv
}

// What becomes of an error depends on what it is.
func ExampleOptions_onError() {
	ctx := context.Background()
	errDeclined := errors.New("card declined")
	payments, err := dedup.New(dedup.NewMemory(), "payments", &dedup.Options[string, Charge]{
		MaxAttempts: 3,
		OnError: func(err error) dedup.Failure {
			if errors.Is(err, errDeclined) {
				return dedup.Remember // to ask again would not help
			}
			return dedup.Forget
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, effect := range []func(context.Context) (Charge, error){
		func(context.Context) (Charge, error) { return Charge{}, errors.New("the bank does not answer") },
		func(context.Context) (Charge, error) { return Charge{}, errDeclined },
		func(context.Context) (Charge, error) { return Charge{"ch_1", 4200}, nil },
	} {
		_, err := payments.Once(ctx, "order-17", effect)
		fmt.Println(err)
	}
	// Output:
	// the bank does not answer
	// card declined
	// card declined
}

// A batch of a consumer in order ([delivery.OnStream]), each message once: a batch that is
// delivered again goes on where the first one ended.
func ExampleEach() {
	ctx := context.Background()
	payments, err := dedup.New[string, Charge](dedup.NewMemory(), "payments", nil)
	if err != nil {
		log.Fatal(err)
	}
	down := true
	handler := func(ctx context.Context, batch delivery.Batch) error {
		id := func(m cursor.Message) (string, error) {
			return m.Queue + "/" + strconv.FormatInt(m.Seq, 10), nil
		}
		done, err := dedup.Each(ctx, payments, batch.Messages, id,
			func(_ context.Context, m cursor.Message) (Charge, error) {
				if m.Seq == 2 && down {
					return Charge{}, errors.New("the bank does not answer")
				}
				fmt.Println("charging for", string(m.Body))
				return Charge{"ch_1", 4200}, nil
			})
		fmt.Println("done:", done)
		return err
	}
	batch := delivery.Batch{Queue: "orders", Messages: []cursor.Message{
		{Queue: "orders", Seq: 1, Body: []byte("one")}, {Queue: "orders", Seq: 2, Body: []byte("two")},
	}}
	fmt.Println(handler(ctx, batch))
	down = false
	fmt.Println(handler(ctx, batch))
	// Output:
	// charging for one
	// done: 1
	// the bank does not answer
	// charging for two
	// done: 2
	// <nil>
}

// An operator finds what is stuck, and lets it run again.
func ExampleDeduplicator_List() {
	ctx := context.Background()
	payments, err := dedup.New(dedup.NewMemory(), "payments",
		&dedup.Options[string, Charge]{MaxAttempts: 1})
	if err != nil {
		log.Fatal(err)
	}
	_, _ = payments.Once(ctx, "order-17", func(context.Context) (Charge, error) {
		return Charge{}, errors.New("the bank does not answer")
	})
	for entry, err := range payments.List(ctx, dedup.Quarantined, dedup.TimedOut) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s after %d attempts: %s\n", entry.Row.ID, entry.Status, entry.Row.Attempt,
			entry.Row.Error)
		released, err := payments.Release(ctx, entry.Row.ID,
			dedup.Audit{By: "ada", Reason: "the bank is back"})
		fmt.Println("released:", released, err)
	}
	// Output:
	// order-17: quarantined after 1 attempts: the bank does not answer
	// released: true <nil>
}
