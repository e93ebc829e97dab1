package streamsort

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// alarms are the metrics of a template's alarms, with the value of the last dimension. Each has a
// section in the runbook, and notifies the topic that docs/reference/alarms.md says.
func alarms(t *testing.T, tmpl template) map[string]string {
	t.Helper()
	all := map[string]string{}
	for id, resource := range tmpl.Resources {
		if resource["Type"] != "AWS::CloudWatch::Alarm" {
			continue
		}
		p := resource["Properties"].(object)
		if queries, ofTenants := p["Metrics"].([]any); ofTenants {
			query := queries[0].(object)["Expression"].(string)
			all[id] = "Streamsort " + tenantsQuery.FindStringSubmatch(query)[1] + " SweepFunction"
		} else {
			dimensions := p["Dimensions"].([]any)
			last := name(dimensions[len(dimensions)-1].(object)["Value"])
			all[id] = fmt.Sprintf("%s %s %s", p["Namespace"], p["MetricName"], last)
		}
		checkSection(t, id, p)
		if tmpl.Resources["MessagesTable"]["DeletionPolicy"] == "Delete" { // changedProps
			topic := []any{"arn:aws:sns:eu-west-1:123456789012:" + severities(t)[listed(t, id)]}
			diff(t, id+" notifies", []any{topic, topic}, []any{p["AlarmActions"], p["OKActions"]})
		}
	}
	return all
}

// checkSection checks that an alarm's description names a section of the runbook.
func checkSection(t *testing.T, id string, properties object) {
	t.Helper()
	description := properties["AlarmDescription"].(string)
	_, section, _ := strings.Cut(description, ". See docs/reference/runbook.md#")
	check.That(t, runbook(t)[section],
		"%s is described as %s; it must end with its section of the runbook", id, description)
}

var tenantsQuery = regexp.MustCompile(`^SELECT [A-Z]+\((\w+)\) FROM`)

// The metrics that alarms, the dashboard and queries name are written by the functions that they
// name.
func TestWatchedMetricsAreWritten(t *testing.T) {
	// A function writes those of these, too, where it is made with them.
	shared := []string{"internal/intake", "internal/runtime"}
	var writes func(folder, metric string) bool
	writes = func(folder, metric string) bool {
		entries := check.Get(os.ReadDir("../../../" + folder))
		for _, entry := range entries {
			if entry.IsDir() || strings.HasSuffix(entry.Name(), "_test.go") {
				continue
			}
			text := check.Get(os.ReadFile("../../../" + folder + "/" + entry.Name()))
			if strings.Contains(string(text), `"`+metric+`"`) ||
				slices.ContainsFunc(shared, func(other string) bool {
					return strings.Contains(string(text), "/"+other+`"`) && writes(other, metric)
				}) {
				return true
			}
		}
		return false
	}
	written := func(function, metric string) bool {
		return writes("functions/"+strings.ToLower(function), metric)
	}
	watched := map[string]bool{}
	for _, tmpl := range []template{defaults(), changed()} {
		for _, metric := range alarms(t, tmpl) {
			if metric, ok := strings.CutPrefix(metric, "Streamsort "); ok {
				watched[metric] = true
			}
		}
		board := name(tmpl.properties(t, "Dashboard", "AWS::CloudWatch::Dashboard")["DashboardBody"])
		for _, row := range regexp.MustCompile(`\["Streamsort","([A-Za-z]+)","service","[a-z]+","function_name","([A-Za-z]+)Function"`).FindAllStringSubmatch(board, -1) {
			watched[row[1]+" "+row[2]+"Function"] = true
		}
	}
	page := check.Get(os.ReadFile("../../../docs/how-to/platform.md"))
	for function, pattern := range map[string]string{
		" SweepFunction":   `MetricName="([A-Za-z]+)"`,
		" EnqueueFunction": `MetricName=\("([A-Za-z]+)" OR "Full"\)`,
	} {
		found := regexp.MustCompile(pattern).FindAllStringSubmatch(string(page), -1)
		check.That(t, found != nil, "docs/how-to/platform.md has no objective by %s", pattern)
		for _, metric := range found {
			watched[metric[1]+function] = true
		}
	}
	check.That(t, len(watched) >= 14,
		"only %d metrics are watched: %v", len(watched), slices.Sorted(maps.Keys(watched)))
	for metric := range watched {
		name, function, _ := strings.Cut(strings.TrimSuffix(metric, "Function"), " ")
		check.That(t, written(function, name), "%s writes no metric %q", function, name)
	}
}

// runbook is the sections of the runbook, by their anchors. Each says what to look at and what to
// type.
func runbook(t *testing.T) map[string]bool {
	t.Helper()
	text := check.Get(os.ReadFile("../../../docs/reference/runbook.md"))
	all := map[string]bool{}
	for _, section := range strings.Split(string(text), "\n### ")[1:] {
		name, rest, _ := strings.Cut(section, "\n")
		rest, _, _ = strings.Cut(rest, "\n## ")
		meaning, steps, _ := strings.Cut(strings.TrimSpace(rest), "\n- Look at: ")
		check.That(t, meaning != "" && strings.Contains(steps, "\n- Type"),
			"%s: the section must say what it means, what to look at and what to type", name)
		all[strings.ToLower(name)] = true
	}
	return all
}

// severities are the topics of alarms by their names in docs/reference/alarms.md.
func severities(t *testing.T) map[string]string {
	t.Helper()
	text := check.Get(os.ReadFile("../../../docs/reference/alarms.md"))
	all := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| \\[`([^`]+)`[^|]*\\| (page|ticket) \\|").
		FindAllStringSubmatch(string(text), -1) {
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
	for id := range alarms(t, changed()) {
		if severities(t)[listed(t, id)] == "pager" {
			want = append(want, `ALARM("`+id+`")`)
		}
	}
	got := strings.Split(rule, " OR ")
	slices.Sort(got)
	slices.Sort(want)
	check.That(t, len(want) >= 9 && slices.Equal(want, got), "%v, want %v", got, want)
}

// TestAlarmsAreListed: the runbook has no section of an alarm that is not there.
func TestAlarmsAreListed(t *testing.T) {
	want := slices.Collect(maps.Keys(alarms(t, changed())))
	want = append(want, "SourceFailuresAlarm", "SourceBehindAlarm", "TableThrottledAlarm")
	for section := range runbook(t) {
		there := slices.ContainsFunc(want, func(id string) bool {
			return strings.HasSuffix(strings.ToLower(id), section)
		})
		check.That(t, there || !strings.HasSuffix(section, "alarm"),
			"the runbook has the section %s, and there is no such alarm", section)
	}
}

// lastWords is what a name such as SortFarBehindAlarm ends with, behind the part that it is of.
var lastWords = regexp.MustCompile(`((Far)?Behind|Errors|Throttles|Rollback|Throttled|Fails)Alarm$`)
