package handoff_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/record"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// batchDesk is a desk whose Deliverers for batches are interfered with at a request.
type batchDesk struct {
	*desk
	// made is how often each kind of change was made, reads and writes what was asked for.
	made          map[string]int
	reads, writes int
}

func newBatchDesk(t *testing.T) *batchDesk {
	k := &batchDesk{desk: newDesk(t), made: map[string]int{}}
	k.put("q", 1, 2, 3, 4)
	k.block("q", 2)
	k.pass(time.Second)
	return k
}

// through is a Deliverer that calls at before each of its requests to the consumers' tables, by
// their number, and fails the request without having made it where that is an error. after is
// the same behind the request.
func (k *batchDesk) through(at, after func(step int) error) *handoff.Deliverer {
	step := 0
	store := k.storeOn(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if r.On().Name == trouble.DefaultName {
			return k.consumers.Do(ctx, r) // what fails there fails nothing
		}
		step++
		now := step
		if err := at(now); err != nil {
			return ddb.Answer{}, err
		}
		a, err := k.consumers.Do(ctx, r)
		if r.Writes() {
			k.writes++
		} else {
			k.reads++
		}
		if err == nil && a.Held {
			k.made[r.Name()]++
		}
		if err == nil {
			err = after(now)
		}
		return a, err
	})
	d, err := handoff.New(store, k.sorter, &handoff.Options{ForEach: fanout.OneByOne, Now: func() time.Time { return k.now }})
	k.must(err)
	return d
}

func fine(int) error { return nil }

// before is what interferes at one step.
func before(step int, do func() error) func(int) error {
	return func(now int) error {
		if now == step {
			return do()
		}
		return nil
	}
}

// act is an act of a batch; blocked consumers are selected for skip and redrive, those that are paused
// for resume, and those that are not for the rest.
func (k *batchDesk) act(kind, batch string) handoff.Act {
	return handoff.Act{
		Order: handoff.Order{Queue: "q", Consumer: "c", Reason: "because", Op: batch},
		Kind:  kind, Start: handoff.First, At: k.now,
		Selects: func(c handoff.Consumer) bool {
			switch kind {
			case handoff.OpSkip, handoff.OpRedrive:
				return c.State == handoff.Blocked
			case handoff.OpResume:
				return c.Paused != ""
			case handoff.OpPause:
				return c.Paused == ""
			}
			return true
		},
	}
}

// madeBy is the request that each kind is made by.
var madeBy = map[string]string{
	handoff.OpSkip: "unblock", handoff.OpRedrive: "unblock", handoff.OpPause: "pause", handoff.OpResume: "pause", handoff.OpRewind: "rewind",
}

var errDied = fmt.Errorf("died: %w", ddb.ErrUnavailable)

// TestActs: what each kind does, what it costs, and what is on record.
func TestActs(t *testing.T) {
	for kind, want := range map[string]handoff.Consumer{
		handoff.OpSkip:    {Delivered: 2, State: handoff.Idle},
		handoff.OpRedrive: {Delivered: 1, State: handoff.Idle},
		handoff.OpPause:   {Delivered: 1, State: handoff.Blocked, Paused: "because"},
		handoff.OpResume:  {Delivered: 1, State: handoff.Blocked},
		handoff.OpRewind:  {Delivered: 0, State: handoff.Idle},
	} {
		k := newBatchDesk(t)
		if kind == handoff.OpResume {
			_, err := k.d.Pause(t.Context(), order("before"))
			k.must(err)
		}
		k.pass(time.Second)
		a := k.act(kind, "b")
		a.Who = handoff.Who{Kind: handoff.WhoDirect}
		k.pass(time.Second)
		done, err := k.through(fine, fine).Act(t.Context(), a)
		k.must(err)
		if !done.Done || done.Error != "" || done.Batch != "b" || !done.At.Equal(a.At) || done.Who != a.Who {
			t.Errorf("%s: %+v", kind, done)
		}
		if k.reads != 1 || k.writes != 3 {
			t.Errorf("%s: %d reads and %d writes, want 1 and 3", kind, k.reads, k.writes)
		}
		c := k.standing("q")
		got := handoff.Consumer{Delivered: c.Delivered, State: c.State, Paused: c.Paused}
		if diff := cmp.Diff(want, got); diff != "" || c.Act != done.Key() {
			t.Errorf("%s, act %q (-want +got):\n%s", kind, c.Act, diff)
		}
		page, _, err := k.d.Audit(t.Context(), "q", "")
		k.must(err)
		if diff := cmp.Diff(done, page[0]); diff != "" {
			t.Errorf("%s is on record (-want +got):\n%s", kind, diff)
		}
	}
}

// TestActsOnOthers: a consumer that is not selected, or that refuses, is left as it is.
func TestActsOnOthers(t *testing.T) {
	k := newBatchDesk(t)
	d := k.through(fine, fine)
	left := k.standing("q")
	none := k.act(handoff.OpSkip, "b")
	none.Selects = func(handoff.Consumer) bool { return false }
	absent := k.act(handoff.OpSkip, "b")
	absent.Consumer = "other"
	for what, a := range map[string]handoff.Act{"not selected": none, "absent": absent} {
		done, err := d.Act(t.Context(), a)
		k.must(err)
		if done.Ended() {
			t.Errorf("%s: %+v", what, done)
		}
	}
	if k.reads != 2 || k.writes != 1 {
		t.Errorf("%d reads and %d writes, want 2 and 1", k.reads, k.writes)
	}
	beyond := k.act(handoff.OpRewind, "b")
	beyond.Start = handoff.At(99)
	done, err := d.Act(t.Context(), beyond)
	k.must(err)
	if done.Done || done.Error == "" || done.Seq != 99 {
		t.Errorf("beyond the end: %+v", done)
	}
	if diff := cmp.Diff(left, k.standing("q")); diff != "" {
		t.Errorf("the consumer was changed (-want +got):\n%s", diff)
	}
	for what, a := range map[string]handoff.Act{
		"kind": {Order: none.Order, At: none.At, Kind: handoff.OpRemove}, "time": {Order: none.Order, Kind: handoff.OpSkip},
		"id": {Order: order(""), At: none.At, Kind: handoff.OpSkip}, "reason": {Order: handoff.Order{Queue: "q", Consumer: "c", Op: "b"}, At: none.At, Kind: handoff.OpSkip},
	} {
		if _, err := d.Act(t.Context(), a); err == nil {
			t.Errorf("an act without its %s was carried out", what)
		}
	}
}

// eachStep calls test with the number of each request of an act, until one has none of it.
func eachStep(t *testing.T, test func(kind string, step int) (reached bool)) {
	t.Helper()
	for kind := range madeBy {
		step := 1
		for test(kind, step) {
			step++
		}
		if step < 5 {
			t.Errorf("%s: an act has %d requests", kind, step-1)
		}
	}
}

// stands makes what the act of a kind is for.
func (k *batchDesk) stands(kind string) {
	if kind == handoff.OpResume {
		_, err := k.d.Pause(k.t.Context(), order("before"))
		k.must(err)
	}
}

// undo makes it again, as an operator would.
func (k *batchDesk) undo(kind, op string) {
	k.t.Helper()
	var err error
	switch kind {
	case handoff.OpSkip, handoff.OpRedrive:
		k.block("q", k.standing("q").Delivered+1)
	case handoff.OpPause:
		_, err = k.d.Resume(k.t.Context(), order(op))
	case handoff.OpResume:
		_, err = k.d.Pause(k.t.Context(), order(op))
	}
	k.must(err)
}

// once checks that acts were done so often, and that each is on record once, as done.
func (k *batchDesk) once(what, kind string, batches ...string) {
	k.t.Helper()
	if got := k.made[madeBy[kind]]; got != len(batches) {
		k.t.Errorf("%s: done %d times, want %d", what, got, len(batches))
	}
	page, _, err := k.d.Audit(k.t.Context(), "q", "")
	k.must(err)
	of := map[string]int{}
	for _, o := range page {
		if o.Batch != "" && o.Done {
			of[o.Batch]++
		}
	}
	for _, batch := range batches {
		if of[batch] != 1 {
			k.t.Errorf("%s: batch %s is %d times on record as done", what, batch, of[batch])
		}
	}
}

// TestActsThatDie: whoever dies before or behind a request, and whatever an operator and another batch
// do before the next try, the act is done once.
func TestActsThatDie(t *testing.T) {
	eachStep(t, func(kind string, step int) (reached bool) {
		for _, behind := range []bool{false, true} {
			for _, between := range []string{"", "an operator", "another batch"} {
				k := newBatchDesk(t)
				k.stands(kind)
				a := k.act(kind, "b")
				k.pass(time.Second)
				dies := before(step, func() error { reached = true; return errDied })
				d := k.through(dies, fine)
				if behind {
					d = k.through(fine, dies)
				}
				if _, err := d.Act(t.Context(), a); (err != nil) != reached || reached && !errors.Is(err, errDied) {
					t.Fatalf("%s dies at %d: %v", kind, step, err)
				}
				was := k.made[madeBy[kind]]
				batches := []string{"b"}
				whole := k.through(fine, fine)
				if between != "" && was == 1 {
					k.undo(kind, "between")
				}
				if between == "another batch" {
					batches = append(batches, "other")
					_, err := whole.Act(t.Context(), k.act(kind, "other"))
					k.must(err)
					k.undo(kind, "again")
				}
				for range 2 {
					done, err := whole.Act(t.Context(), a)
					k.must(err)
					if !done.Done {
						t.Errorf("%s, died at %d, %s between: %+v", kind, step, between, done)
					}
				}
				k.once(fmt.Sprintf("%s, died at %d (behind it: %v), %s between", kind, step, behind, between), kind, batches...)
			}
		}
		return reached
	})
}

// TestActsThatSleep: one sleeps before a request while another carries the same act out, an operator
// undoes it, and another batch does its own.
func TestActsThatSleep(t *testing.T) {
	eachStep(t, func(kind string, step int) (reached bool) {
		for _, other := range []bool{false, true} {
			k := newBatchDesk(t)
			k.stands(kind)
			a := k.act(kind, "b")
			k.pass(time.Second)
			batches := []string{"b"}
			sleeper := k.through(before(step, func() error {
				reached = true
				whole := k.through(fine, fine)
				done, err := whole.Act(t.Context(), a)
				k.must(err)
				if !done.Done {
					t.Errorf("%s: %+v", kind, done)
				}
				k.undo(kind, "undone")
				if other {
					batches = append(batches, "other")
					_, err := whole.Act(t.Context(), k.act(kind, "other"))
					k.must(err)
					k.undo(kind, "again")
				}
				return nil
			}), fine)
			done, err := sleeper.Act(t.Context(), a)
			k.must(err)
			if !done.Done {
				t.Errorf("%s, slept at %d: %+v", kind, step, done)
			}
			k.once(fmt.Sprintf("%s, slept at %d, another batch: %v", kind, step, other), kind, batches...)
		}
		return reached
	})
}

// TestActsOutran: a consumer that is changed each time between being looked at and the act is left.
func TestActsOutran(t *testing.T) {
	k := newBatchDesk(t)
	n := 0
	d := k.through(func(int) error {
		n++
		if n%3 == 0 { // before each "unblock"
			_, _, err := k.store.Unblock(t.Context(), k.standing("q"), false, fmt.Sprint(n))
			k.must(err)
			k.block("q", 2)
		}
		return nil
	}, fine)
	done, err := d.Act(t.Context(), k.act(handoff.OpRedrive, "b"))
	k.must(err)
	if done.Done || done.Error != record.ErrOutran.Error() || k.made["unblock"] != 0 {
		t.Errorf("%+v, made %v", done, k.made)
	}
}

// TestActsBehindAnother: one sleeps while another carries the act out, and the act of another batch comes
// after that, which leaves what the operators' order is known by.
func TestActsBehindAnother(t *testing.T) {
	eachStep(t, func(kind string, step int) (reached bool) {
		k := newBatchDesk(t)
		k.stands(kind)
		a := k.act(kind, "b")
		k.pass(time.Second)
		sleeper := k.through(before(step, func() error {
			reached = true
			whole := k.through(fine, fine)
			_, err := whole.Act(t.Context(), a)
			k.must(err)
			pause := k.act(handoff.OpPause, "other")
			pause.Selects = func(handoff.Consumer) bool { return true }
			_, err = whole.Act(t.Context(), pause)
			k.must(err)
			return nil
		}), fine)
		done, err := sleeper.Act(t.Context(), a)
		k.must(err)
		if !done.Done {
			t.Errorf("%s, slept at %d: %+v", kind, step, done)
		}
		return reached
	})
}
