package streamsort

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"
)

// alarm is what differs from one alarm to the next. It is raised where the statistic of the metric
// is threshold or more, in points of the last periods.
type alarm struct {
	id          string
	description string
	// section is that of the runbook: a state, or what several alarms share; empty: its own.
	section   string
	metric    metric
	statistic string
	threshold float64
	period    time.Duration // 5 minutes, or the sweep's interval where that is longer, if it is 0
	periods   int           // 1 where it is 0
	points    int           // all of them where it is 0
	silent    bool          // raised below the threshold, and where there is nothing
	page      bool          // the stack is down, or data stands or is lost: it wakes somebody
	// byTenant: where there are tenants, it is raised for each of them by itself, and for what is
	// no tenant's.
	byTenant bool
}

type metric struct {
	namespace, name string
	dimensions      []dimension
}

type dimension struct {
	name  string
	value *string
}

func lambdaMetric(function awslambda.Function, name string) metric {
	return metric{"AWS/Lambda", name, []dimension{{"FunctionName", function.FunctionName()}}}
}

func queueMetric(queue awssqs.IQueue, name string) metric {
	return metric{"AWS/SQS", name, []dimension{{"QueueName", queue.QueueName()}}}
}

func apiMetric(namespace, name string, api awsapigatewayv2.CfnApi) metric {
	return metric{namespace, name, []dimension{{"ApiId", api.Ref()}}}
}

func tableMetric(table awsdynamodb.TableV2, name string) metric {
	return metric{"AWS/DynamoDB", name, []dimension{{"TableName", table.TableName()}}}
}

// ownMetric is one that a function writes.
func (s *Streamsort) ownMetric(function awslambda.Function, name string) metric {
	return metric{metricsNamespace, name, []dimension{
		{"service", jsii.String(s.service())}, {"function_name", function.FunctionName()},
	}}
}

// apiNamespace has API Gateway's own metrics, visible is how many messages a queue of SQS has.
const apiNamespace, visible = "AWS/ApiGateway", "ApproximateNumberOfMessagesVisible"

// Ages of the oldest record that a stream's function has not dealt with. A stream keeps records for
// 24 hours: at the second age as much time is left as has been lost.
const (
	behind    = time.Hour
	farBehind = 12 * time.Hour
)

// named is a function by the name that its alarms begin with.
type named struct {
	name     string
	function awslambda.Function
}

func (s *Streamsort) functions() []named {
	return append(deployed(
		named{"Enqueue", s.EnqueueFunction},
		named{"Sort", s.SortFunction},
		named{"Sweep", s.SweepFunction},
		named{"Delivery", s.DeliveryFunction},
		named{"Ack", s.AckFunction},
		named{"Process", s.ProcessFunction},
		named{"ProcessSlow", s.SlowFunction},
		named{"Webhook", s.WebhookFunction},
	), s.sources...)
}

// readingStreams are those that event source mappings call.
func (s *Streamsort) readingStreams() []named {
	return deployed(named{"Sort", s.SortFunction}, named{"Ack", s.AckFunction},
		named{"Process", s.ProcessFunction})
}

func deployed(all ...named) []named {
	return slices.DeleteFunc(all, func(f named) bool { return f.function == nil })
}

// namedTable is a table by the name that its alarm begins with.
type namedTable struct {
	name  string
	table awsdynamodb.TableV2
}

// busyTables are those that every message is written to.
func (s *Streamsort) busyTables() []namedTable {
	return []namedTable{{"Messages", s.MessagesTable}, {"Cursors", s.CursorsTable},
		{"Consumers", s.ConsumersTable}}
}

func (s *Streamsort) tables() []namedTable {
	return append(s.busyTables(), namedTable{"Arrivals", s.ArrivalsTable},
		namedTable{"Audit", s.AuditTable}, namedTable{"Trouble", s.TroubleTable},
		namedTable{"Chains", s.ChainsTable},
		namedTable{"Dedup", s.DedupTable})
}

// addAlarms makes every alarm of docs/reference/runbook.md, which has a section for each.
func (s *Streamsort) addAlarms() {
	sweep := func(name string) metric { return s.ownMetric(s.SweepFunction, name) }
	all := []alarm{
		{
			// The one that watches the one which watches everything else: raised where no sweep
			// reports how old its round is.
			id: "SweepSilentAlarm", description: "The sweep is silent: gaps and stuck consumers are not handled", metric: sweep("RoundAge"),
			statistic: "SampleCount", threshold: 1, period: 5 * time.Minute, periods: 3, silent: true, page: true,
		},
		{
			id: "RoundAgeAlarm", description: "A round of the sweep takes too long: gaps, stuck consumers and chains are seen late", metric: sweep("RoundAge"),
			statistic: "Maximum", threshold: (s.props.SweepInterval + sweepCalls).Seconds(), periods: 3, points: 2,
		},
		{
			id: "GapAgeAlarm", section: "gap", byTenant: true, page: true, description: "A message has been missing for long; what follows it waits", metric: sweep("GapAge"),
			statistic: "Maximum", threshold: s.props.LagAfter.Seconds(),
		},
		{
			id: "SettleAgeAlarm", byTenant: true, description: "Messages of a keyed queue wait for longer than its settle window, and no sweep has placed them", metric: sweep("SettleAge"),
			statistic: "Maximum", threshold: (s.props.SweepInterval + sweepCalls).Seconds(), periods: 3, points: 2,
		},
		{
			id: "ConsumersBlockedAlarm", section: "blocked", byTenant: true, page: true, description: "A message fails for good; a consumer is blocked in its queue", metric: sweep("ConsumersBlocked"),
			statistic: "Maximum", threshold: 1,
		},
		{
			id: "CircuitOpenAlarm", section: "held", description: "A consumer's sink is away; nothing is delivered to it but a probe", metric: sweep("CircuitsOpen"),
			statistic: "Maximum", threshold: 1, periods: 3, points: 2,
		},
		{
			// A claim in doubt settles itself when its consumer is back.
			id: "ConsumersInDoubtAlarm", section: "in-doubt", byTenant: true, description: "A claim was prepared and is not settled; its consumer waits", metric: sweep("ConsumersInDoubt"),
			statistic: "Maximum", threshold: 1, periods: 3,
		},
		{
			id: "ConsumersQuarantinedAlarm", section: "in-doubt", byTenant: true, description: "A claim was put aside: nobody knows whether it was committed", metric: sweep("ConsumersQuarantined"),
			statistic: "Maximum", threshold: 1,
		},
		{
			id: "ConsumersMissingAlarm", section: "blocked", byTenant: true, page: true, description: "A message was gone before a consumer had it", metric: sweep("ConsumersMissing"),
			statistic: "Sum", threshold: 1,
		},
		{
			id: "ConsumerLagAlarm", section: "catching-up", byTenant: true, page: true, description: "Messages wait for long to be delivered", metric: sweep("ConsumerLag"),
			statistic: "Maximum", threshold: s.props.LagAfter.Seconds(), periods: 3,
		},
		{
			id: "ChainsTimedOutAlarm", byTenant: true, description: "Work that is tracked did not end in time", metric: sweep("ChainsTimedOut"),
			statistic: "Sum", threshold: 1,
		},
		{
			id: "FailureQueueAlarm", description: "A stream mapping has given records up",
			metric:    queueMetric(s.FailureQueue, visible),
			statistic: "Maximum", threshold: 1,
		},
	}
	all = append(all, apiAlarms("Api", "The HTTP API", s.api)...)
	if s.tenantAPI != nil {
		all = append(all, apiAlarms("TenantApi", "The tenants' HTTP API", s.tenantAPI)...)
	}
	if s.WebhookFunction != nil {
		all = append(all, alarm{
			id:          "WebhooksThrottledAlarm",
			description: "Senders were answered 429, which not all of them repeat",
			metric:      apiMetric(accessNamespace, webhooksThrottled, s.api),
			statistic:   "Sum", threshold: 1,
		}, alarm{
			id:          "WebhooksRefusedAlarm",
			description: "Requests of known senders are not signed as they must be",
			metric:      s.ownMetric(s.WebhookFunction, "WebhooksRefused"),
			statistic:   "Sum", threshold: 5,
		})
	}
	for _, f := range s.readingStreams() {
		all = append(all, streamAlarms(f)...)
	}
	for _, f := range s.functions() {
		all = append(all, callAlarms(f)...)
	}
	all = append(all, rollbackAlarm(enqueuePut, s.EnqueueFunction, putAlias))
	if s.url != nil {
		all = append(all, rollbackAlarm(enqueueURL, s.EnqueueFunction, urlAlias))
	}
	for _, t := range s.tables() {
		all = append(all, recurring(t.name+"ThrottledAlarm", "TableThrottledAlarm",
			"Writes to the table are throttled", tableMetric(t.table, "WriteThrottleEvents")))
	}
	for _, a := range all {
		s.addAlarm(a)
	}
}

// recurring is an alarm of what comes in two of three periods, however few of them.
func recurring(id, section, description string, m metric) alarm {
	return alarm{id: id, section: section, description: description, metric: m, statistic: "Sum",
		threshold: 1, periods: 3, points: 2}
}

func apiAlarms(id, what string, api awsapigatewayv2.CfnApi) []alarm {
	return []alarm{
		{
			id: id + "FailsAlarm", section: "ApiFailsAlarm", page: true, description: what + " answers 5xx",
			metric: apiMetric(apiNamespace, "5xx", api),
			// Fewer are a ticket of the function. Rejected: a share (metric math, which no test
			// deploys).
			statistic: "Sum", threshold: 10, periods: 3, points: 2,
		},
		recurring(id+"ThrottledAlarm", "ApiThrottledAlarm", what+" answers 429",
			apiMetric(accessNamespace, throttled, api)),
	}
}

func callAlarms(f named) []alarm {
	return []alarm{
		recurring(f.name+"ErrorsAlarm", "ErrorsAlarm", "Calls of the function fail",
			lambdaMetric(f.function, "Errors")),
		recurring(f.name+"ThrottlesAlarm", "ThrottlesAlarm", "Calls of the function are throttled",
			lambdaMetric(f.function, "Throttles")),
		rollbackAlarm(f.name, f.function, alias),
	}
}

func streamAlarms(f named) []alarm {
	var all []alarm
	for _, a := range []struct {
		id  string
		age time.Duration
	}{{"BehindAlarm", behind}, {"FarBehindAlarm", farBehind}} {
		all = append(all, alarm{
			id: f.name + a.id, section: "BehindAlarm", page: a.age == farBehind,
			description: "The oldest record that waits in the stream is " + text(a.age) +
				" old; at 24h the stream drops it",
			metric: lambdaMetric(f.function, "IteratorAge"), statistic: "Maximum",
			threshold: float64(a.age.Milliseconds()),
		})
	}
	return all
}

// addAlarm makes an alarm that notifies the topic of its severity, where there is one.
func (s *Streamsort) addAlarm(a alarm) {
	period := cmp.Or(a.period, max(s.props.SweepInterval, 5*time.Minute))
	props := &awscloudwatch.CfnAlarmProps{
		AlarmDescription: jsii.String(fmt.Sprintf("Streamsort: %s. See docs/reference/runbook.md#%s",
			a.description, strings.ToLower(cmp.Or(a.section, a.id)))),
		EvaluationPeriods:  jsii.Number(max(a.periods, 1)),
		Threshold:          &a.threshold,
		ComparisonOperator: jsii.String("GreaterThanOrEqualToThreshold"),
		TreatMissingData:   jsii.String("notBreaching"),
	}
	if a.silent {
		props.ComparisonOperator, props.TreatMissingData = jsii.String("LessThanThreshold"),
			jsii.String("breaching")
	}
	if a.points != 0 {
		props.DatapointsToAlarm = jsii.Number(a.points)
	}
	if a.byTenant && s.props.hasTenants() {
		s.watchTenants(props, a, period)
	} else {
		watch(props, a, period)
	}
	topic := *s.props.AnnounceTopic
	if a.page {
		topic = cmp.Or(*s.props.PageTopic, topic)
	}
	if topic != "" {
		props.AlarmActions, props.OkActions = &[]any{&topic}, &[]any{&topic}
	}
	made := awscloudwatch.NewCfnAlarm(s.scope, &a.id, props)
	s.alarms[a.id] = made
	if a.page && *s.props.PageTopic != "" {
		s.addPage(made)
	}
}

// addPage has DownAlarm be raised while the alarm is. It notifies nobody: the alarm does.
func (s *Streamsort) addPage(page awscloudwatch.CfnAlarm) {
	s.pages = append(s.pages, `ALARM("`+*page.Ref()+`")`)
	rule := jsii.String(strings.Join(s.pages, " OR "))
	if s.down != nil {
		s.down.SetAlarmRule(rule)
		return
	}
	s.down = awscloudwatch.NewCfnCompositeAlarm(s.scope, jsii.String("DownAlarm"),
		&awscloudwatch.CfnCompositeAlarmProps{
			AlarmDescription: jsii.String(
				"Streamsort is down, or messages stand. See docs/reference/alarms.md"), AlarmRule: rule,
		})
}

func watch(props *awscloudwatch.CfnAlarmProps, a alarm, period time.Duration) {
	props.Namespace, props.MetricName, props.Statistic = &a.metric.namespace,
		&a.metric.name, &a.statistic
	props.Period = jsii.Number(period.Seconds())
	var dimensions []any
	for _, d := range a.metric.dimensions {
		dimensions = append(dimensions,
			&awscloudwatch.CfnAlarm_DimensionProperty{Name: &d.name, Value: d.value})
	}
	props.Dimensions = &dimensions
}

// watchTenants has an alarm look at its metric of each tenant: every row of the query is a
// contributor with a state of its own, so that the trouble of one tenant, however long it lasts,
// does not hide the next one's.
func (s *Streamsort) watchTenants(props *awscloudwatch.CfnAlarmProps, a alarm,
	period time.Duration) {
	function := map[string]string{"Maximum": "MAX", "Sum": "SUM"}[a.statistic]
	props.Metrics = []any{&awscloudwatch.CfnAlarm_MetricDataQueryProperty{
		Id: jsii.String("tenants"), Period: jsii.Number(period.Seconds()), ReturnData: true,
		Expression: jsii.String(fmt.Sprintf(`SELECT %s(%s) FROM SCHEMA("%s", service, tenant) WHERE service = '%s' GROUP BY tenant ORDER BY %s() DESC`,
			function, a.metric.name, a.metric.namespace, s.service(), function)),
	}}
}
