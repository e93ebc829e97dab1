// Package schedule says when an EventBridge rule or an EventBridge Scheduler
// schedule is due, and runs it then.
//
// Call [Parse], then [Schedule.Next] for a moment or [Schedule.Run] to be
// called at each. Nothing is stored: a schedule begins when it is run, and a
// moment that passes while the program is down is not made up for.
//
// The forms are those of "Setting a schedule pattern for scheduled rules"
// (Amazon EventBridge User Guide) and "Schedule types in EventBridge
// Scheduler" (EventBridge Scheduler User Guide): rate(5 minutes),
// cron(0 3 ? * MON-FRI *), at(2026-11-21T10:00:00).
package schedule

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Schedule is a schedule expression that has been read. Its zero value is
// never due.
type Schedule struct {
	every time.Duration  // of a rate, else 0
	cron  *cron          // of a cron, else nil
	at    time.Time      // of an at, else zero
	zone  *time.Location // in which cron and at are given
}

var (
	rateForm = regexp.MustCompile(`^rate\((\d{1,9}) (minute|minutes|hour|hours|day|days)\)$`)
	callForm = regexp.MustCompile(`^(cron|at)\((.*)\)$`)
)

var units = map[string]time.Duration{
	"minute": time.Minute, "minutes": time.Minute, "hour": time.Hour, "hours": time.Hour,
	"day": 24 * time.Hour, "days": 24 * time.Hour,
}

// Parse reads a schedule expression. zone is a name of the tz database for
// cron and at, UTC where empty; a rate has none.
func Parse(expression, zone string) (Schedule, error) {
	location, err := time.LoadLocation(zone)
	if err != nil {
		return Schedule{}, fmt.Errorf("time zone %q is not known", zone)
	}
	s := Schedule{zone: location}
	if parts := rateForm.FindStringSubmatch(expression); parts != nil {
		n, _ := strconv.Atoi(parts[1])
		plural := parts[2][len(parts[2])-1] == 's'
		if n == 0 || (n == 1) == plural || n > 999_999 {
			return Schedule{}, fmt.Errorf("schedule %q: a rate must be 1 minute, hour or day, or from 2 to 999999 minutes, hours or days", expression)
		}
		s.every = time.Duration(n) * units[parts[2]]
		return s, nil
	}
	parts := callForm.FindStringSubmatch(expression)
	switch {
	case parts == nil:
		return Schedule{}, fmt.Errorf("schedule %q must be rate(…), cron(…) or at(…)", expression)
	case parts[1] == "cron":
		s.cron, err = parseCron(parts[2])
	default:
		s.at, err = time.ParseInLocation("2006-01-02T15:04:05", parts[2], location)
	}
	if err != nil {
		return Schedule{}, fmt.Errorf("schedule %q: %w", expression, err)
	}
	return s, nil
}

// Next is the first moment after a time at which the schedule is due. Moments
// of a rate are counted from begun. ok is false if no such time comes.
func (s Schedule) Next(begun, after time.Time) (next time.Time, ok bool) {
	switch {
	case s.every > 0:
		if after.Before(begun) {
			return begun.Add(s.every), true
		}
		return begun.Add((after.Sub(begun)/s.every + 1) * s.every), true
	case s.cron != nil:
		return s.cron.next(after.In(s.zone))
	}
	return s.at, s.at.After(after)
}

// Run calls due at each moment of the schedule, with that moment, until ctx
// ends or no moment is left. A rate begins now: its first moment is one period
// away. due must not take long; moments that pass meanwhile are left out.
func (s Schedule) Run(ctx context.Context, due func(at time.Time)) {
	begun := time.Now()
	for {
		next, ok := s.Next(begun, time.Now())
		if !ok {
			return
		}
		timer := time.NewTimer(time.Until(next))
		select {
		case <-timer.C:
			due(next)
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}
