// Package world is what simulators of code on tables share: [World] is the tables of a run, its
// time, and its processes, each with a [World.View] of the tables and a [World.Clock]; [World.Step]
// is an actor of one step, [World.Turns] one of several.
package world

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
)

// Start is when every run begins.
var Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// World is the tables of a run, and who sees them.
type World struct {
	Run    *sim.Run
	Tables *ddb.Memory
	Now    time.Time
	// Clocks are how far the processes' clocks are from the run's. Others can overtake the
	// processes in Slow while these read it.
	Clocks map[string]time.Duration
	Slow   map[string]bool
	// Warm are the processes that serve with what they remember.
	Warm map[string]bool
	// Page, if not 0, is the most items that a query shows, where a table stops at 1 MB.
	Page int
	// Running counts calls under way: time that is long against a call passes only between calls.
	Running int
	// Changed is set by each write.
	Changed bool
	// Unseen are attributes that no process acts on: they are no part of any state.
	Unseen []string

	notes   map[string]func(ddb.Change)
	digests map[ddb.Item]sim.Digest
}

// New returns a world of empty tables.
func New(run *sim.Run, tables ...table.Definition) *World {
	return On(run, ddb.NewMemory(tables...).Remember())
}

// On returns a world of these tables.
func On(run *sim.Run, tables *ddb.Memory) *World {
	w := &World{
		Run: run, Tables: tables, Now: Start, Clocks: map[string]time.Duration{},
		Slow: map[string]bool{}, Warm: map[string]bool{}, notes: map[string]func(ddb.Change){},
		digests: map[ddb.Item]sim.Digest{},
	}
	w.Tables.OnChange(func(c ddb.Change) {
		if note := w.notes[c.Table.Name]; note != nil {
			note(c)
		}
	})
	return w
}

// Note calls a function with each change of a table. The engine is locked meanwhile: the function
// decodes the change, and asks no table.
func (w *World) Note(table string, note func(ddb.Change)) { w.notes[table] = note }

// QueueNames are the names of all queues that have a cursor, sorted.
func (w *World) QueueNames() []string {
	items := w.Tables.Items("streamsort-cursors")
	names := make([]string, len(items))
	for i, it := range items {
		names[i] = it.Get("queue").Str()
	}
	return names
}

// Clock is the clock of a process.
func (w *World) Clock(p *sim.Proc) func() time.Time {
	ahead, slow := w.Clocks[p.Name()], w.Slow[p.Name()]
	return func() time.Time {
		if slow {
			p.Choose(sim.Labelf("reads the clock"), nil, "")
		}
		p.Knows().Int(w.Now.UnixMilli())
		return w.Now.Add(ahead)
	}
}

// Ticks lets time pass, at any moments.
func (w *World) Ticks(steps ...time.Duration) { w.Run.Clock(&w.Now, nil, steps...) }

// WrongClock is how far ahead of another clock one is wrong.
const WrongClock = 5 * time.Minute

// Ahead is how far a process's clock is ahead of the run's at most, but for wrong ones.
func (w *World) Ahead() time.Duration { return w.most(1) }

// Behind is how far one is behind it.
func (w *World) Behind() time.Duration { return w.most(-1) }

func (w *World) most(sign time.Duration) (most time.Duration) {
	for _, ahead := range w.Clocks {
		if ahead <= WrongClock {
			most = max(most, sign*ahead)
		}
	}
	return most
}

// View is the tables as a process sees them: a request is a point of the run, or decides nothing.
func (w *World) View(p *sim.Proc, isPoint func(ddb.Request) bool, h simdb.Hooks) ddb.Engine {
	perform := h.Perform
	h.Perform = func(r ddb.Request, do func() (ddb.Answer, error)) (ddb.Answer, error) {
		w.Changed = w.Changed || ddb.Writes(r)
		if perform == nil {
			return do()
		}
		return perform(r, do)
	}
	tables, others := simdb.Engine(p, w.Tables, &h), simdb.AtOnce(p, w.Tables, &h)
	return ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if !isPoint(r) {
			return others.Do(ctx, r)
		}
		if q, ok := r.(ddb.Query); ok && w.Page > 0 && (q.Limit == 0 || q.Limit > w.Page) {
			q.Limit = w.Page
			r = q
		}
		return tables.Do(ctx, r)
	})
}

// Hash feeds an item.
func (w *World) Hash(d *sim.Digest, it ddb.Item) {
	known, ok := w.digests[it]
	if !ok {
		for name, value := range it.All() {
			if !slices.Contains(w.Unseen, name) {
				known.Text(name)
				value.Digest(&known)
			}
		}
		w.digests[it] = known
	}
	d.Digest(known)
}

// HashTables feeds what stands in tables.
func (w *World) HashTables(d *sim.Digest, names ...string) {
	for _, name := range names {
		w.hashAll(d, w.Tables.Items(name))
	}
}

func (w *World) hashAll(d *sim.Digest, items []ddb.Item) {
	d.Int(int64(len(items)))
	for _, it := range items {
		w.Hash(d, it)
	}
}

// HashAnswer feeds all of an answer that a process can act on. It does not matter whose item keeps
// a put from being done, where that is another's.
func (w *World) HashAnswer(d *sim.Digest, r ddb.Request, a ddb.Answer) {
	put, _ := r.(ddb.Put)
	d.Bool(a.Held || put.Item.Exists() && a.Item.Get("op").Equal(put.Item.Get("op")))
	w.Hash(d, simdb.Standing(r, a))
	w.hashAll(d, a.Items)
	d.Bool(a.Next.Exists())
	d.Int(int64(len(a.Left)))
}

// Answers are what a weak read may be answered.
func Answers(all ...ddb.Answer) []func() (ddb.Answer, error) {
	answers := make([]func() (ddb.Answer, error), len(all))
	for i, a := range all {
		answers[i] = func() (ddb.Answer, error) { return a, nil }
	}
	return answers
}

// Part is a part of items: what a weak read may show.
type Part func(items []ddb.Item) []ddb.Item

// Parts are answers that show such parts only.
func Parts(now func() (ddb.Answer, error), parts ...Part) []func() (ddb.Answer, error) {
	answers := make([]func() (ddb.Answer, error), len(parts))
	for i, part := range parts {
		answers[i] = func() (ddb.Answer, error) {
			a, err := now()
			a.Items = part(slices.Clip(a.Items))
			return a, err
		}
	}
	return answers
}

// WithoutFirst is all but the first.
func WithoutFirst(items []ddb.Item) []ddb.Item { return items[min(1, len(items)):] }

// WithoutSecond is all but the second.
func WithoutSecond(items []ddb.Item) []ddb.Item {
	return slices.Concat(items[:min(1, len(items))], items[min(2, len(items)):])
}

// WithoutLast is all but the last.
func WithoutLast(items []ddb.Item) []ddb.Item { return items[:max(len(items)-1, 0)] }

// Nothing is no items.
func Nothing([]ddb.Item) []ddb.Item { return nil }

// Step starts an actor that does something once, at any moment from when it is ready.
func (w *World) Step(name string, label sim.Label, ready func() bool, does func()) {
	w.Run.Go(name, func(p *sim.Proc) {
		if p.Choose(label, ready, "") == 0 {
			does()
		}
	})
}

// KeepUndelivered keeps what is behind a seq from expiring, in pieces, as the sweep does.
func KeepUndelivered(s *cursor.Sorter, queue string, after int64) error {
	for {
		kept, err := s.Inside(queuelog.Inside{}).KeepUndelivered(context.Background(), queue, after)
		if err != nil || !kept.More {
			return err
		}
		after = kept.To
	}
}

// Whole checks that a batch has each seq of its range once, in order: as a message, or skipped.
// right is asked of each message, and with nil of what was skipped.
func Whole(b cursor.Batch, right func(seq int64, message *cursor.Message) bool) error {
	messages, skipped := b.Messages, b.Skipped
	for seq := b.From + 1; seq <= b.To; seq++ {
		switch {
		case len(messages) > 0 && messages[0].Seq == seq && right(seq, &messages[0]):
			messages = messages[1:]
		case len(skipped) > 0 && skipped[0] == seq && right(seq, nil):
			skipped = skipped[1:]
		default:
			return fmt.Errorf("%d to %d came without seq %d as it was accepted", b.From, b.To, seq)
		}
	}
	if len(messages)+len(skipped) > 0 {
		return fmt.Errorf("%d to %d came with more than that", b.From, b.To)
	}
	return nil
}

// IsFault reports whether an error is one that the simulator made.
func IsFault(err error) bool { return errors.Is(err, sim.ErrFault) || errors.Is(err, sim.ErrDead) }

// OnlyFaults checks S6: that an actor which lives got no error but of a fault.
func (w *World) OnlyFaults(p *sim.Proc, who string, err error) {
	if err != nil && !p.Dead() && !IsFault(err) {
		w.Run.Violation("S6: %s got an error that no fault made: %v", who, err)
	}
}

// Turns starts an actor that does something so many times, each at any moment from when ready; with
// no label, its first request is the moment. A process is what it does in each of its turns.
func (w *World) Turns(name string, times int, label sim.Label, ready func() bool,
	process func(*sim.Proc) func(turn int)) {
	w.Run.Go(name, func(p *sim.Proc) {
		does := process(p)
		for i := range times {
			p.Forget().Int(int64(i))
			if label != nil && p.Choose(label, ready, "") < 0 {
				return
			}
			w.Running++
			does(i)
			w.Running--
			if p.Dead() {
				return
			}
		}
	})
}

// Serves starts an actor that does something each time it is ready, in one of the ways, until it
// dies. It remembers nothing from one time to the next, unless it is warm.
func (w *World) Serves(
	name string, label sim.Label, ready func() bool, process func(*sim.Proc) func(way int),
	ways ...string,
) {
	w.Run.Daemon(name, func(p *sim.Proc) {
		does := process(p)
		for !p.Dead() {
			if !w.Warm[name] {
				p.Forget()
			}
			way := p.Choose(label, ready, ways...)
			if way < 0 {
				return
			}
			does(way)
		}
	})
}

// Limited returns a context that ends after a number of requests: what goes on without end is found
// that way.
func Limited(requests int) context.Context {
	return &limited{Context: context.Background(), left: requests}
}

type limited struct {
	context.Context
	left int
}

// Err implements [context.Context].
func (l *limited) Err() error {
	if l.left--; l.left < 0 {
		return errors.New("no end after so many requests")
	}
	return nil
}
