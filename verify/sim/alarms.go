package sim

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Alarms are wake-ups under way, by what they are about: the earliest of each thing, since one that
// comes too early says when the thing is due. Nil ones take none.
type Alarms map[string]time.Time

// Set takes a wake-up.
func (a Alarms) Set(thing string, due time.Time) {
	if was, set := a[thing]; a != nil && (!set || due.Before(was)) {
		a[thing] = due
	}
}

// most is after how many wake-ups in the end something goes on for ever.
const most = 100

// Run lets time pass from one wake-up to the next until none is left. wake says when the thing is
// due; the zero time where it is not.
func (a Alarms) Run(now *time.Time, wake func(thing string) (time.Time, error)) error {
	for range most {
		if len(a) == 0 {
			return nil
		}
		first := slices.MinFunc(slices.Sorted(maps.Keys(a)), func(x, y string) int {
			return a[x].Compare(a[y])
		})
		if a[first].After(*now) {
			*now = a[first]
		}
		delete(a, first)
		next, err := wake(first)
		if err != nil {
			return fmt.Errorf("the wake-up of %s: %w", first, err)
		}
		if !next.IsZero() {
			a.Set(first, next)
		}
	}
	return fmt.Errorf("%d wake-ups, and no end", most)
}

// Hash feeds them.
func (a Alarms) Hash(d *Digest) {
	for _, thing := range slices.Sorted(maps.Keys(a)) {
		d.Text(thing)
		d.Int(a[thing].UnixMilli())
	}
}

// Clock starts an actor that moves a time on by each step, at any moments; only where ready, if it
// is not nil.
func (r *Run) Clock(now *time.Time, ready func(step time.Duration) bool, steps ...time.Duration) {
	r.Go("clock", func(p *Proc) {
		for i, step := range steps {
			p.Forget().Int(int64(i))
			open := func() bool { return ready == nil || ready(step) }
			if p.Choose(Labelf("%v pass", step), open, "") < 0 {
				return
			}
			*now = now.Add(step)
		}
	})
}
