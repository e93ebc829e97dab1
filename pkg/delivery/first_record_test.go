package delivery_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// TestSweepWakesWhoWasNeverCreated: a queue whose only record was dropped, so
// that no consumer exists, is woken up by the sweep.
func TestSweepWakesWhoWasNeverCreated(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	sorter := check.Get(cursor.New(cursor.NewMemory(), &cursor.Options{Now: clock}))
	d := check.Get(delivery.New(delivery.NewMemory(), sorter, &delivery.Options{Now: clock}))
	check.OK(t, sorter.Put(t.Context(), cursor.Message{Queue: "q", Seq: 1, Body: []byte("1")})[0].Err)
	// The stream's record of this move never comes.
	notified := 0
	for range 500 { // 41 hours of sweeps, two full rounds among them
		now = now.Add(5 * time.Minute)
		report := check.Get(d.Sweep(context.Background(), delivery.SweepOptions{Readers: []delivery.Reader{{Name: "billing"}, {Name: "other", Prefix: "shop/"}}}))
		notified += report.Notified
	}
	check.Need(t, notified != 0,
		"nobody was woken up: the message waits for the queue's next one, in silence")
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
	check.That(t, err == nil && report.Notified == 0 && report.Missing == 0,
		"%+v, %v; want nothing to do", report, err)
}

// TestSweepBlocksByTheReadersAttempts: a worker that dies is given as many
// attempts as its reader has.
func TestSweepBlocksByTheReadersAttempts(t *testing.T) {
	for attempts, want := range map[int]delivery.State{2: delivery.Blocked, 3: delivery.Idle} {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		clock := func() time.Time { return now }
		sorter := check.Get(cursor.New(cursor.NewMemory(), &cursor.Options{Now: clock}))
		store := delivery.NewMemory()
		d := check.Get(delivery.New(store, sorter, &delivery.Options{Now: clock}))
		check.OK(t, sorter.Put(t.Context(), cursor.Message{Queue: "q", Seq: 1, Body: []byte("1")})[0].Err)
		c := check.Get(d.Create(t.Context(), "q", "billing", delivery.First))
		for _, req := range []string{"a", "b"} { // each dies
			now = now.Add(time.Hour)
			claim := request.Claim{Req: req, To: 1, Now: now, LeaseUntil: now.Add(time.Minute)}
			var err error
			if c, _, err = store.Requests(request.Inside{}).Claim(t.Context(), c, claim); err != nil {
				t.Fatal(err)
			}
		}
		now = now.Add(time.Hour)
		options := delivery.SweepOptions{Readers: []delivery.Reader{{Name: "billing", MaxAttempts: attempts}}}
		check.Get(d.Sweep(t.Context(), options))
		if c, err := store.Requests(request.Inside{}).Consumer(t.Context(), "q", "billing"); err != nil || c.State != want {
			t.Errorf("with %d attempts the consumer is %s, %v; want %s", attempts, c.State, err, want)
		}
	}
}

// TestRefusedStartMakesNothing: a queue that is not there is not made for a
// consumer that is refused.
func TestRefusedStartMakesNothing(t *testing.T) {
	sorter := check.Get(cursor.New(cursor.NewMemory(), nil))
	d := check.Get(delivery.New(delivery.NewMemory(), sorter, nil))
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
