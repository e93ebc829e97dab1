package streamsort

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"
)

// addQueries saves queries for CloudWatch Logs Insights, over the functions' logs, in a folder of
// the console with this Streamsort's name.
func (s *Streamsort) addQueries() {
	for _, q := range []struct{ id, name, query string }{
		{"FailuresQuery", "What fails", `fields @timestamp, service, level, message, queue, consumer, error
| filter level in ["ERROR", "WARN"]
| sort @timestamp desc
| limit 200`},
		{"QueueQuery", "One queue (write its name)", `fields @timestamp, level, message, seq, outcome, consumer, delivered, messages, attempts, missingAfter, missingUpTo, error
| filter queue = "QUEUE"
| sort @timestamp desc
| limit 500`},
		{"RefusedQuery", "What callers were refused", `filter message = "answered" and (status >= 400 or refused > 0)
| stats count(*) as calls, sum(refused) as inThem by status, problem
| sort calls desc`},
		{"AnnouncedQuery", "What was announced", `filter message like /^(gap|consumer|chain)\./
| stats count(*) as runs, earliest(@timestamp) as since, latest(@timestamp) as until by message, queue, consumer, id
| sort until desc
| limit 200`},
		{"SlowQuery", "How long calls take, and cold starts", `filter type = "platform.report"
| stats count(*) as calls, pct(record.metrics.durationMs, 50) as median, pct(record.metrics.durationMs, 99) as p99, max(record.metrics.durationMs) as longest, count(record.metrics.initDurationMs) as coldStarts, max(record.metrics.maxMemoryUsedMB) as memoryMB by @log, bin(1h)
| sort p99 desc`},
	} {
		s.queries = append(s.queries,
			awslogs.NewCfnQueryDefinition(s.scope, jsii.String(q.id), &awslogs.CfnQueryDefinitionProps{
				Name: jsii.String(s.id + "/" + q.name), QueryString: jsii.String(q.query),
			}))
	}
	s.pointQueries()
	s.addThrottledQuery()
}

// addThrottledQuery saves the one query over the APIs' access logs.
func (s *Streamsort) addThrottledQuery() {
	groups := []any{s.accessLogs[s.api].LogGroupName()}
	if s.tenantAPI != nil {
		groups = append(groups, s.accessLogs[s.tenantAPI].LogGroupName())
	}
	awslogs.NewCfnQueryDefinition(s.scope, jsii.String("ThrottledQuery"),
		&awslogs.CfnQueryDefinitionProps{
			Name: jsii.String(s.id + "/Who was throttled"), LogGroupNames: &groups, QueryString: jsii.String(`filter status = 429
| stats count(*) as requests, earliest(@timestamp) as since, latest(@timestamp) as until by routeKey, sourceIp
| sort requests desc
| limit 100`),
		})
}

func (s *Streamsort) pointQueries() {
	var groups []*string
	for _, f := range s.functions() {
		groups = append(groups, f.function.LogGroup().LogGroupName())
	}
	for _, query := range s.queries {
		query.SetLogGroupNames(&groups)
	}
}
