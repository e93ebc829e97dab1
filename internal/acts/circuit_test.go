package acts_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/acts"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// away makes five queues whose names begin so, and opens the circuit of their consumer billing.
func (b *bench) away(names string) {
	b.Helper()
	d := b.deliverer(b.tables.Do)
	away := handoff.Reader{Name: "billing", Handle: func(context.Context, handoff.Batch) error { return errors.New("no") }}
	for i := range 5 {
		queue := fmt.Sprint(names, i)
		_, err := b.sorter.Put(b.Context(), cursor.Message{Queue: queue, Seq: 1})
		b.check(err)
		b.check(d.Deliver(b.Context(), queue, away, 1).Err)
	}
	b.now = b.now.Add(time.Second)
}

// TestQueuesOfAnOpenCircuit: those that a circuit holds back, and those that are known to fail, each once.
func TestQueuesOfAnOpenCircuit(t *testing.T) {
	b := newBench(t)
	b.away("q")
	looked, err := b.desk().Look(t.Context(), acts.Ask{Action: handoff.OpPause, Consumer: "billing", State: trouble.CircuitOpen, Reason: "r"})
	b.check(err)
	var queues []string
	for _, one := range looked.First {
		queues = append(queues, one.Queue)
	}
	slices.Sort(queues)
	b.is("selected", queues, []string{"q0", "q1", "q2", "q3", "q4"})
	looked, err = b.desk().Look(t.Context(), acts.Ask{Action: handoff.OpPause, Consumer: "billing", State: trouble.CircuitOpen, Reason: "r", Since: b.now})
	b.check(err)
	b.is("since now", looked.Selected, 0)
	looked, err = b.desk().Look(t.Context(), acts.Ask{Action: handoff.OpPause, Consumer: "billing", State: trouble.CircuitOpen, Reason: "r", Prefix: "q1"})
	b.check(err)
	b.is("by their names", looked.Selected, 1)
}

// TestLongNamesOfAnOpenCircuit: the queues that fail fill a page, and the first that is held back is one more.
func TestLongNamesOfAnOpenCircuit(t *testing.T) {
	b := newBench(t)
	b.away(strings.Repeat("<", 1000)) // each < is six bytes of JSON
	looked, err := b.desk().Look(t.Context(), acts.Ask{Action: handoff.OpPause, Consumer: "billing", State: trouble.CircuitOpen, Reason: "r"})
	b.check(err)
	b.is("selected", looked.Selected, 5)
}

// TestAProbeLeavesNoQueueOut: a probe that fails has the row of its queue begin anew, after the batch was looked at.
func TestAProbeLeavesNoQueueOut(t *testing.T) {
	b := newBench(t)
	b.away("q")
	id := b.started(acts.Ask{Action: handoff.OpPause, Consumer: "billing", State: trouble.CircuitOpen, Reason: "r", Rate: 50})
	rows := trouble.NewStore(b.tables, trouble.Definition(trouble.DefaultName))
	held, _, err := rows.Page(t.Context(), trouble.HeldBy("billing"), "", "", 10)
	b.check(err)
	if len(held) == 0 {
		t.Fatal("no queue is held back")
	}
	last := held[len(held)-1] // one that is not known to fail
	b.check(rows.Delete(t.Context(), last))
	last.Since = b.now
	b.check(rows.Put(t.Context(), last))
	b.is("done", b.finish(id).Done, 5)
}
