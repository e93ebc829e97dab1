package sim

import "time"

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
