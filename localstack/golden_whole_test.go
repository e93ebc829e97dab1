//go:build whole

package localstack

import (
	"testing"

	"github.com/streamsort/streamsort/localstack/template"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// TestGolden reads the template that this project deploys: its tables are
// those that the code is written for, and its functions' folders are there.
func TestGolden(t *testing.T) {
	const path = "streamsort.template.json"
	all, err := parse(Config{Templates: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	err = resolve(all, func(*loaded, map[string]string) (template.Options, error) {
		return template.Options{Endpoint: func(id, _ string) (string, error) { return "http://" + id, nil }}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := checkReferences(all); err != nil {
		t.Error(err)
	}
	tables := map[string]template.Table{}
	for _, table := range all[0].Tables {
		tables[table.Name] = table
	}
	for _, want := range append((cursor.Names{}).Tables(), (delivery.Names{Trouble: "streamsort-trouble"}).Tables()...) {
		want.Layout = 0 // no template says it
		if got := tables[want.Name].Definition; got != want {
			t.Errorf("table %s = %+v, want %+v", want.Name, got, want)
		}
	}
	for _, f := range all[0].Functions {
		if _, ok, err := (modules{}).find(all[0].path, f); !ok || err != nil {
			t.Errorf("%s: %v, %v", f.Source, ok, err)
		}
	}
	if len(all[0].APIs) != 1 || len(all[0].Mappings) == 0 || len(all[0].Schedules) == 0 || len(all[0].Queues) != 2 || len(all[0].Readers) != 1 {
		t.Errorf("APIs %d, mappings %d, schedules %d, queues %d", len(all[0].APIs), len(all[0].Mappings), len(all[0].Schedules), len(all[0].Queues))
	}
}
