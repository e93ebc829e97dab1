package cursor_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// TestArrivalsAreDelivered: consumers do not see which kind a queue is. They
// get everything, in order; a rewind repeats it; what they have not
// got is kept, and what they have is not deleted.
func TestArrivalsAreDelivered(t *testing.T) {
	store := freshStore(t, ddbtest.Memory)
	now := time.Date(2126, 5, 6, 7, 8, 9, 0, time.UTC)
	clock := func() time.Time { return now }
	sorter := check.Get(cursor.New(store, &cursor.Options{Now: clock}))
	d := check.Get(delivery.New(delivery.NewMemory(), sorter, &delivery.Options{Now: clock}))
	for i := range 60 {
		check.Get(appendTo(t.Context(), sorter, several(fmt.Sprint("id", i), 1+i%2)))
	}
	var got []string
	reader := delivery.Reader{Name: "billing", MaxMessages: 40, Handle: func(_ context.Context, b delivery.Batch) error {
		for _, m := range b.Messages {
			got = append(got, fmt.Sprint(m.Seq, " ", string(m.Body)))
		}
		return nil
	}}
	deliver := func(what string, want int, first, last string) {
		t.Helper()
		got = nil
		if done := d.Deliver(t.Context(), "q", reader, -1); done.Err != nil {
			t.Fatal(what, done.Err)
		}
		check.That(t, len(got) == want && got[0] == first && got[len(got)-1] == last,
			"%s: %d messages, %v; want %d from %s to %s", what, len(got), got, want, first, last)
	}
	deliver("all", 90, "1 body 0 of id0", "90 body 1 of id59")
	order := delivery.Order{Kind: "rewind", Queue: "q", Consumer: "billing", Start: delivery.At(30), Reason: "again"}
	check.Get(d.Operate(t.Context(), order))
	deliver("from 30 on", 61, "30 body 1 of id19", "90 body 1 of id59")

	options := delivery.SweepOptions{Sorter: cursor.SweepOptions{Segments: 1, FullEvery: time.Hour}, Delete: true}
	for range 3 {
		now = now.Add(2 * time.Hour)
		check.Get(d.Sweep(t.Context(), options))
	}
	r, err := appendTo(t.Context(), sorter, several("id0", 1))
	check.That(t, err == nil && r.Outcome == cursor.Duplicate &&
		r.Seqs == (cursor.Range{From: 0, To: 1}),
		"a repeat of what was delivered: %+v, %v", r, err)
}
