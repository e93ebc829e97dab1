package cost

import (
	"encoding/json"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/localstack/template"
)

func bills(t *testing.T, w Workload) map[string]Bill {
	t.Helper()
	check.OK(t, w.Check())
	all := map[string]Bill{}
	for _, b := range w.Bills() {
		all[b.Name] = b
	}
	return all
}

// TestAMillionQueues: what the sweep of a million quiet queues may cost.
func TestAMillionQueues(t *testing.T) {
	quiet := (Workload{Queues: 1_000_000}).sweep(0).Quiet()
	check.That(t, quiet <= 25, "$%.2f a month, want 25 at most", quiet)
}

func TestCheck(t *testing.T) {
	good := Workload{Rate: 100, Batch: 25, Disorder: Window8, Queues: 10}
	for _, c := range []struct {
		spoil func(*Workload)
		want  string
	}{
		{func(w *Workload) { w.Rate = 0 }, "rate is 0; write messages a second, above 0 and up to 1000000"},
		{func(w *Workload) { w.Rate = math.NaN() }, "rate is NaN"},
		{func(w *Workload) { w.Rate = math.Inf(1) }, "rate is +Inf"},
		{func(w *Workload) { w.Batch = 0 }, "batch is 0; write how many messages a request has, 1 to 500"},
		{func(w *Workload) { w.Batch = 501 }, "batch is 501"},
		{func(w *Workload) { w.Disorder = "4" }, `disorder is "4"; write one of 0, 8, 32, reverse, random`},
		{func(w *Workload) { w.Queues = 0 }, "queues is 0; write how many queues share the rate"},
		{func(w *Workload) { w.Rate, w.Queues = 5500, 5 }, "write queues 6 or more"},
	} {
		w := good
		c.spoil(&w)
		err := w.Check()
		check.That(t, err != nil && strings.Contains(err.Error(), c.want), "%+v: error %v", w, err)
	}
	err := good.Check()
	check.That(t, err == nil, "%v", err)
}

// written finds where code of the functions writes a metric by its name.
var written = regexp.MustCompile(`(?:\.(?:Count|Add)\(|tellAge\(metrics, |cursor\.\w+:\s+)"([A-Z]\w+)"`)

// The bill's metrics are those that the functions' code names.
func TestMetrics(t *testing.T) {
	const root = "../../.."
	found := map[string]bool{}
	for _, folder := range []string{"functions", "internal"} {
		check.OK(t, filepath.WalkDir(filepath.Join(root, folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, name := range written.FindAllStringSubmatch(string(text), -1) {
				found[name[1]] = true
			}
			return err
		}))
	}
	check.Is(t, len(found), names, slices.Sorted(maps.Keys(found)))
}

// The bill's alarms and dashboards are those of the template that deploys.
func TestFixed(t *testing.T) {
	const root = "../../.."
	text, err := template.ReadFile(filepath.Join(root, "examples", "demo", "streamsort.patch.json"))
	check.OK(t, err)
	var document struct {
		Resources map[string]struct{ Type string }
	}
	check.OK(t, json.Unmarshal(text, &document))
	count := map[string]int{}
	for _, resource := range document.Resources {
		count[resource.Type]++
	}
	if count["AWS::CloudWatch::Alarm"] != alarms || count["AWS::CloudWatch::Dashboard"] != dashboards {
		t.Errorf("the template has %d alarms and %d dashboards, the bill %d and %d",
			count["AWS::CloudWatch::Alarm"], count["AWS::CloudWatch::Dashboard"], alarms, dashboards)
	}
}
