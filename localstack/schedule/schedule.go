// Package schedule says when an EventBridge rule with a rate is due, and runs it then.
//
// Call [Parse], then [Schedule.Run] to be called at each moment. Nothing is stored: a schedule
// begins when it is run, and a moment that passes while the program is down is not made up for.
//
// The form is that of "Setting a schedule pattern for scheduled rules" (Amazon EventBridge User
// Guide): rate(5 minutes). A cron expression is accepted, and is never due.
package schedule

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Schedule is a schedule expression that has been read. Its zero value is never due.
type Schedule struct{ every time.Duration }

var rateForm = regexp.MustCompile(`^rate\((\d{1,9}) (minute|minutes|hour|hours|day|days)\)$`)

var units = map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}

// Parse reads a schedule expression.
func Parse(expression string) (Schedule, error) {
	if strings.HasPrefix(expression, "cron(") {
		return Schedule{}, nil
	}
	parts := rateForm.FindStringSubmatch(expression)
	if parts == nil {
		return Schedule{}, fmt.Errorf("schedule %q must be rate(…), or cron(…)", expression)
	}
	n, _ := strconv.Atoi(parts[1])
	unit, plural := strings.CutSuffix(parts[2], "s")
	if n == 0 || (n == 1) == plural || n > 999_999 {
		return Schedule{}, fmt.Errorf("schedule %q: a rate must be 1 minute, hour or day, or from "+
			"2 to 999999 minutes, hours or days", expression)
	}
	return Schedule{time.Duration(n) * units[unit]}, nil
}

// Run calls due at each moment of the schedule, with that moment, until ctx ends. The first moment
// is one period away. due must not take long; moments that pass meanwhile are left out.
func (s Schedule) Run(ctx context.Context, due func(at time.Time)) {
	if s.every == 0 {
		return
	}
	begun := time.Now()
	for {
		next := begun.Add((time.Since(begun)/s.every + 1) * s.every)
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
