package figures

import (
	"context"
	"fmt"

	"github.com/streamsort/streamsort/internal/dev/cost"
	"github.com/streamsort/streamsort/pkg/dedup"
)

// streamOfOnce is how many calls a process makes.
const streamOfOnce = 640

// once compares pieces of work that are new with such as were done, in processes that meet
// many of the one kind, of the other, or of both.
func once(ctx context.Context) (Table, error) {
	t := Table{
		Title: "Work done once",
		About: fmt.Sprintf("Work with a result of 20 bytes, one of %d calls of a process. The limit is a write that begins it and one with its result; "+
			"of a duplicate, a read. SQS FIFO drops contents that it saw within 5 minutes, and remembers no result.", streamOfOnce),
		Case:  "work",
		Older: "Mnemosyne, Powertools",
	}
	const whyClaims = "every 64th call claims first"
	for _, c := range []struct {
		name             string
		news, duplicates int // of two calls
		ofNew            bool
		limit, older     Units
		why              string
	}{
		{"new, as all are", 2, 0, true, Units{Writes: 2}, Units{Writes: 2}, ""},
		{"new, half are duplicates", 1, 1, true, Units{Writes: 2}, Units{Writes: 2}, ""},
		{"duplicate, half are new", 1, 1, false, Units{Reads: 0.5}, Units{Writes: 1}, whyClaims},
		{"duplicate, as all are", 0, 2, false, Units{Reads: 0.5}, Units{Writes: 1}, whyClaims},
	} {
		ours, err := streamOf(ctx, c.news, c.duplicates, c.ofNew)
		if err != nil {
			return t, err
		}
		t.Rows = append(t.Rows, Row{Name: c.name, Limit: c.limit, Ours: ours, Older: &c.older, FIFO: cost.FIFO(1), Why: c.why})
	}
	return t, nil
}

// streamOf is what a new piece of work costs, or a duplicate, among so many of each.
func streamOf(ctx context.Context, news, duplicates int, ofNew bool) (sum Units, err error) {
	work := func(context.Context) (string, error) { return "done, and remembered", nil }
	m := newMetered(dedup.Names{}.Tables()...)
	store, err := dedup.NewTable(m, dedup.Names{})
	if err != nil {
		return sum, err
	}
	before, err := dedup.New[string, string](store, "figures", nil)
	if err != nil {
		return sum, err
	}
	if _, err := before.Once(ctx, "done", work); err != nil {
		return sum, err
	}
	d, err := dedup.New[string, string](store, "figures", nil)
	if err != nil {
		return sum, err
	}
	counted := float64(streamOfOnce * news / (news + duplicates))
	if !ofNew {
		counted = streamOfOnce - counted
	}
	for n := range streamOfOnce {
		isNew, id := n%(news+duplicates) < news, "done"
		if isNew {
			id = fmt.Sprint("new-", n)
		}
		units, err := m.of(1, func() error { _, err := d.Once(ctx, id, work); return err })
		if err != nil {
			return sum, err
		}
		if isNew == ofNew {
			sum.Writes += units.Writes / counted
			sum.Reads += units.Reads / counted
		}
	}
	return sum, nil
}
