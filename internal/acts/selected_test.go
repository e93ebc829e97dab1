package acts_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/acts"
	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
)

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
				bubble.Sleep(31 * time.Second)
			}
			return b.do(ctx, r)
		}))
		l, err := d.Look(ctx, redrive())
		b.check(err)
		b.is("too late", l.Selected, 50)
		b.is("more", l.More, true)
	})
}
