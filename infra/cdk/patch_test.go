package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wI2L/jsondiff"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/localstack/template"
)

// patchFile is the text of a file that makes the whole template out of its base, whose path is seen
// from the file's folder.
func patchFile(t *testing.T, file, base, whole string) string {
	t.Helper()
	from, err := template.ReadFile(filepath.Join(filepath.Dir(file), base))
	check.Need(t, err == nil, "%v; write it with: make template", err)
	operations := check.Get(jsondiff.CompareJSON(from, []byte(whole), jsondiff.LCS()))
	patch := []any{}
	for _, o := range operations {
		operation := map[string]any{"op": o.Type, "path": o.Path}
		if o.Type != jsondiff.OperationRemove {
			operation["value"] = o.Value
		}
		patch = append(patch, operation)
	}
	return short(t, "", map[string]any{"Base": base, "Patch": patch}) + "\n"
}

// short is a value's JSON, indented where it does not fit in a line of 120.
func short(t *testing.T, indent string, value any) string {
	t.Helper()
	const step = "  "
	var members []string
	brackets := "[]"
	switch value := value.(type) {
	case []any:
		for _, inner := range value {
			members = append(members, short(t, indent+step, inner))
		}
	case map[string]any:
		brackets = "{}"
		for _, key := range slices.Sorted(maps.Keys(value)) {
			members = append(members, fmt.Sprintf("%q: %s", key, short(t, indent+step, value[key])))
		}
	default:
		return strings.TrimSuffix(encode(t, value), "\n")
	}
	line := brackets[:1] + strings.Join(members, ", ") + brackets[1:]
	if len(indent+line) <= 120 && !strings.Contains(line, "\n") {
		return line
	}
	return brackets[:1] + "\n" + indent + step + strings.Join(members, ",\n"+indent+step) + "\n" +
		indent + brackets[1:]
}
