package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/localstack/template"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/table"
)

// The local stack reads the golden template as AWS would: the tables of the
// sorter, a binary for each function, and every trigger with its target.
func TestLocalStackReadsGolden(t *testing.T) {
	text, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	document, err := template.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	stack, err := document.Read(template.Options{
		Endpoint: func(_, _ string) (string, error) { return "http://127.0.0.1", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]table.Definition{}
	for _, made := range stack.Tables {
		tables[made.Name] = made.Definition
	}
	for _, want := range (cursor.Names{}).Tables() {
		if diff := cmp.Diff(want, tables[want.Name]); diff != "" {
			t.Errorf("%s (- want, + got)\n%s", want.Name, diff)
		}
	}
	sources := map[string]string{}
	for _, function := range stack.Functions {
		sources[function.Name] = function.Source
	}
	for _, mapping := range stack.Mappings {
		if sources[mapping.Function] != "functions/sort" || mapping.OnFailure == "" {
			t.Errorf("mapping %+v", mapping)
		}
	}
	routes := 0
	for _, api := range stack.APIs {
		for _, route := range api.Routes {
			routes++
			if sources[route.Function] != "functions/enqueue" || !route.IAM {
				t.Errorf("route %+v", route)
			}
		}
	}
	for _, schedule := range stack.Schedules {
		if len(schedule.Targets) != 1 || sources[schedule.Targets[0].Function] != "functions/sweep" {
			t.Errorf("schedule %+v", schedule)
		}
	}
	if len(stack.Mappings) != 1 || routes != 5 || len(stack.Schedules) != 1 {
		t.Errorf("%d mappings, %d routes, %d schedules; want 1, 5 and 1", len(stack.Mappings), routes, len(stack.Schedules))
	}
}
