package sim

import "time"

// Clock starts an actor that moves a time on by each step, at any moments.
func (r *Run) Clock(now *time.Time, steps ...time.Duration) {
	r.Go("clock", func(p *Proc) {
		for i, step := range steps {
			p.Forget().Int(int64(i))
			if p.Choose(Labelf("%v pass", step), nil, "") < 0 {
				return
			}
			*now = now.Add(step)
		}
	})
}
