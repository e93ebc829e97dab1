package streamsort

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/consumers"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/eager"
	"github.com/streamsort/streamsort/internal/egress"
	"github.com/streamsort/streamsort/internal/endpoint"
	"github.com/streamsort/streamsort/internal/settings"
	"github.com/streamsort/streamsort/pkg/cursor"
)

var variable = regexp.MustCompile(`"(STREAMSORT_[A-Z_]+)"`)

// What the stack tells its functions is what they read: a variable that only one side knows of
// would be a setting without an effect.
func TestFunctionsReadWhatTheyAreGiven(t *testing.T) {
	read := map[string]bool{}
	files, err := filepath.Glob("../../../internal/settings/*.go")
	check.Need(t, err == nil && len(files) != 0, "files %v, error %v", files, err)
	files = append(files, "../../../internal/calllog/calllog.go")
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text := check.Get(os.ReadFile(file))
		for _, found := range variable.FindAllStringSubmatch(string(text), -1) {
			read[found[1]] = true
		}
	}
	all := cursor.DefaultSettings()
	all.Kind = cursor.KindKeyed // it has all settings
	for name := range all.All() {
		if variable := settings.QueueVariable(name); variable != "" {
			read[variable] = true
		}
	}
	for _, shared := range []string{ // by the packages that read them
		eager.Variable, endpoint.ConsumersVariable, egress.AllowVariable, egress.DenyVariable,
		consumers.ShareVariable, consumers.SlowVariable,
	} {
		read[shared] = true
	}
	given := map[string]bool{}
	for _, tmpl := range []template{defaults(), changed()} {
		for _, resource := range tmpl.Resources {
			properties, _ := resource["Properties"].(object)
			environment, _ := properties["Environment"].(object)
			variables, _ := environment["Variables"].(object)
			for name := range variables {
				if strings.HasPrefix(name, "STREAMSORT_") && !strings.HasPrefix(name, "STREAMSORT_SINK_") &&
					!strings.HasPrefix(name, "STREAMSORT_WEBHOOK_") {
					given[name] = true
				}
			}
		}
	}
	diff := cmp.Diff(slices.Sorted(maps.Keys(read)), slices.Sorted(maps.Keys(given)))
	check.That(t, diff == "", "(- read, + given)\n%s", diff)
}
