package cost

import (
	"encoding/json"
	"io/fs"
	"maps"
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
