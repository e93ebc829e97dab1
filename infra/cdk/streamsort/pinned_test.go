package streamsort

import (
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var updatePinned = flag.Bool("update", false, "write the files of testdata that pin resources anew")

// pinned compares what is made with a file of testdata, line by line.
func pinned(t *testing.T, file, got string) {
	t.Helper()
	got = strings.ReplaceAll(got, "\\u003c", "<")
	if *updatePinned {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s; if that is meant, write it anew with: go test ./streamsort -run %s -update (- want, + got)\n%s", file, t.Name(), diff)
	}
}

// TestChanged pins what changedProps make otherwise than the defaults, which the golden templates
// of infra/cdk pin: outputs, and resources without the hashes of their code.
func TestChanged(t *testing.T) {
	var text strings.Builder
	for _, id := range slices.Sorted(maps.Keys(changed().Resources)) {
		resource := maps.Clone(changed().Resources[id])
		if cmp.Equal(resource, defaults().Resources[id]) {
			continue
		}
		if properties, is := resource["Properties"].(object); is && resource["Type"] == "AWS::Lambda::Function" {
			properties = maps.Clone(properties)
			delete(properties, "Code")
			resource["Properties"] = properties
		}
		text.WriteString(versionHash.ReplaceAllString(id, "$1") + "\n  " + versionHash.ReplaceAllString(asText(t, resource), "$1") + "\n")
	}
	for _, id := range slices.Sorted(maps.Keys(changed().Outputs)) {
		text.WriteString("output " + id + "\n  " + asText(t, changed().Outputs[id]) + "\n")
	}
	pinned(t, "testdata/changed.txt", text.String())
}
