package main

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/infra/cdk/streamsort"
	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestSettingsAreListed holds docs/reference/settings.md to the keys of the context and to the
// members of the files of consumers and webhooks: it lists each, and no other.
func TestSettingsAreListed(t *testing.T) {
	text := check.Get(os.ReadFile("../../docs/reference/settings.md"))
	keys := map[string]bool{"stack": true}
	for key := range settable(&streamsort.Props{}, nil) {
		keys[key] = true
	}
	of := reflect.TypeFor[streamsort.FunctionProps]()
	for i := range of.NumField() {
		keys["…"+of.Field(i).Name] = true
	}
	for section, want := range map[string]map[string]bool{
		"Of a stack":      keys,
		"Consumers":       members(reflect.TypeFor[streamsort.Consumer](), reflect.TypeFor[streamsort.Sink]()),
		"Webhook senders": members(reflect.TypeFor[streamsort.Webhook]()),
	} {
		_, after, _ := strings.Cut(string(text), "\n## "+section+"\n")
		page, _, _ := strings.Cut(after, "\n## ")
		got := map[string]bool{}
		for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllStringSubmatch(page, -1) {
			cell, _, _ := strings.Cut(row[1], " of ")
			for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
				got[name[1]] = true
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("docs/reference/settings.md, %s (- there are, + listed)\n%s", section, diff)
		}
	}
}

// members are what JSON calls the fields of structs, and of those embedded in them.
func members(structs ...reflect.Type) map[string]bool {
	all := map[string]bool{}
	for _, s := range structs {
		for _, field := range reflect.VisibleFields(s) {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
				all[name] = true
			}
		}
	}
	return all
}
