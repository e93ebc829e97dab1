package acts_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
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

// TestWhoIsSelected: by name, prefix, time and error, and nobody who came into the state later.
func TestWhoIsSelected(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*acts.Ask)
		want   int
	}{
		"all":              {func(*acts.Ask) {}, 5},
		"prefix":           {func(a *acts.Ask) { a.Prefix = "q0001" }, 1},
		"another consumer": {func(a *acts.Ask) { a.Consumer = "d" }, 0},
		"the consumer":     {func(a *acts.Ask) { a.Consumer = "c" }, 5},
		"error":            {func(a *acts.Ask) { a.Error = "brok" }, 5},
		"another error":    {func(a *acts.Ask) { a.Error = "x" }, 0},
		"since":            {func(a *acts.Ask) { a.Since = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }, 0},
		"long since":       {func(a *acts.Ask) { a.Since = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC) }, 5},
		"any state": {func(a *acts.Ask) {
			a.Action, a.Consumer, a.Start = handoff.OpRewind, "c", "first"
		}, 5},
	} {
		b := newBench(t)
		b.block(5, "broken")
		_, err := b.sorter.Put(t.Context(), cursor.Message{Queue: "q9999", Seq: 1}) // nobody consumes it
		b.check(err)
		a := redrive()
		c.change(&a)
		l, err := b.desk().Look(t.Context(), a)
		b.check(err)
		b.is(what+": selected", l.Selected, c.want)
		done := b.finish(b.started(a))
		b.is(what+": done", []int{done.Done, done.Failed, len(b.made)}, []int{c.want, 0, c.want})
		if a.Action == handoff.OpRewind {
			b.is(what+": passed over", done.Passed, 0)
		}
	}
	b := newBench(t)
	l, err := b.desk().Look(t.Context(), redrive())
	b.check(err)
	b.now = b.now.Add(time.Second)
	b.block(2, "later")
	_, err = b.desk().Start(t.Context(), l.Name(), l.Who)
	b.check(err)
	b.is("blocked later", b.finish(l.Name()).Done, 0)

	b = newBench(t)
	b.block(3, "broken")
	l, err = b.desk().Look(t.Context(), redrive())
	b.check(err)
	_, err = b.deliverer(b.do).Redrive(t.Context(), handoff.Order{Queue: "q0001", Consumer: "c", Reason: "by hand", Op: "by hand"}, 1)
	b.check(err)
	_, err = b.desk().Start(t.Context(), l.Name(), l.Who)
	b.check(err)
	done := b.finish(l.Name())
	b.is("one mended by hand meanwhile", []int{done.Done, done.Failed, done.Passed}, []int{2, 0, 1})
}

// TestABatchThatDies: whichever request its process dies at, before it or behind it, whoever goes on acts on each
// consumer once, and counts it once.
func TestABatchThatDies(t *testing.T) {
	for _, behind := range []bool{false, true} {
		for step := 1; ; step++ {
			b := newBench(t)
			b.block(7, "no")
			id := b.started(redrive())
			b.dies, b.behind = step, behind
			_, err := b.desk().Turn(t.Context(), id)
			died := b.dead
			b.dies = 0
			if died {
				b.now = b.now.Add(time.Minute)
			} else {
				b.check(err)
			}
			done := b.finish(id)
			if _, err := b.desk().Turn(t.Context(), id); err != nil { // closes it, where that is what it died at
				t.Fatal(err)
			}
			b.once(fmt.Sprintf("died at %d (behind it: %v)", step, behind), done, 7, "unblock")
			if !died {
				if step < 40 {
					t.Errorf("a batch has %d requests", step)
				}
				break
			}
		}
	}
}

// TestTwoAtOnce: while one process sleeps at a request another carries the batch out, or two pages of it.
func TestTwoAtOnce(t *testing.T) {
	for _, whole := range []bool{true, false} {
		for step := 1; ; step++ {
			b := newBench(t)
			b.block(7, "no")
			id := b.started(redrive())
			n := 0
			sleeper := acts.New(b.deliverer(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
				if n++; n == step {
					b.now = b.now.Add(time.Minute)
					if whole {
						b.finish(id)
					} else {
						b.dies = 40
						_, _ = b.desk().Turn(t.Context(), id)
						b.dies, b.dead = 0, false
						b.now = b.now.Add(time.Minute)
					}
				}
				return b.do(ctx, r)
			}))
			sleeper.ForEach = fanout.OneByOne
			sleeper.Wait = func(_ context.Context, left time.Duration) error { b.now = b.now.Add(left); return nil }
			_, err := sleeper.Turn(t.Context(), id)
			b.check(err)
			b.once(fmt.Sprintf("slept at %d (the whole batch: %v)", step, whole), b.finish(id), 7, "unblock")
			if n < step {
				break
			}
		}
	}
	b := newBench(t)
	b.block(7, "no")
	id := b.started(redrive())
	b.dies = 10
	_, _ = b.desk().Turn(t.Context(), id)
	was := len(b.made)
	turn, err := b.desk().Turn(t.Context(), id)
	b.check(err)
	if !turn.Next.After(b.now) || len(b.made) != was {
		t.Errorf("another went on under the lease: %+v", turn)
	}
}

// TestWhatTheStoreSays: an error that is not about a consumer is no refusal of it: its act comes again, also
// where that is done already, and at last has failed, in words that say nothing of the store; an outage lasts as
// long as it does.
func TestWhatTheStoreSays(t *testing.T) {
	secret := errors.New("AccessDenied: arn:aws:dynamodb:::table/inside")
	for _, request := range []string{"unblock", "consumer", "end act"} {
		for _, c := range []struct {
			times int
			err   error
			done  int
		}{{1, secret, 7}, {4, secret, 7}, {1000, secret, 6}, {30, errDied, 7}} {
			b := newBench(t)
			b.block(7, "no")
			id := b.started(redrive())
			left, told := c.times, 0
			b.breaks = func(r ddb.Request) error {
				key := ""
				switch r := r.(type) {
				case ddb.Update:
					key = r.Key.Get("queue").Str()
				case ddb.Get:
					key = r.Key.Get("queue").Str()
				}
				if r.Name() != request || key != "q0002" || left == 0 {
					return nil
				}
				left--
				return c.err
			}
			for range 100 {
				turn, err := b.desk().Turn(t.Context(), id)
				if err != nil {
					told++
				}
				if turn.Next.IsZero() {
					break
				}
				b.now = b.now.Add(time.Minute)
			}
			done, err := b.desk().Batch(t.Context(), id)
			b.check(err)
			what := fmt.Sprintf("%s fails %d times (%v)", request, c.times, c.err)
			b.is(what+": done, failed", []any{done.State, done.Done, done.Failed, done.Tries}, []any{acts.Done, c.done, 7 - c.done, 0})
			if told != min(c.times, 30) && told != 4 {
				t.Errorf("%s: told %d times", what, told)
			}
			for _, f := range done.Failures {
				if f.Queue != "q0002" || strings.Contains(f.Why, "inside") || f.Why == "" {
					t.Errorf("%s: %+v", what, f)
				}
			}
			for i, made := range b.made {
				if made != 1 {
					t.Errorf("%s: %s %d times", what, i, made)
				}
			}
		}
	}
}

// TestLongNames: however long the names in a page are, and those of whom it failed, the item of the batch
// stays small, and everybody has a turn.
func TestLongNames(t *testing.T) {
	const n, longest = 60, 36 << 10
	for _, state := range []trouble.State{trouble.Blocked, ""} {
		b := newBench(t)
		d := b.deliverer(b.tables.Do)
		for i := range n {
			queue := strings.Repeat("<", cursor.MaxQueueName-6) + fmt.Sprintf("%04d", i)
			_, err := b.sorter.Put(t.Context(), cursor.Message{Queue: queue, Seq: 1})
			b.check(err)
			d.Deliver(t.Context(), queue, handoff.Reader{Name: "c", Handle: func(context.Context, handoff.Batch) error {
				return handoff.Permanent(errors.New("no"))
			}}, -1)
		}
		b.now = b.now.Add(time.Second)
		id := b.started(acts.Ask{Action: handoff.OpRewind, Start: "first", Reason: "again", Consumer: "c", State: state, Rate: 50})
		failed := map[string]bool{}
		b.breaks = func(r ddb.Request) error {
			if u, ok := r.(ddb.Update); ok && u.Name() == "rewind" {
				failed[u.Key.Get("queue").Str()] = true
				return errors.New("no")
			}
			return nil
		}
		for range 1000 {
			turn, _ := b.desk().Turn(t.Context(), id)
			is, err := b.desk().Batch(t.Context(), id)
			b.check(err)
			if text, err := json.Marshal(is.Progress); err != nil || len(text) > longest {
				t.Fatalf("the progress has %d bytes, %v", len(text), err)
			}
			if turn.Next.IsZero() {
				break
			}
			b.now = b.now.Add(time.Minute)
		}
		done, err := b.desk().Batch(t.Context(), id)
		b.check(err)
		if len(failed) != n || done.Failed != n || len(done.Failures) == 0 || done.State != acts.Done {
			t.Errorf("state %q: %d were tried, %d have failed, %d are kept", state, len(failed), done.Failed, len(done.Failures))
		}
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

// TestWhoMayStart: who looked at it, within an hour, and of the same tenant.
func TestWhoMayStart(t *testing.T) {
	b := newBench(t)
	b.block(1, "no")
	a := redrive()
	a.Tenant, a.Prefix = "acme", "@acme/"
	l, err := b.desk().Look(t.Context(), a)
	b.check(err)
	for what, c := range map[string]struct {
		id   acts.ID
		who  handoff.Who
		want error
	}{
		"another tenant": {acts.ID{Tenant: "ac", ID: l.ID}, a.Who, acts.ErrNone},
		"an operator":    {acts.ID{ID: l.ID}, a.Who, acts.ErrNone},
		"another caller": {l.Name(), handoff.Who{Kind: handoff.WhoIAM}, acts.ErrAnothers},
	} {
		if _, err := b.desk().Start(t.Context(), c.id, c.who); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	b.now = b.now.Add(acts.KeptDry + time.Second)
	_, err = b.desk().Start(t.Context(), l.Name(), a.Who)
	b.is("too late", errors.Is(err, acts.ErrTooLate), true)
	_, _, err = b.desk().Open(t.Context())
	b.check(err)
	_, err = b.desk().Batch(t.Context(), l.Name())
	b.check(err)
	b.is("expires", b.expires(), []time.Time{l.At.Add(24 * time.Hour).Truncate(time.Second)})
	b.now = b.now.Add(acts.KeptDry)
	still, err := b.desk().Batch(t.Context(), l.Name())
	b.check(err)
	b.is("on record", still, l.Batch)
	open, _, err := acts.NewStore(b.tables, handoff.Names{}.Tables()[1]).Opened(t.Context(), acts.ID{})
	b.check(err)
	b.is("open", len(open), 0)
}

// expires is when each item of the operations table expires: the zero time for never.
func (b *bench) expires() (at []time.Time) {
	for _, it := range b.tables.Items(handoff.Names{}.Tables()[1].Name) {
		d := ddb.Decoder{Item: it}
		at = append(at, d.SecondsOr(record.AttrExpires))
		b.check(d.Err)
	}
	return at
}

// TestWhatIsStartedStaysOnRecord: a batch and its acts never expire.
func TestWhatIsStartedStaysOnRecord(t *testing.T) {
	b := newBench(t)
	b.block(2, "no")
	l, err := b.desk().Look(t.Context(), redrive())
	b.check(err)
	_, err = b.desk().Start(t.Context(), l.Name(), l.Who)
	b.check(err)
	b.is("batch, and that it is open", b.expires(), make([]time.Time, 2))
	_, _, err = b.desk().Open(t.Context())
	b.check(err)
	b.is("batch, and an act on each", b.expires(), make([]time.Time, 3))
}

// TestAStartThatDies: whichever request it dies at, a batch that runs is open for the sweep, which carries it out;
// one that does not may be started again. One that only was looked at is no matter of the sweep's.
func TestAStartThatDies(t *testing.T) {
	opened := func(b *bench) int {
		open, _, err := acts.NewStore(b.tables, handoff.Names{}.Tables()[1]).Opened(t.Context(), acts.ID{})
		b.check(err)
		return len(open)
	}
	for _, behind := range []bool{false, true} {
		for step := 1; ; step++ {
			b := newBench(t)
			b.block(2, "no")
			d := b.desk()
			l, err := d.Look(t.Context(), redrive())
			b.check(err)
			b.is("open while it is looked at", opened(b), 0)
			b.dies, b.behind = step, behind
			_, err = d.Start(t.Context(), l.Name(), l.Who)
			died := b.dead
			b.dies = 0
			if _, _, err := b.desk().Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			what := fmt.Sprintf("died at %d (behind it: %v)", step, behind)
			is, err2 := b.desk().Batch(t.Context(), l.Name())
			b.check(err2)
			if err != nil && is.State == acts.Dry {
				// It may be started all the same, also where the sweep has seen that it was not.
				_, err = b.desk().Start(t.Context(), l.Name(), l.Who)
				b.check(err)
				_, _, err = b.desk().Open(t.Context())
				b.check(err)
			}
			is, err = b.desk().Batch(t.Context(), l.Name())
			b.check(err)
			b.is(what, []any{is.State, is.Done}, []any{acts.Done, 2})
			b.is(what+": open then", opened(b), 0)
			if !died {
				break
			}
		}
	}
	b := newBench(t)
	b.block(2, "no")
	l, err := b.desk().Look(t.Context(), redrive())
	b.check(err)
	b.breaks = func(r ddb.Request) error {
		if r.Name() == "start acts" {
			b.breaks = nil
			_, _, err := b.desk().Open(t.Context())
			return err
		}
		return nil
	}
	_, err = b.desk().Start(t.Context(), l.Name(), l.Who)
	b.check(err)
	b.is("open though the sweep came in between", opened(b), 1)

	b = newBench(t)
	b.block(2, "no")
	l, err = b.desk().Look(t.Context(), redrive())
	b.check(err)
	b.dies, b.behind = 2, true
	_, _ = b.desk().Start(t.Context(), l.Name(), l.Who)
	b.dies, b.dead = 0, false
	b.is("open where its start died", opened(b), 1)
	b.now = b.now.Add(2*acts.KeptDry + time.Second)
	_, _, err = b.desk().Open(t.Context())
	b.check(err)
	b.is("open when it can no longer be started", opened(b), 0)
}

// TestAsks: what is out of its bounds is refused, by the field's name.
func TestAsks(t *testing.T) {
	for field, change := range map[string]func(*acts.Ask){
		"action":   func(a *acts.Ask) { a.Action = handoff.OpRemove },
		"rate":     func(a *acts.Ask) { a.Rate = 1001 },
		"state":    func(a *acts.Ask) { a.State = trouble.Paused },
		"consumer": func(a *acts.Ask) { a.Action = handoff.OpPause },
		"since":    func(a *acts.Ask) { a.Action, a.Consumer, a.Since = handoff.OpPause, "c", time.Unix(1, 0) },
		"start":    func(a *acts.Ask) { a.Start = "first" },
		"reason":   func(a *acts.Ask) { a.Reason = "" },
		"error":    func(a *acts.Ask) { a.Error = strings.Repeat("x", 301) },
		"prefix":   func(a *acts.Ask) { a.Prefix = strings.Repeat("x", 1025) },
	} {
		a := redrive()
		change(&a)
		var wrong *cursor.InvalidError
		if err := a.Validate(); !errors.As(err, &wrong) || wrong.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	var a acts.Ask
	if a = redrive(); a.Validate() != nil || a.State != trouble.Blocked {
		t.Errorf("%+v", a)
	}
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

// TestALookEnds: where there is no time for all, what was found until then is kept, and may be started.
func TestALookEnds(t *testing.T) {
	b := newBench(t)
	b.block(60, "no")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l, err := b.desk().Look(ctx, redrive())
	b.check(err)
	b.is("in time", l.Selected, 60)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		d := acts.New(b.deliverer(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
			if r.Name() == "list trouble" || r.Name() == "query list trouble" {
				time.Sleep(31 * time.Second)
			}
			return b.do(ctx, r)
		}))
		l, err := d.Look(ctx, redrive())
		b.check(err)
		b.is("too late", l.Selected, 50)
		b.is("more", l.More, true)
	})
}

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
