package figures

import (
	"context"

	"github.com/streamsort/streamsort/internal/dev/cost"
	"github.com/streamsort/streamsort/pkg/dedup"
)

// once compares a piece of work that is new with one that was done.
func once(ctx context.Context) (Table, error) {
	t := Table{
		Title: "Work done once",
		About: "A piece of work with a result of 20 bytes. The limit is a write that says that it begins, and one with its result; of a duplicate, a read. " +
			"Mnemosyne starts each by an unconditional write, a duplicate as well; Powertools by a conditional one, which is charged as much. SQS FIFO drops a message whose content it has seen within 5 minutes, " +
			"for a request to send each; it remembers no result. The others run below, with larger results, and with a hundred that wait for one.",
		Case:  "work",
		Older: "Mnemosyne, Powertools",
	}
	work := func(context.Context) (string, error) { return "done, and remembered", nil }
	m := newMetered(dedup.Names{}.Tables()...)
	store, err := dedup.NewTable(m, dedup.Names{})
	if err != nil {
		return t, err
	}
	for _, c := range []struct {
		name         string
		look         bool
		limit, older Units
		why          string
	}{
		{"new", false, Units{Writes: 2}, Units{Writes: 2}, ""},
		{"duplicate", false, Units{Reads: 0.5}, Units{Writes: 1}, "it claims first, for most work is new: LookFirst is for where it is not"},
		{"duplicate, looking first", true, Units{Reads: 0.5}, Units{Writes: 1}, "the look is strong: a result that a replica does not have yet would be work done twice"},
	} {
		d, err := dedup.New(store, "figures", &dedup.Options[string, string]{LookFirst: c.look})
		if err != nil {
			return t, err
		}
		ours, err := m.of(1, func() error { _, err := d.Once(ctx, "a", work); return err })
		if err != nil {
			return t, err
		}
		t.Rows = append(t.Rows, Row{Name: c.name, Limit: c.limit, Ours: ours, Older: &c.older, FIFO: cost.FIFO(1), Why: c.why})
	}
	return t, nil
}
