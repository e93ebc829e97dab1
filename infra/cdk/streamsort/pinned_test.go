package streamsort

import (
	"flag"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
)

var updatePinned = flag.Bool("update", false, "write the files of testdata that pin resources anew")

// versionHash ends a version's logical id: it is another for each code and each configuration.
var versionHash = regexp.MustCompile(`(FunctionCurrentVersion)[0-9A-Za-z]+`)

// pinned compares what is made with a file of testdata, line by line.
func pinned(t *testing.T, file, got string) {
	t.Helper()
	got = strings.ReplaceAll(got, "\\u003c", "<")
	if *updatePinned {
		check.OK(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want := check.Get(os.ReadFile(file))
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s; if that is meant, write it anew with: go test ./streamsort -run %s -update (- want, + got)\n%s", file, t.Name(), diff)
	}
}

// differences are the resources and outputs that a template has otherwise than another, or beside
// it, without the hashes of their code.
func differences(t *testing.T, made, base template) string {
	t.Helper()
	var text strings.Builder
	line := func(id string, value any) {
		text.WriteString(versionHash.ReplaceAllString(id+"\n  "+asText(t, value)+"\n", "$1"))
	}
	for _, id := range slices.Sorted(maps.Keys(made.Resources)) {
		resource := maps.Clone(made.Resources[id])
		if properties, is := resource["Properties"].(object); is &&
			resource["Type"] == "AWS::Lambda::Function" {
			properties = maps.Clone(properties)
			delete(properties, "Code")
			resource["Properties"] = properties
		}
		if !cmp.Equal(made.Resources[id], base.Resources[id]) {
			line(id, resource)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(made.Outputs)) {
		if !cmp.Equal(made.Outputs[id], base.Outputs[id]) {
			line("output "+id, made.Outputs[id])
		}
	}
	return text.String()
}

// TestChanged pins what properties make otherwise than the defaults, which the golden templates of
// infra/cdk pin.
func TestChanged(t *testing.T) {
	pinned(t, "testdata/changed.txt", differences(t, changed(), defaults()))
	pinned(t, "testdata/other.txt", differences(t, other(), defaults()))
}
