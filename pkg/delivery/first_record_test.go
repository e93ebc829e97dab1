package delivery_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// TestSweepWakesWhoWasNeverCreated: a queue whose only record was dropped, so
// that no consumer exists, is woken up by the sweep.
func TestSweepWakesWhoWasNeverCreated(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	sorter, err := cursor.New(cursor.NewMemory(), &cursor.Options{Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	d, err := delivery.New(delivery.NewMemory(), sorter, &delivery.Options{Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	if err := sorter.Put(t.Context(), cursor.Message{Queue: "q", Seq: 1, Body: []byte("1")})[0].Err; err != nil {
		t.Fatal(err)
	}
	// The stream's record of this move never comes.
	notified := 0
	for range 500 { // 41 hours of sweeps, two full rounds among them
		now = now.Add(5 * time.Minute)
		report, err := d.Sweep(context.Background(), delivery.SweepOptions{Readers: []delivery.Reader{{Name: "billing"}, {Name: "other", Prefix: "shop/"}}})
		if err != nil {
			t.Fatal(err)
		}
		notified += report.Notified
	}
	if notified == 0 {
		t.Fatal("nobody was woken up: the message waits for the queue's next one, in silence")
	}
	// The notification's record makes the consumer, and all is well.
	handed := 0
	reader := delivery.Reader{Name: "billing", Handle: func(_ context.Context, b delivery.Batch) error {
		handed += len(b.Messages)
		return nil
	}}
	if done := d.Deliver(t.Context(), "q", reader, -1); ending(done) != endedCaughtUp || handed != 1 {
		t.Errorf("%+v, delivered %d", done, handed)
	}
	now = now.Add(5 * time.Minute)
	report, err := d.Sweep(t.Context(), delivery.SweepOptions{Readers: []delivery.Reader{reader}})
	if err != nil || report.Notified != 0 || report.Missing != 0 {
		t.Errorf("%+v, %v; want nothing to do", report, err)
	}
}

// TestSweepBlocksByTheReadersAttempts: a worker that dies is given as many
// attempts as its reader has.
func TestSweepBlocksByTheReadersAttempts(t *testing.T) {
	for attempts, want := range map[int]delivery.State{2: delivery.Blocked, 3: delivery.Idle} {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		clock := func() time.Time { return now }
		sorter, err := cursor.New(cursor.NewMemory(), &cursor.Options{Now: clock})
		if err != nil {
			t.Fatal(err)
		}
		store := delivery.NewMemory()
		d, err := delivery.New(store, sorter, &delivery.Options{Now: clock})
		if err != nil {
			t.Fatal(err)
		}
		if err := sorter.Put(t.Context(), cursor.Message{Queue: "q", Seq: 1, Body: []byte("1")})[0].Err; err != nil {
			t.Fatal(err)
		}
		c, err := d.Create(t.Context(), "q", "billing", delivery.First)
		if err != nil {
			t.Fatal(err)
		}
		for _, req := range []string{"a", "b"} { // each dies
			now = now.Add(time.Hour)
			claim := request.Claim{Req: req, To: 1, Now: now, LeaseUntil: now.Add(time.Minute)}
			if c, _, err = store.Requests(request.Inside{}).Claim(t.Context(), c, claim); err != nil {
				t.Fatal(err)
			}
		}
		now = now.Add(time.Hour)
		options := delivery.SweepOptions{Readers: []delivery.Reader{{Name: "billing", MaxAttempts: attempts}}}
		if _, err := d.Sweep(t.Context(), options); err != nil {
			t.Fatal(err)
		}
		if c, err = store.Requests(request.Inside{}).Consumer(t.Context(), "q", "billing"); err != nil || c.State != want {
			t.Errorf("with %d attempts the consumer is %s, %v; want %s", attempts, c.State, err, want)
		}
	}
}

// TestRefusedStartMakesNothing: a queue that is not there is not made for a
// consumer that is refused.
func TestRefusedStartMakesNothing(t *testing.T) {
	sorter, err := cursor.New(cursor.NewMemory(), nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := delivery.New(delivery.NewMemory(), sorter, nil)
	if err != nil {
		t.Fatal(err)
	}
	var invalid *cursor.InvalidError
	if _, err := d.Create(t.Context(), "q", "billing", delivery.At(7)); !errors.As(err, &invalid) || invalid.Field != "start" {
		t.Errorf("error %v, want one of the start", err)
	}
	if _, err := sorter.Status(t.Context(), "q"); !errors.Is(err, cursor.ErrNoQueue) {
		t.Errorf("the queue was made: %v", err)
	}
	if c, err := d.Create(t.Context(), "q", "billing", delivery.At(1)); err != nil || c.Delivered != 0 {
		t.Errorf("%+v, %v; want that it begins with the first", c, err)
	}
}
