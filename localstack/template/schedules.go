package template

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Schedule is an AWS::Events::Rule with a schedule.
type Schedule struct {
	LogicalID, Name, ARN string
	Expression           string        // rate(…) or cron(…)
	Every                time.Duration `json:"-"` // the rate; zero for a cron, which is never due here
	Enabled              bool
	Targets              []Target
}

// Target is a function that a schedule invokes, asynchronously.
type Target struct {
	Function string
	Input    string // JSON text; empty for the service's own event
}

func (r *reader) rule(id, physical string, p *props) {
	p.ignore("Description", "RoleArn", "Tags")
	s := Schedule{
		LogicalID: id, Name: physical, ARN: arn("events", "rule/"+physical),
		Expression: p.need("ScheduleExpression"),
		Enabled:    p.oneOf("State", "ENABLED", "ENABLED", "DISABLED") == "ENABLED",
	}
	var err error
	if s.Every, err = rate(s.Expression); err != nil {
		p.bad("ScheduleExpression", "%v", err)
	} else if s.Every == 0 {
		r.template.NotRun = append(r.template.NotRun,
			id+": a cron is never due here; POST /_streamsort/schedules/"+id+" runs it")
	}
	for _, target := range p.objects("Targets") {
		target.ignore("DeadLetterConfig", "Id", "RetryPolicy", "RoleArn")
		s.Targets = append(s.Targets,
			Target{Function: scheduled(target), Input: target.text("Input", "")})
	}
	r.template.Schedules = append(r.template.Schedules, s)
}

var rateForm = regexp.MustCompile(`^rate\((\d{1,9}) (minute|minutes|hour|hours|day|days)\)$`)

var rateUnits = map[string]time.Duration{
	"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour,
}

// rate reads a schedule expression, such as rate(5 minutes), in the form of "Setting a schedule
// pattern for scheduled rules" (Amazon EventBridge User Guide). It is zero for a cron.
func rate(expression string) (time.Duration, error) {
	if strings.HasPrefix(expression, "cron(") {
		return 0, nil
	}
	parts := rateForm.FindStringSubmatch(expression)
	if parts == nil {
		return 0, fmt.Errorf("must be rate(…) or cron(…), not %q", expression)
	}
	n, _ := strconv.Atoi(parts[1])
	unit, plural := strings.CutSuffix(parts[2], "s")
	if n == 0 || (n == 1) == plural || n > 999_999 {
		return 0, fmt.Errorf("must be a rate of 1 minute, hour or day, "+
			"or of 2 to 999999 minutes, hours or days, not %q", expression)
	}
	return time.Duration(n) * rateUnits[unit], nil
}

// scheduled is the function that a schedule's target names.
func scheduled(p *props) string {
	target := p.need("Arn")
	name := FunctionName(target)
	if target != "" && FunctionARN(name) != target &&
		!strings.HasPrefix(target, FunctionARN(name)+":") {
		p.bad("Arn", "must be a function of this run, not %q", target)
	}
	return name
}
