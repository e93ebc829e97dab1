package streamsort

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rule is what an alarm says, in short.
type rule struct {
	metric     string // with the value of its last dimension
	statistic  string
	threshold  float64
	period     float64
	points, of float64
}

// wantAlarms are the alarms of a stack with default properties, by logical id;
// with process, webhook and tenants as well.
func wantAlarms(all bool) map[string]rule {
	const five = 300
	want := map[string]rule{
		"SweepSilentAlarm":          {"Streamsort RoundAge SweepFunction", "SampleCount", 1, five, 3, 3},
		"RoundAgeAlarm":             {"Streamsort RoundAge SweepFunction", "Maximum", 300, five, 2, 3},
		"GapAgeAlarm":               {"Streamsort GapAge SweepFunction", "Maximum", 900, five, 1, 1},
		"SettleAgeAlarm":            {"Streamsort SettleAge SweepFunction", "Maximum", 300, five, 2, 3},
		"ConsumersBlockedAlarm":     {"Streamsort ConsumersBlocked SweepFunction", "Maximum", 1, five, 1, 1},
		"CircuitOpenAlarm":          {"Streamsort CircuitsOpen SweepFunction", "Maximum", 1, five, 2, 3},
		"ConsumersInDoubtAlarm":     {"Streamsort ConsumersInDoubt SweepFunction", "Maximum", 1, five, 3, 3},
		"ConsumersQuarantinedAlarm": {"Streamsort ConsumersQuarantined SweepFunction", "Maximum", 1, five, 1, 1},
		"ConsumersMissingAlarm":     {"Streamsort ConsumersMissing SweepFunction", "Sum", 1, five, 1, 1},
		"ConsumerLagAlarm":          {"Streamsort ConsumerLag SweepFunction", "Maximum", 900, five, 3, 3},
		"ChainsTimedOutAlarm":       {"Streamsort ChainsTimedOut SweepFunction", "Sum", 1, five, 1, 1},
		"FailureQueueAlarm":         {"AWS/SQS ApproximateNumberOfMessagesVisible FailureQueue.QueueName", "Maximum", 1, five, 1, 1},
		"ApiFailsAlarm":             {"AWS/ApiGateway 5xx Api", "Sum", 1, five, 2, 3},
		"ApiThrottledAlarm":         {"Streamsort/Access Throttled Api", "Sum", 1, five, 2, 3},
	}
	functions, streams := []string{"Enqueue", "Sort", "Sweep", "Delivery", "Ack"}, []string{"Sort", "Ack"}
	if all {
		functions, streams = append(functions, "Process", "Webhook"), append(streams, "Process")
		want["TenantApiFailsAlarm"] = rule{"AWS/ApiGateway 5xx TenantApi", "Sum", 1, five, 2, 3}
		want["TenantApiThrottledAlarm"] = rule{"Streamsort/Access Throttled TenantApi", "Sum", 1, five, 2, 3}
		want["WebhooksThrottledAlarm"] = rule{"Streamsort/Access WebhooksThrottled Api", "Sum", 1, five, 1, 1}
		want["WebhooksRefusedAlarm"] = rule{"Streamsort WebhooksRefused WebhookFunction", "Sum", 5, five, 1, 1}
	}
	for _, f := range functions {
		want[f+"ErrorsAlarm"] = rule{"AWS/Lambda Errors " + f + "Function", "Sum", 1, five, 2, 3}
		want[f+"ThrottlesAlarm"] = rule{"AWS/Lambda Throttles " + f + "Function", "Sum", 1, five, 2, 3}
		want[f+"RollbackAlarm"] = rule{"AWS/Lambda Errors " + f + "Function", "Sum", 1, 60, 2, 3}
	}
	want["EnqueuePutRollbackAlarm"] = want["EnqueueRollbackAlarm"]
	for _, f := range streams {
		want[f+"BehindAlarm"] = rule{"AWS/Lambda IteratorAge " + f + "Function", "Maximum", 3600_000, five, 1, 1}
		want[f+"FarBehindAlarm"] = rule{"AWS/Lambda IteratorAge " + f + "Function", "Maximum", 12 * 3600_000, five, 1, 1}
	}
	tables := []string{"Messages", "Cursors", "Sweeps", "Arrivals", "Consumers", "Audit", "Trouble", "Chains", "Dedup"}
	if all {
		tables = append(tables, "Quotas")
	}
	for _, table := range tables {
		want[table+"ThrottledAlarm"] = rule{"AWS/DynamoDB WriteThrottleEvents " + table + "Table", "Sum", 1, five, 2, 3}
	}
	return want
}

func TestAlarms(t *testing.T) {
	if diff := cmp.Diff(wantAlarms(false), alarms(t, defaults()), cmp.AllowUnexported(rule{})); diff != "" {
		t.Errorf("(- want, + got)\n%s", diff)
	}
	want := wantAlarms(true)
	// Under changedProps: a minute between rounds, and other ages.
	for id, set := range map[string]func(*rule){
		"RoundAgeAlarm":    func(r *rule) { r.threshold = 120 },
		"GapAgeAlarm":      func(r *rule) { r.threshold = 3600 },
		"SettleAgeAlarm":   func(r *rule) { r.threshold = 120 },
		"ConsumerLagAlarm": func(r *rule) { r.threshold = 3600 },
	} {
		r := want[id]
		set(&r)
		want[id] = r
	}
	for _, id := range []string{"GapAgeAlarm", "SettleAgeAlarm", "ConsumersBlockedAlarm", "ConsumersInDoubtAlarm", "ConsumersQuarantinedAlarm", "ConsumersMissingAlarm", "ConsumerLagAlarm", "ChainsTimedOutAlarm"} {
		r := want[id]
		r.metric = strings.TrimSuffix(r.metric, "SweepFunction") + "tenants"
		want[id] = r
	}
	if diff := cmp.Diff(want, alarms(t, changed()), cmp.AllowUnexported(rule{})); diff != "" {
		t.Errorf("(- want, + got)\n%s", diff)
	}
}

// alarms reads a template's alarms, and what all of them have in common.
func alarms(t *testing.T, tmpl template) map[string]rule {
	t.Helper()
	all := map[string]rule{}
	for id, resource := range tmpl.Resources {
		if resource["Type"] != "AWS::CloudWatch::Alarm" {
			continue
		}
		p := resource["Properties"].(object)
		var r rule
		var service any
		if p["Metrics"] != nil {
			r = tenantsRule(t, id, p)
		} else {
			dimensions := p["Dimensions"].([]any)
			service = dimensions[0].(object)["Value"]
			r = rule{
				metric:    fmt.Sprintf("%s %s %s", p["Namespace"], p["MetricName"], name(dimensions[len(dimensions)-1].(object)["Value"])),
				statistic: p["Statistic"].(string), period: p["Period"].(float64),
			}
		}
		r.threshold, r.of = p["Threshold"].(float64), p["EvaluationPeriods"].(float64)
		r.points = r.of
		if points, ok := p["DatapointsToAlarm"].(float64); ok {
			r.points = points
		}
		all[id] = r
		compare, missing := "GreaterThanOrEqualToThreshold", "notBreaching"
		if id == "SweepSilentAlarm" {
			compare, missing = "LessThanThreshold", "breaching"
		}
		if p["ComparisonOperator"] != compare || p["TreatMissingData"] != missing {
			t.Errorf("%s: %v, %v where nothing is measured", id, p["ComparisonOperator"], p["TreatMissingData"])
		}
		if _, section, _ := strings.Cut(p["AlarmDescription"].(string), ". See docs/reference/runbook.md#"); !runbook(t)[section] {
			t.Errorf("%s is described as %v; it must end with its section of the runbook", id, p["AlarmDescription"])
		}
		switch tmpl.Resources["MessagesTable"]["DeletionPolicy"] {
		case "Delete": // changedProps
			topic := []any{"arn:aws:sns:eu-west-1:123456789012:" + severities(t)[listed(t, id)]}
			diff(t, id+" notifies", []any{topic, topic}, []any{p["AlarmActions"], p["OKActions"]})
			if p["Namespace"] == "Streamsort" && service != "orders" {
				t.Errorf("%s watches service %v", id, service)
			}
		default:
			if p["AlarmActions"] != nil || p["Namespace"] == "Streamsort" && service != "streamsort" {
				t.Errorf("%s tells %v of service %v", id, p["AlarmActions"], service)
			}
		}
	}
	return all
}

var tenantsQuery = regexp.MustCompile(`^SELECT (MAX|SUM)\((\w+)\) FROM SCHEMA\("Streamsort", service, tenant\) WHERE service = 'orders' GROUP BY tenant ORDER BY (MAX|SUM)\(\) DESC$`)

// tenantsRule reads an alarm that is raised for each tenant by itself.
func tenantsRule(t *testing.T, id string, p object) rule {
	t.Helper()
	query := p["Metrics"].([]any)[0].(object)
	parts := tenantsQuery.FindStringSubmatch(query["Expression"].(string))
	if parts == nil || parts[1] != parts[3] || query["ReturnData"] != true {
		t.Fatalf("%s watches %v", id, query)
	}
	for _, no := range []string{"Namespace", "MetricName", "Statistic", "Period", "Dimensions"} {
		if p[no] != nil {
			t.Errorf("%s has %s beside the query", id, no)
		}
	}
	// A query sees three hours back, and no farther.
	if p["EvaluationPeriods"].(float64)*query["Period"].(float64) > 3*3600 {
		t.Errorf("%s looks farther back than a query can", id)
	}
	return rule{
		metric: "Streamsort " + parts[2] + " tenants", statistic: map[string]string{"MAX": "Maximum", "SUM": "Sum"}[parts[1]],
		period: query["Period"].(float64),
	}
}

// The metrics that alarms, the dashboard and queries name are written by the
// functions that they name.
func TestWatchedMetricsAreWritten(t *testing.T) {
	// A function writes those of these, too, where it is made with them.
	shared := []string{"internal/intake", "internal/runtime"}
	var writes func(folder, metric string) bool
	writes = func(folder, metric string) bool {
		entries, err := os.ReadDir("../../../" + folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if entry.IsDir() || strings.HasSuffix(entry.Name(), "_test.go") {
				continue
			}
			text, err := os.ReadFile("../../../" + folder + "/" + entry.Name())
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), `"`+metric+`"`) || slices.ContainsFunc(shared, func(other string) bool {
				return strings.Contains(string(text), "/"+other+`"`) && writes(other, metric)
			}) {
				return true
			}
		}
		return false
	}
	written := func(function, metric string) bool { return writes("functions/"+strings.ToLower(function), metric) }
	watched := map[string]bool{}
	for _, tmpl := range []template{defaults(), changed()} {
		for _, r := range alarms(t, tmpl) {
			r.metric = strings.Replace(r.metric, " tenants", " SweepFunction", 1)
			if metric, ok := strings.CutPrefix(r.metric, "Streamsort "); ok {
				watched[metric] = true
			}
		}
		for _, row := range regexp.MustCompile(`\["Streamsort","([A-Za-z]+)","service","[a-z]+","function_name","([A-Za-z]+)Function"`).FindAllStringSubmatch(dashboard(t, tmpl), -1) {
			watched[row[1]+" "+row[2]+"Function"] = true
		}
	}
	page, err := os.ReadFile("../../../docs/how-to/platform.md")
	if err != nil {
		t.Fatal(err)
	}
	for function, pattern := range map[string]string{
		" SweepFunction":   `MetricName="([A-Za-z]+)"`,
		" EnqueueFunction": `MetricName=\("([A-Za-z]+)" OR "Full"\)`,
	} {
		found := regexp.MustCompile(pattern).FindAllStringSubmatch(string(page), -1)
		if found == nil {
			t.Errorf("docs/how-to/platform.md has no objective by %s", pattern)
		}
		for _, metric := range found {
			watched[metric[1]+function] = true
		}
	}
	if len(watched) < 14 {
		t.Errorf("only %d metrics are watched: %v", len(watched), slices.Sorted(maps.Keys(watched)))
	}
	for metric := range watched {
		name, function, _ := strings.Cut(strings.TrimSuffix(metric, "Function"), " ")
		if !written(function, name) {
			t.Errorf("%s writes no metric %q", function, name)
		}
	}
}

// dashboard is the text of a template's dashboard, with the names of what it
// refers to in place of their values.
func dashboard(t *testing.T, tmpl template) string {
	t.Helper()
	text := name(tmpl.properties(t, "Dashboard", "AWS::CloudWatch::Dashboard")["DashboardBody"])
	var body struct {
		Widgets []struct {
			Type       string
			X, Y       int
			Properties struct {
				Title, Region string
				Metrics       []json.RawMessage
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		t.Fatalf("the dashboard is no JSON: %v\n%s", err, text)
	}
	places := map[[2]int]bool{}
	for _, w := range body.Widgets {
		if w.Type == "metric" && (w.Properties.Title == "" || w.Properties.Region != "AWS::Region" || len(w.Properties.Metrics) == 0) {
			t.Errorf("a widget without title, region or metrics: %+v", w)
		}
		if at := [2]int{w.X, w.Y}; places[at] {
			t.Errorf("two widgets at %v", at)
		} else {
			places[at] = true
		}
	}
	return text
}

// Every function's log is in every query, and each query has its text.
func TestQueries(t *testing.T) {
	groups := []any{}
	for _, f := range []string{"Enqueue", "Sort", "Sweep", "Delivery", "Ack"} {
		groups = append(groups, ref(f+"Logs"))
	}
	for _, id := range []string{"FailuresQuery", "QueueQuery", "RefusedQuery", "AnnouncedQuery", "SlowQuery"} {
		got := defaults().properties(t, id, "AWS::Logs::QueryDefinition")
		diff(t, id, groups, got["LogGroupNames"])
		if !strings.HasPrefix(got["Name"].(string), "Streamsort/") || !strings.Contains(got["QueryString"].(string), "\n| ") {
			t.Errorf("%s: %v", id, got)
		}
	}
	diff(t, "ThrottledQuery", []any{ref("ApiLogs")}, defaults().properties(t, "ThrottledQuery", "AWS::Logs::QueryDefinition")["LogGroupNames"])
}

// runbook is the sections of the runbook, by their anchors. Each says what to look at and what to type.
func runbook(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../../docs/reference/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, section := range strings.Split(string(text), "\n### ")[1:] {
		name, rest, _ := strings.Cut(section, "\n")
		rest, _, _ = strings.Cut(rest, "\n## ")
		meaning, steps, _ := strings.Cut(strings.TrimSpace(rest), "\n- Look at: ")
		if meaning == "" || !strings.Contains(steps, "\n- Type") {
			t.Errorf("%s: the section must say what it means, what to look at and what to type", name)
		}
		all[strings.ToLower(name)] = true
	}
	return all
}

// severities are the topics of alarms by their names in docs/reference/alarms.md.
func severities(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/reference/alarms.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| \\[`([^`]+)`[^|]*\\| (page|ticket) \\|").FindAllStringSubmatch(string(text), -1) {
		all[row[1]] = map[string]string{"page": "pager", "ticket": "people"}[row[2]]
	}
	return all
}

// listed is the name of an alarm's row: its own, or a pattern such as …ErrorsAlarm.
func listed(t *testing.T, id string) string {
	t.Helper()
	for _, name := range []string{id, "…" + lastWords.FindString(id)} {
		if severities(t)[name] != "" {
			return name
		}
	}
	t.Errorf("docs/reference/alarms.md has no row of %s", id)
	return ""
}

// With a topic for pages DownAlarm is raised while one of the alarms is that notify it.
func TestDownAlarm(t *testing.T) {
	rule := name(changed().properties(t, "DownAlarm", "AWS::CloudWatch::CompositeAlarm")["AlarmRule"])
	var want []string
	for id := range wantAlarms(true) {
		if severities(t)[listed(t, id)] == "pager" {
			want = append(want, `ALARM("`+id+`")`)
		}
	}
	got := strings.Split(rule, " OR ")
	slices.Sort(got)
	slices.Sort(want)
	if len(want) < 9 || !slices.Equal(want, got) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestAlarmsAreListed: the runbook has no section of an alarm that is not there.
func TestAlarmsAreListed(t *testing.T) {
	want := slices.Collect(maps.Keys(wantAlarms(true)))
	want = append(want, "SourceFailuresAlarm", "SourceBehindAlarm", "TableThrottledAlarm")
	for section := range runbook(t) {
		if !strings.HasSuffix(section, "alarm") {
			continue
		}
		if !slices.ContainsFunc(want, func(id string) bool { return strings.HasSuffix(strings.ToLower(id), section) }) {
			t.Errorf("the runbook has the section %s, and there is no such alarm", section)
		}
	}
}

// lastWords is what a name such as SortFarBehindAlarm ends with, behind the part that it is of.
var lastWords = regexp.MustCompile(`((Far)?Behind|Errors|Throttles|Rollback|Throttled|Fails)Alarm$`)
