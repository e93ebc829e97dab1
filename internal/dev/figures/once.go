package figures

import (
	"context"
	"fmt"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/cost"
	"github.com/streamsort/streamsort/pkg/dedup"
)

// streamOfOnce is how many calls a process makes.
const streamOfOnce = 640

// once compares pieces of work that are new with such as were done, in processes that meet many of
// the one kind, of the other, or of both.
func once() Table {
	t := Table{
		Title: "Work done once",
		About: fmt.Sprintf("Work with a result of 20 bytes, one of %d calls of a process. The limit is a write that begins it and one with its result; "+
			"of a duplicate, a read. SQS FIFO drops contents that it saw within 5 minutes, and remembers no result.", streamOfOnce),
		Case:   "work",
		Others: []string{"Mnemosyne, Powertools", fifoHead},
	}
	const whyClaims = "every 64th call claims first"
	for _, c := range []struct {
		name             string
		news, duplicates int // of two calls
		ofNew            bool
		limit, older     Units
	}{
		{"new, as all are", 2, 0, true, Units{Writes: 2}, Units{Writes: 2}},
		{"new, half are duplicates", 1, 1, true, Units{Writes: 2}, Units{Writes: 2}},
		{"duplicate, half are new", 1, 1, false, Units{Reads: 0.5}, Units{Writes: 1}},
		{"duplicate, as all are", 0, 2, false, Units{Reads: 0.5}, Units{Writes: 1}},
	} {
		t.Rows = append(t.Rows, counted(c.name, c.limit, streamOf(c.news, c.duplicates, c.ofNew),
			&c.older, cost.FIFO(1), whyClaims))
	}
	return t
}

// streamOf is what a new piece of work costs, or a duplicate, among so many of each.
func streamOf(news, duplicates int, ofNew bool) (sum Units) {
	m := newMetered(dedup.Names{}.Tables()...)
	store := dedup.NewTable(m, dedup.Names{})
	process := func() func(id string) {
		d := check.Get(dedup.New[string, string](store, "figures", nil))
		return func(id string) {
			check.Get(d.Once(context.Background(), id, func(context.Context) (string, error) {
				return "done, and remembered", nil
			}))
		}
	}
	process()("done")
	do, counted := process(), 0.0
	for n := range streamOfOnce {
		isNew, id := n%(news+duplicates) < news, "done"
		if isNew {
			id = fmt.Sprint("new-", n)
		}
		units := m.of(1, func() { do(id) })
		if isNew == ofNew {
			sum, counted = Units{sum.Writes + units.Writes, sum.Reads + units.Reads}, counted+1
		}
	}
	return Units{sum.Writes / counted, sum.Reads / counted}
}
