package assetfile_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/assetfile"
	"github.com/streamsort/streamsort/internal/strictjson"
)

// things is a file of names; those of the sources and of the consumers are tested where they are.
var things = assetfile.List[string]{
	Name: "things", Max: 2, Variable: regexp.MustCompile(`\$\{(THING_[0-9]+)\}`),
	Element: func(raw json.RawMessage) (string, error) {
		var thing struct {
			Name string `json:"name"`
		}
		err := strictjson.Decode(raw, &thing)
		return thing.Name, err
	},
	NameOf: func(name string) string { return name },
}

func TestRead(t *testing.T) {
	got, err := things.Read([]byte(`{"things": [{"name": "a"}, {"name": "${THING_1}"}]}`),
		func(name string) (string, bool) {
			return `what "JSON" has to quote`, name == "THING_1"
		})
	if diff := cmp.Diff([]string{"a", `what "JSON" has to quote`}, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got)\n%s", err, diff)
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"things": [{"name": "${THING_1}"}, {"name": "${THING_2}"}]}`: "THING_1, which the file names, is not set\nTHING_2, which the file names, is not set",
		`{"things": [{"name": "a"}, {"name": "a"}]}`:                   `things[1].name "a" is that of things[0] too`,
		`{"things": [{"name": 7}]}`:                                    "things[0].name must be a string: it is 7",
		`{"things": [7]}`:                                              "things[0] must be a JSON object",
		`{"things": [{}, {}, {}]}`:                                     "things has 3: it must have from 1 to 2",
		`{"things": {}}`:                                               "things must be a JSON array",
		`{"thing": []}`:                                                "thing is not known: there is things",
	} {
		_, err := things.Read([]byte(text), func(string) (string, bool) { return "", false })
		if err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}
