package template

// Schedule is an AWS::Events::Rule with a schedule, or an
// AWS::Scheduler::Schedule.
type Schedule struct {
	LogicalID, Name, ARN string
	Source               string // aws.events or aws.scheduler
	Expression           string // rate(…), cron(…) or at(…)
	Timezone             string // of cron and at: a name of the tz database
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
		LogicalID: id, Name: physical, ARN: arn("events", "rule/"+physical), Source: "aws.events",
		Expression: p.need("ScheduleExpression"), Timezone: "UTC",
		Enabled: p.oneOf("State", "ENABLED", "ENABLED", "DISABLED") == "ENABLED",
	}
	for _, target := range p.objects("Targets") {
		target.ignore("DeadLetterConfig", "Id", "RetryPolicy", "RoleArn")
		s.Targets = append(s.Targets, Target{Function: scheduled(target), Input: target.text("Input", "")})
		target.done()
	}
	r.template.Schedules = append(r.template.Schedules, s)
}

func (r *reader) schedule(id, physical string, p *props) {
	p.ignore("Description", "FlexibleTimeWindow", "GroupName", "KmsKeyArn")
	s := Schedule{
		LogicalID: id, Name: physical, ARN: arn("scheduler", "schedule/default/"+physical), Source: "aws.scheduler",
		Expression: p.need("ScheduleExpression"), Timezone: p.text("ScheduleExpressionTimezone", "UTC"),
		Enabled: p.oneOf("State", "ENABLED", "ENABLED", "DISABLED") == "ENABLED",
	}
	target := p.object("Target")
	if target == nil {
		p.bad("Target", "must be an object")
		return
	}
	target.ignore("DeadLetterConfig", "RetryPolicy", "RoleArn")
	s.Targets = []Target{{Function: scheduled(target), Input: target.text("Input", "")}}
	target.done()
	r.template.Schedules = append(r.template.Schedules, s)
}

// scheduled is the function that a schedule's target names.
func scheduled(p *props) string {
	target := p.need("Arn")
	name := FunctionName(target)
	if target != "" && FunctionARN(name) != target && !hasQualifier(target, name) {
		p.bad("Arn", "must be a function of this run, not %q", target)
	}
	return name
}

func hasQualifier(target, name string) bool {
	prefix := FunctionARN(name) + ":"
	return len(target) > len(prefix) && target[:len(prefix)] == prefix
}
