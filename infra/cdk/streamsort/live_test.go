package streamsort

import (
	"regexp"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// versionHash ends a version's logical id: it is another for each code and each configuration.
var versionHash = regexp.MustCompile(`(FunctionCurrentVersion)[0-9A-Za-z]+`)

// version is the logical id of a function's version.
func (t template) version(tb testing.TB, id string) string {
	tb.Helper()
	for name := range t.Resources {
		if strings.HasPrefix(name, id+"FunctionCurrentVersion") {
			return name
		}
	}
	tb.Fatalf("%s has no version", id)
	return ""
}

// An update moves the alias, and touches no event source mapping: there is one for a stream at all
// times, with its place in the stream.
func TestAnUpdateKeepsTheMappings(t *testing.T) {
	before := defaults()
	after := synthesize("Streamsort", &Props{MaxAhead: 5, Functions: map[string]FunctionProps{"sort": {Memory: 1024}}})
	check.That(t, before.version(t, "Sort") != after.version(t, "Sort"),
		"another function has the same version")
	mappings := 0
	for id, resource := range before.Resources {
		if resource["Type"] == "AWS::Lambda::EventSourceMapping" {
			mappings++
			diff(t, id, resource, after.Resources[id])
		}
	}
	check.That(t, mappings == 4, "%d mappings", mappings)
}
