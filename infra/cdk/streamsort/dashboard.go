package streamsort

import (
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"
)

type line struct {
	metric    metric
	statistic string
	label     string
	right     bool // by the scale on the right
}

// graph is a widget of the dashboard, half as wide as it.
type graph struct {
	title string
	lines []line
}

// addDashboard makes a dashboard to be read from the top: what comes in, what waits for a missing
// message, what goes out, and what goes wrong. CloudFormation names it, since names are the
// account's, not the region's.
func (s *Streamsort) addDashboard() {
	s.dashboard = awscloudwatch.NewCfnDashboard(s.scope, jsii.String("Dashboard"),
		&awscloudwatch.CfnDashboardProps{
			DashboardBody: s.dashboardBody(),
		})
}

func (s *Streamsort) dashboardBody() *string {
	region := awscdk.Stack_Of(s.scope).Region()
	const width, height = 12, 6
	widgets := []any{map[string]any{
		"type": "text", "x": 0, "y": 0, "width": 2 * width, "height": 1,
		"properties": map[string]any{"markdown": "**" + s.id + "** (Streamsort): what comes in, what waits, what goes out, what goes wrong"},
	}}
	for i, g := range s.graphs() {
		var metrics []any
		for _, l := range g.lines {
			metrics = append(metrics, l.row())
		}
		widgets = append(widgets, map[string]any{
			"type": "metric", "x": i % 2 * width, "y": 1 + i/2*height, "width": width, "height": height,
			"properties": map[string]any{"title": g.title, "region": region, "metrics": metrics, "period": 300, "view": "timeSeries"},
		})
	}
	return awscdk.Stack_Of(s.scope).
		ToJsonString(map[string]any{"start": "-PT12H", "widgets": widgets}, nil)
}

// row is a line as CloudWatch reads it: the metric, its dimensions and how to draw it.
func (l line) row() []any {
	row := []any{l.metric.namespace, l.metric.name}
	for _, d := range l.metric.dimensions {
		row = append(row, d.name, d.value)
	}
	draw := map[string]any{"stat": l.statistic, "label": l.label}
	if l.right {
		draw["yAxis"] = "right"
	}
	return append(row, draw)
}

func (s *Streamsort) graphs() []graph {
	// sums are metrics of a function, each with its label behind it.
	sums := func(f awslambda.Function, names ...string) (all []line) {
		for pair := range slices.Chunk(names, 2) {
			all = append(all, line{metric: s.ownMetric(f, pair[0]), statistic: "Sum", label: pair[1]})
		}
		return all
	}
	sweep := func(name, label string, right bool) line {
		return line{s.ownMetric(s.SweepFunction, name), "Maximum", label, right}
	}
	api := func(name, statistic, label string, right bool) line {
		return line{apiMetric(apiNamespace, name, s.api), statistic, label, right}
	}
	var ages, failing, throttled graph
	ages.title, failing.title, throttled.title = "Streams: age of the oldest record that waits (ms)",
		"Functions: calls that fail", "Throttled: functions, tables"
	for _, f := range s.readingStreams() {
		ages.lines = append(ages.lines,
			line{metric: lambdaMetric(f.function, "IteratorAge"), statistic: "Maximum", label: f.name})
	}
	for _, f := range s.functions() {
		failing.lines = append(failing.lines,
			line{metric: lambdaMetric(f.function, "Errors"), statistic: "Sum", label: f.name})
		throttled.lines = append(throttled.lines,
			line{metric: lambdaMetric(f.function, "Throttles"), statistic: "Sum", label: f.name})
	}
	units := graph{title: "Tables: write units"}
	for _, t := range s.busyTables() {
		throttled.lines = append(throttled.lines,
			line{tableMetric(t.table, "WriteThrottleEvents"), "Sum", t.name, true})
		units.lines = append(units.lines, line{metric: tableMetric(t.table, "ConsumedWriteCapacityUnits"),
			statistic: "Sum", label: t.name})
	}
	all := []graph{
		{"In: messages", sums(s.EnqueueFunction, "MessagesStored", "stored", "Parked", "beyond a gap", "Duplicates", "again", "Conflicts", "another under the same seq")},
		{"In: requests", []line{api("Count", "Sum", "requests", false), api("4xx", "Sum", "refused", false), api("5xx", "Sum", "failed", false), api("Latency", "p99", "99 % within (ms)", true)}},
		{"Waiting for a missing message", []line{sweep("OpenGaps", "queues", false), sweep("GapAge", "oldest gap (s)", true)}},
		{"Waiting for a settle window", []line{
			sweep("Waiting", "messages", false),
			{s.ownMetric(s.SortFunction, "Late"), "Sum", "late, by sort", false},
			{s.ownMetric(s.SweepFunction, "Late"), "Sum", "late, by sweep", false},
			sweep("SettleAge", "longest overdue (s)", true),
		}},
		{"Waiting for a consumer", []line{sweep("ConsumersLagging", "lagging", false), sweep("ConsumersBlocked", "blocked", false), sweep("CircuitsOpen", "sinks away", false), sweep("ConsumersInDoubt", "in doubt", false), sweep("ConsumersQuarantined", "in quarantine", false), sweep("ConsumerLag", "oldest message (s)", true)}},
		ages, failing, throttled, units,
		{"Given up, by stream mappings", []line{
			{queueMetric(s.FailureQueue, visible), "Maximum", "in the failure queue", false},
		}},
	}
	if s.WebhookFunction != nil {
		all = append(all, graph{"In: requests signed by their senders", sums(s.WebhookFunction,
			"WebhooksAccepted", "accepted", "WebhooksRefused", "wrong signature",
			"WebhooksUnknown", "unknown sender", "WebhooksInvalid", "not understood")})
	}
	if s.ProcessFunction != nil {
		all = append(all, graph{"Out: delivered by process", sums(s.ProcessFunction,
			"Delivered", "messages", "DeliveriesFailed", "batches refused", "DeliveriesLost",
			"claims taken over")})
	}
	return all
}
