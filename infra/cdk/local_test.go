package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/localstack/template"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/dedup"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// functions begins the functions' import paths.
const functions = "github.com/streamsort/streamsort/functions/"

// The local stack reads the golden templates as AWS would: the tables of the
// sorter and of the consumers, a binary for each function, and every trigger
// with its target.
func TestLocalStackReadsGolden(t *testing.T) {
	sort := map[string]string{"SortMapping": functions + "sort", "ArrivalsMapping": functions + "sort", "EndsMapping": functions + "ack"}
	both := maps.Clone(sort)
	both["ProcessMapping"] = functions + "process"
	t.Run("default", func(t *testing.T) { checkLocal(t, goldenFile, sort, "") })
	t.Run("webhooks", func(t *testing.T) { checkLocal(t, webhooksFile, sort, "") })
	of := maps.Clone(sort)
	of["SourceAccountsMapping"] = functions + "source"
	t.Run("sources", func(t *testing.T) { checkLocal(t, sourcesFile, of, "") })
	t.Run("demo", func(t *testing.T) { checkLocal(t, demoFile, both, "consumers.json") })
}

// checkLocal looks at a template whose event source mappings call the functions
// with these sources, and whose process has a file.
func checkLocal(t *testing.T, path string, mappings map[string]string, file string) {
	t.Helper()
	text, err := template.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	document, err := template.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	stack, err := document.Read(template.Options{
		Endpoint: func(_, _ string) (string, error) { return "http://127.0.0.1", nil },
		Foreign: func(id, attribute string) (string, error) {
			if attribute == "" {
				return "http://127.0.0.1/000000000000/" + id, nil
			}
			return template.QueueARN(id), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]table.Definition{}
	for _, made := range stack.Tables {
		tables[made.Name] = made.Definition
	}
	all := append(cursor.Names{}.Tables(), cursor.Names{}.ArrivalsTable())
	for _, want := range slices.Concat(all, (delivery.Names{Trouble: "streamsort-trouble"}).Tables(), (dedup.Names{}).Tables(), (xorack.Names{}).Tables()) {
		want.Layout = 0 // no template says it
		if diff := cmp.Diff(want, tables[want.Name]); diff != "" {
			t.Errorf("%s (- want, + got)\n%s", want.Name, diff)
		}
	}
	sources := map[string]string{}
	for _, function := range stack.Functions {
		sources[function.Name] = function.Source
		if has := function.Files[file] != ""; has != (function.LogicalID == "ProcessFunction") {
			t.Errorf("function %s has a %q: %v", function.LogicalID, file, has)
		}
	}
	for _, mapping := range stack.Mappings {
		if sources[mapping.Function] != mappings[mapping.LogicalID] || mapping.OnFailure == "" {
			t.Errorf("mapping %+v", mapping)
		}
	}
	routes := 0
	for _, api := range stack.APIs {
		for _, route := range api.Routes {
			routes++
			if strings.HasPrefix(route.Key, "POST /webhooks/") {
				routes--
				if sources[route.Function] != functions+"webhook" || route.IAM || path != webhooksFile {
					t.Errorf("route %+v", route)
				}
				continue
			}
			if source := sources[route.Function]; !slices.Contains([]string{functions + "enqueue", functions + "delivery", functions + "ack"}, source) || !route.IAM {
				t.Errorf("route %+v", route)
			}
		}
	}
	for _, schedule := range stack.Schedules {
		if len(schedule.Targets) != 1 || sources[schedule.Targets[0].Function] != functions+"sweep" {
			t.Errorf("schedule %+v", schedule)
		}
	}
	if len(stack.Mappings) != len(mappings) || routes != 19 || len(stack.Schedules) != 1 {
		t.Errorf("%d mappings, %d routes, %d schedules; want %d, 19 and 1", len(stack.Mappings), routes, len(stack.Schedules), len(mappings))
	}
}
