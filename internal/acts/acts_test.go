package acts_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/acts"
	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/record"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
)

var errDied = fmt.Errorf("died: %w", ddb.ErrUnavailable)

// bench has queues of which consumers are blocked, and processes that die.
type bench struct {
	*testing.T
	now    time.Time
	tables *ddb.Memory
	sorter *cursor.Sorter
	// made is how often each consumer was changed by an act, by its queue and the request.
	made map[string]int
	// requests are those of the batch's processes, by their names; units what they cost.
	requests map[string]int
	units    ddb.Units
	// dies ends the process at this request, before it or behind it, and is counted down; 0 is never.
	dies   int
	behind bool
	dead   bool
	// breaks is what a request fails of otherwise.
	breaks func(ddb.Request) error
}

func newBench(t *testing.T) *bench {
	b := &bench{T: t, now: time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC), made: map[string]int{}, requests: map[string]int{}}
	b.tables = ddb.NewMemory(handoff.Names{Trouble: trouble.DefaultName}.Tables()...)
	store, err := cursor.NewStore(ddb.NewMemory(append(cursor.Names{}.Tables(), cursor.Names{}.ArrivalsTable())...), cursor.Names{})
	b.check(err)
	b.sorter, err = cursor.New(store, &cursor.Options{ForEach: fanout.OneByOne, Now: func() time.Time { return b.now }})
	b.check(err)
	return b
}

func (b *bench) check(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) is(what string, got, want any) {
	b.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		b.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (b *bench) deliverer(view ddb.Func) *handoff.Deliverer {
	d, err := handoff.New(record.NewStore(view, handoff.Names{Trouble: trouble.DefaultName}.Tables()), b.sorter, &handoff.Options{
		ForEach: fanout.OneByOne, Now: func() time.Time { return b.now },
	})
	b.check(err)
	return d
}

// desk is a process that carries batches out.
func (b *bench) desk() *acts.Desk {
	b.dead = false
	d := acts.New(b.deliverer(b.do))
	d.ForEach = fanout.OneByOne
	d.Wait = func(_ context.Context, left time.Duration) error { b.now = b.now.Add(left); return nil }
	return d
}

func (b *bench) do(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
	if b.dead {
		return ddb.Answer{}, errDied
	}
	if b.breaks != nil {
		if err := b.breaks(r); err != nil {
			return ddb.Answer{}, err
		}
	}
	if b.dies--; b.dies == 0 && !b.behind {
		b.dead = true
		return ddb.Answer{}, errDied
	}
	a, err := b.tables.Do(ctx, r)
	b.requests[r.Name()]++
	b.units.Reads += a.Units.Reads
	b.units.Writes += a.Units.Writes
	if u, ok := r.(ddb.Update); ok && a.Held && u.Key.Get("consumer").Str() != "" {
		b.made[u.Key.Get("queue").Str()+" "+r.Name()]++
	}
	if b.dies == 0 {
		b.dead = true
		return ddb.Answer{}, errDied
	}
	return a, err
}

// block makes queues of which the consumer c is blocked: q0001, q0002, …
func (b *bench) block(n int, why string) {
	b.Helper()
	d := b.deliverer(b.tables.Do)
	for i := range n {
		queue := fmt.Sprintf("q%04d", i+1)
		_, err := b.sorter.Put(b.Context(), cursor.Message{Queue: queue, Seq: 1})
		b.check(err)
		done := d.Deliver(b.Context(), queue, handoff.Reader{Name: "c", Handle: func(context.Context, handoff.Batch) error {
			return handoff.Permanent(errors.New(why))
		}}, -1)
		b.check(done.Err)
		if done.Ended != handoff.EndedBlocked {
			b.Fatalf("%s ended as %s", queue, done.Ended)
		}
	}
	b.now = b.now.Add(time.Second)
}

func redrive() acts.Ask {
	return acts.Ask{Action: handoff.OpRedrive, Reason: "the sink is back", Rate: 3, Who: handoff.Who{Kind: handoff.WhoDirect}}
}

// started is a batch that was looked at and started.
func (b *bench) started(a acts.Ask) acts.ID {
	b.Helper()
	d := b.desk()
	l, err := d.Look(b.Context(), a)
	b.check(err)
	b.now = b.now.Add(time.Minute)
	started, err := d.Start(b.Context(), l.Name(), l.Who)
	b.check(err)
	b.is("started", started.State, acts.Running)
	return l.Name()
}

// finish has turns at a batch until it is over.
func (b *bench) finish(id acts.ID) acts.Batch {
	b.Helper()
	for range 1000 {
		turn, err := b.desk().Turn(b.Context(), id)
		b.check(err)
		if turn.Next.IsZero() {
			break
		}
		if turn.Next.After(b.now) {
			b.now = turn.Next
		}
	}
	done, err := b.desk().Batch(b.Context(), id)
	b.check(err)
	return done
}

// once checks that each of so many queues was changed once, and that this is what the batch counts.
func (b *bench) once(what string, batch acts.Batch, n int, request string) {
	b.Helper()
	for i := range n {
		if name := fmt.Sprintf("q%04d %s", i+1, request); b.made[name] != 1 {
			b.Errorf("%s: %s %d times", what, name, b.made[name])
		}
	}
	if len(b.made) != n || batch.Done != n || batch.Failed != 0 || batch.State != acts.Done {
		b.Errorf("%s: %d queues were changed, and the batch is %+v", what, len(b.made), batch)
	}
	open, _, err := acts.NewStore(b.tables, handoff.Names{}.Tables()[1]).Opened(b.Context(), acts.ID{})
	b.check(err)
	b.is(what+": open", slices.Contains(open, batch.Name()), false)
}

// TestABatch: it is looked at, started and carried out at its rate, and is on record.
func TestABatch(t *testing.T) {
	b := newBench(t)
	b.block(7, "no")
	d := b.desk()
	l, err := d.Look(t.Context(), redrive())
	b.check(err)
	b.is("selected", l.Selected, 7)
	b.is("first", len(l.First), 7)
	b.is("changed by a look", len(b.made), 0)
	b.now = b.now.Add(time.Second)
	id := b.started(redrive())
	began := b.now
	done := b.finish(id)
	b.once("a batch", done, 7, "unblock")
	if took := b.now.Sub(began); took < 2*time.Second || took > 3*time.Second {
		t.Errorf("7 acts took %s at 3 a second", took)
	}
	page, _, err := b.deliverer(b.tables.Do).Audit(t.Context(), "q0003", "")
	b.check(err)
	if len(page) != 1 || page[0].Batch != id.ID || page[0].Reason != "the sink is back" || page[0].Who.Kind != handoff.WhoDirect {
		t.Errorf("on record: %+v", page)
	}
	again, err := b.desk().Start(t.Context(), id, redrive().Who)
	b.check(err)
	b.is("started again", again, done)
	list, next, err := b.desk().List(t.Context(), "", "", 1)
	b.check(err)
	b.is("the last one", list, []acts.Batch{done})
	list, next, err = b.desk().List(t.Context(), "", next, 5)
	b.check(err)
	if len(list) != 1 || list[0].ID != l.ID || next != "" {
		t.Errorf("the one before: %+v, next %q", list, next)
	}
}

// TestStop: a batch that is stopped ends behind the page at hand; one that was not started, at once.
func TestStop(t *testing.T) {
	b := newBench(t)
	b.block(7, "no")
	id := b.started(redrive())
	b.dies = 10
	_, _ = b.desk().Turn(t.Context(), id)
	stopping, err := b.desk().Stop(t.Context(), id)
	b.check(err)
	b.is("stopped", stopping.State, acts.Stopping)
	b.now = b.now.Add(time.Minute)
	done := b.finish(id)
	b.is("behind the page", []any{done.State, done.Done, len(b.made)}, []any{acts.Stopped, 3, 3})
	again, err := b.desk().Stop(t.Context(), id)
	b.check(err)
	b.is("stopped again", again, done)

	l, err := b.desk().Look(t.Context(), redrive())
	b.check(err)
	stopped, err := b.desk().Stop(t.Context(), l.Name())
	b.check(err)
	b.is("before it was started", stopped.State, acts.Stopped)
	late, err := b.desk().Start(t.Context(), l.Name(), l.Who)
	b.check(err)
	b.is("started then", late.State, acts.Stopped)
	_, err = b.desk().Stop(t.Context(), acts.ID{ID: "none"})
	b.is("of none", errors.Is(err, acts.ErrNone), true)
}

// TestAThousand: one call redrives a thousand queues; its process dies half-way.
func TestAThousand(t *testing.T) {
	const n = 1000
	b := newBench(t)
	b.block(n, "no")
	a := redrive()
	a.Rate = 50
	id := b.started(a)
	clear(b.requests)
	b.units = ddb.Units{}
	b.dies = n * 7 / 2
	for !b.dead {
		turn, err := b.desk().Turn(t.Context(), id)
		if !b.dead {
			b.check(err)
		}
		b.now = turn.Next
	}
	half := len(b.made)
	if half < n/4 || half > n*3/4 {
		t.Errorf("it died behind %d of %d", half, n)
	}
	b.dies = 0
	b.now = b.now.Add(time.Minute)
	began := b.now
	b.once("a thousand", b.finish(id), n, "unblock")
	t.Logf("%d before it died, the rest in %s; requests %v, units %+v", half, b.now.Sub(began), b.requests, b.units)
	// Each: the consumer is read, the act begun, made and ended, and its row deleted, with 7 of them again,
	// and 21 pages.
	if reads, writes := b.units.Reads/n, b.units.Writes/n; reads > 1.1 || writes > 4.2 {
		t.Errorf("%.2f read units and %.2f write units an act", reads, writes)
	}
}
