package xorack

import (
	"context"
	"time"
)

// scheduleAhead is how far ahead the creator of a chain schedules its wake-up. The sweep reads
// those that have longer half of that before their deadline, and schedules it then.
const scheduleAhead = time.Hour

// late is when a chain that stays as it is times out; the zero time where it is not open.
func (c Chain) late() time.Time {
	switch {
	case !c.IsCreated() || c.End() != Open:
		return time.Time{}
	case c.Idle > 0 && c.Seen.Add(c.Idle).Before(c.Deadline):
		return c.Seen.Add(c.Idle)
	}
	return c.Deadline
}

// schedule schedules a wake-up for when a chain is late. Parts of a fan end with their tree.
func (a *Acker) schedule(c Chain) {
	late := c.late()
	if !c.Sub && !late.IsZero() && a.wakeUp != nil && late.Sub(a.now()) <= scheduleAhead {
		a.wakeUp(c.Tag, late)
	}
}

// Wake does for one chain what the sweep does, if it is late, or has ended and was not finished. It
// returns when the chain is late: the zero time where it has ended. Call it when [Options].WakeUp
// said, or at any other time.
//
// It costs one read where nothing is due.
func (a *Acker) Wake(ctx context.Context, tag string,
	announce Announce) (SweepReport, time.Time, error) {
	if err := ValidateTag(tag); err != nil {
		return SweepReport{}, time.Time{}, err
	}
	c, err := a.store.Chain(ctx, tag)
	if err != nil || c.Due.IsZero() {
		return SweepReport{}, time.Time{}, err
	}
	run := sweepRun{acker: a, announce: announce, now: a.now()}
	if late := c.late(); c.End() == Open && !c.acked() && (late.IsZero() || late.After(run.now)) {
		return SweepReport{}, late, nil
	}
	ctx, cancel := context.WithTimeout(ctx, turn)
	defer cancel()
	did, c, err := run.handle(ctx, c)
	did.Chains = 1
	if err != nil {
		did.Failed = 1
		return did, time.Time{}, err
	}
	return did, c.late(), nil
}
