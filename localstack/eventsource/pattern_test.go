package eventsource

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// decoded reads a record as the filters see it.
func decoded(t testing.TB, text string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var tree map[string]any
	err := d.Decode(&tree)
	check.Need(t, err == nil, "event %s: %v", text, err)
	return tree
}

// inserted is a record with every type of attribute.
const inserted = `{"eventName": "INSERT", "eventSource": "aws:dynamodb", "dynamodb": {
	"ApproximateCreationDateTime": 1700000000, "SizeBytes": 300,
	"Keys": {"id": {"S": "a-1"}},
	"NewImage": {
		"id": {"S": "a-1"}, "count": {"N": "101"}, "state": {"S": "Open"}, "name": {"S": ""},
		"paid": {"BOOL": true}, "gone": {"NULL": true}, "tags": {"SS": ["red", "blue"]}, "none": {"L": []},
		"change": {"M": {"S": {"S": "deep"}}},
		"lines": {"L": [{"M": {"sku": {"S": "x"}, "qty": {"N": "1"}}}, {"M": {"sku": {"S": "y"}, "qty": {"N": "2"}}}]}
	}}}`

func TestPatternMatches(t *testing.T) {
	tests := []struct {
		name, pattern string
		event         string // inserted where empty
		want          bool
	}{
		{name: "equals", pattern: `{"eventName": ["INSERT"]}`, want: true},
		{name: "or", pattern: `{"eventName": ["MODIFY", "INSERT"]}`, want: true},
		{name: "and fails", pattern: `{"eventName": ["INSERT"], "eventSource": ["aws:sqs"]}`, want: false},
		{name: "field is missing", pattern: `{"other": ["INSERT"]}`, want: false},

		{name: "attribute named as a type", pattern: `{"dynamodb": {"NewImage": {"change": {"M": {"S": {"S": ["deep"]}}}}}}`, want: true},
		{name: "null", pattern: `{"a": [null]}`, event: `{"a": null}`, want: true},
		{name: "null is not missing", pattern: `{"a": [null]}`, event: `{}`, want: false},
		{name: "bool", pattern: `{"dynamodb": {"NewImage": {"paid": {"BOOL": [true]}}}}`, want: true},

		{name: "prefix", pattern: `{"dynamodb": {"Keys": {"id": {"S": [{"prefix": "a-"}]}}}}`, want: true},
		{name: "prefix fails", pattern: `{"dynamodb": {"Keys": {"id": {"S": [{"prefix": "b-"}]}}}}`, want: false},
		{name: "suffix", pattern: `{"dynamodb": {"Keys": {"id": {"S": [{"suffix": "-1"}]}}}}`, want: true},
		{name: "suffix fails", pattern: `{"dynamodb": {"Keys": {"id": {"S": [{"suffix": "-2"}]}}}}`, want: false},
		{name: "equals-ignore-case", pattern: `{"dynamodb": {"NewImage": {"state": {"S": [{"equals-ignore-case": "oPEN"}]}}}}`, want: true},
		{name: "equals-ignore-case fails", pattern: `{"dynamodb": {"NewImage": {"state": {"S": [{"equals-ignore-case": "oPENs"}]}}}}`, want: false},
		{name: "prefix is for strings", pattern: `{"a": [{"prefix": "1"}]}`, event: `{"a": 12}`, want: false},

		{name: "anything-but", pattern: `{"eventName": [{"anything-but": "REMOVE"}]}`, want: true},
		{name: "anything-but the value", pattern: `{"eventName": [{"anything-but": "INSERT"}]}`, want: false},
		{name: "anything-but list", pattern: `{"eventName": [{"anything-but": ["INSERT", "MODIFY"]}]}`, want: false},
		{name: "anything-but other list", pattern: `{"eventName": [{"anything-but": ["REMOVE", "MODIFY"]}]}`, want: true},
		{name: "anything-but needs the field", pattern: `{"other": [{"anything-but": "x"}]}`, want: false},
		{name: "anything-but number", pattern: `{"dynamodb": {"SizeBytes": [{"anything-but": 300}]}}`, want: false},
		{name: "anything-but null", pattern: `{"a": [{"anything-but": "x"}]}`, event: `{"a": null}`, want: true},

		{name: "big number by its digits", pattern: `{"a": [123456789012]}`, event: `{"a": 123456789012}`, want: true},

		{name: "exists", pattern: `{"dynamodb": {"NewImage": {"state": {"S": [{"exists": true}]}}}}`, want: true},
		{name: "exists fails", pattern: `{"dynamodb": {"NewImage": {"other": {"S": [{"exists": true}]}}}}`, want: false},
		{name: "exists on an intermediate node", pattern: `{"dynamodb": {"NewImage": {"state": [{"exists": true}]}}}`, want: false},
		{name: "does not exist", pattern: `{"dynamodb": {"NewImage": {"other": {"S": [{"exists": false}]}}}}`, want: true},
		{name: "does not exist fails", pattern: `{"dynamodb": {"NewImage": {"state": {"S": [{"exists": false}]}}}}`, want: false},
		{name: "does not exist on an intermediate node", pattern: `{"dynamodb": {"NewImage": {"state": [{"exists": false}]}}}`, want: true},
		{name: "does not exist, parent missing", pattern: `{"dynamodb": {"OldImage": {"state": {"S": [{"exists": false}]}}}}`, want: true},
		{name: "does not exist or value", pattern: `{"eventName": [{"exists": false}, "INSERT"]}`, want: true},
		{name: "empty list does not exist", pattern: `{"dynamodb": {"NewImage": {"none": {"L": [{"exists": false}]}}}}`, want: true},
		{name: "exists as null", pattern: `{"a": [{"exists": true}]}`, event: `{"a": null}`, want: true},

		{name: "element of a set", pattern: `{"dynamodb": {"NewImage": {"tags": {"SS": ["blue"]}}}}`, want: true},
		{name: "in one element of a list", pattern: `{"dynamodb": {"NewImage": {"lines": {"L": {"M": {"sku": {"S": ["y"]}, "qty": {"N": ["2"]}}}}}}}`, want: true},
		{name: "in two elements of a list", pattern: `{"dynamodb": {"NewImage": {"lines": {"L": {"M": {"sku": {"S": ["x"]}, "qty": {"N": ["2"]}}}}}}}`, want: false},
		{name: "missing in one element, there in another", pattern: `{"a": {"b": [{"exists": false}]}}`, event: `{"a": [{"b": 1}, {"c": 1}]}`, want: false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := check.Get(compilePattern(test.pattern))
			event := test.event
			if event == "" {
				event = inserted
			}
			check.Is(t, p.matches(decoded(t, event)), test.want, test.pattern)
		})
	}
}

func TestPatternRefused(t *testing.T) {
	tests := []struct{ name, pattern, want string }{
		{"not JSON", `{"a": [1`, "not a JSON object"},
		{"a list", `[{"eventName": ["INSERT"]}]`, "not a JSON object"},
		{"null", `null`, "empty object"},
		{"two documents", `{"a": [1]} {"b": [1]}`, "after its JSON object"},
		{"empty object", `{}`, "empty object"},
		{"nested empty object", `{"a": {"b": {}}}`, "a.b is an empty object"},
		{"empty list", `{"a": []}`, "a is an empty list"},
		{"bare value", `{"a": {"b": "x"}}`, "a.b must be an object or a list"},
		{"list in list", `{"a": [["x"]]}`, "list inside a list"},
		{"two keys", `{"a": [{"prefix": "x", "suffix": "y"}]}`, "exactly one key"},
		{"$or", `{"$or": [{"a": [1]}, {"b": [1]}]}`, "one filter for each"},
		{"numeric", `{"a": [{"numeric": [">", 1]}]}`, `operator "numeric"`},
		{"prefix of a number", `{"a": [{"prefix": 1}]}`, `operator "prefix" of 1`},
		{"anything-but of an operator", `{"a": [{"anything-but": {"prefix": "x"}}]}`, "anything-but needs strings or numbers"},
		{"exists of a string", `{"a": [{"exists": "true"}]}`, `operator "exists" of true`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := compilePattern(test.pattern)
			check.That(t, err != nil && strings.Contains(err.Error(), test.want), "error = %v", err)
		})
	}
}
