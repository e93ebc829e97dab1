package template

import "strings"

// Schedule is an AWS::Events::Rule with a schedule.
type Schedule struct {
	LogicalID, Name, ARN string
	Expression           string // rate(…) or cron(…)
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
	if strings.HasPrefix(s.Expression, "cron(") {
		r.template.NotRun = append(r.template.NotRun,
			id+": a cron is never due here; POST /_streamsort/schedules/"+id+" runs it")
	}
	for _, target := range p.objects("Targets") {
		target.ignore("DeadLetterConfig", "Id", "RetryPolicy", "RoleArn")
		s.Targets = append(s.Targets, Target{Function: scheduled(target), Input: target.text("Input", "")})
		target.done()
	}
	r.template.Schedules = append(r.template.Schedules, s)
}

// scheduled is the function that a schedule's target names.
func scheduled(p *props) string {
	target := p.need("Arn")
	name := FunctionName(target)
	if target != "" && FunctionARN(name) != target && !strings.HasPrefix(target, FunctionARN(name)+":") {
		p.bad("Arn", "must be a function of this run, not %q", target)
	}
	return name
}
