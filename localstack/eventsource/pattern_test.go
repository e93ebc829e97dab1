package eventsource

import (
	"encoding/json"
	"strings"
	"testing"
)

// decoded reads a record as the filters see it.
func decoded(t testing.TB, text string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var tree map[string]any
	if err := d.Decode(&tree); err != nil {
		t.Fatalf("event %s: %v", text, err)
	}
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
		{name: "equals another", pattern: `{"eventName": ["REMOVE"]}`, want: false},
		{name: "equals is exact", pattern: `{"eventName": ["insert"]}`, want: false},
		{name: "or", pattern: `{"eventName": ["MODIFY", "INSERT"]}`, want: true},
		{name: "and", pattern: `{"eventName": ["INSERT"], "eventSource": ["aws:dynamodb"]}`, want: true},
		{name: "and fails", pattern: `{"eventName": ["INSERT"], "eventSource": ["aws:sqs"]}`, want: false},
		{name: "field is missing", pattern: `{"other": ["INSERT"]}`, want: false},

		{name: "nested attribute", pattern: `{"dynamodb": {"NewImage": {"state": {"S": ["Open"]}}}}`, want: true},
		{name: "without the type", pattern: `{"dynamodb": {"NewImage": {"state": ["Open"]}}}`, want: false},
		{name: "attribute named as a type", pattern: `{"dynamodb": {"NewImage": {"change": {"M": {"S": {"S": ["deep"]}}}}}}`, want: true},
		{name: "empty string", pattern: `{"dynamodb": {"NewImage": {"name": {"S": [""]}}}}`, want: true},
		{name: "empty string is not another", pattern: `{"dynamodb": {"NewImage": {"state": {"S": [""]}}}}`, want: false},
		{name: "null", pattern: `{"a": [null]}`, event: `{"a": null}`, want: true},
		{name: "null is not empty", pattern: `{"a": [""]}`, event: `{"a": null}`, want: false},
		{name: "null is not missing", pattern: `{"a": [null]}`, event: `{}`, want: false},
		{name: "bool", pattern: `{"dynamodb": {"NewImage": {"paid": {"BOOL": [true]}}}}`, want: true},
		{name: "bool is no string", pattern: `{"dynamodb": {"NewImage": {"paid": {"BOOL": ["true"]}}}}`, want: false},
		{
			name: "TTL delete", pattern: `{"userIdentity": {"type": ["Service"], "principalId": ["dynamodb.amazonaws.com"]}}`,
			event: `{"userIdentity": {"type": "Service", "principalId": "dynamodb.amazonaws.com"}}`, want: true,
		},
		{name: "TTL delete, user's record", pattern: `{"userIdentity": {"type": ["Service"]}}`, want: false},

		{name: "prefix", pattern: `{"dynamodb": {"Keys": {"id": {"S": [{"prefix": "a-"}]}}}}`, want: true},
		{name: "prefix fails", pattern: `{"dynamodb": {"Keys": {"id": {"S": [{"prefix": "b-"}]}}}}`, want: false},
		{name: "prefix ignoring case", pattern: `{"dynamodb": {"Keys": {"id": {"S": [{"prefix": {"equals-ignore-case": "A-"}}]}}}}`, want: true},
		{name: "suffix", pattern: `{"dynamodb": {"Keys": {"id": {"S": [{"suffix": "-1"}]}}}}`, want: true},
		{name: "suffix fails", pattern: `{"dynamodb": {"Keys": {"id": {"S": [{"suffix": "-2"}]}}}}`, want: false},
		{name: "suffix longer than the value", pattern: `{"a": [{"suffix": {"equals-ignore-case": "abc"}}]}`, event: `{"a": "bc"}`, want: false},
		{name: "equals-ignore-case", pattern: `{"dynamodb": {"NewImage": {"state": {"S": [{"equals-ignore-case": "oPEN"}]}}}}`, want: true},
		{name: "equals-ignore-case fails", pattern: `{"dynamodb": {"NewImage": {"state": {"S": [{"equals-ignore-case": "oPENs"}]}}}}`, want: false},
		{name: "prefix is for strings", pattern: `{"a": [{"prefix": "1"}]}`, event: `{"a": 12}`, want: false},

		{name: "anything-but", pattern: `{"eventName": [{"anything-but": "REMOVE"}]}`, want: true},
		{name: "anything-but the value", pattern: `{"eventName": [{"anything-but": "INSERT"}]}`, want: false},
		{name: "anything-but list", pattern: `{"eventName": [{"anything-but": ["INSERT", "MODIFY"]}]}`, want: false},
		{name: "anything-but other list", pattern: `{"eventName": [{"anything-but": ["REMOVE", "MODIFY"]}]}`, want: true},
		{name: "anything-but needs the field", pattern: `{"other": [{"anything-but": "x"}]}`, want: false},
		{name: "anything-but number", pattern: `{"dynamodb": {"SizeBytes": [{"anything-but": 300}]}}`, want: false},
		{name: "anything-but other number", pattern: `{"dynamodb": {"SizeBytes": [{"anything-but": [1, 2]}]}}`, want: true},
		{name: "anything-but null", pattern: `{"a": [{"anything-but": "x"}]}`, event: `{"a": null}`, want: true},

		{name: "number", pattern: `{"dynamodb": {"SizeBytes": [300]}}`, want: true},
		{name: "number of another form", pattern: `{"dynamodb": {"SizeBytes": [3.0e2]}}`, want: true},
		{name: "big number by its digits", pattern: `{"a": [123456789012]}`, event: `{"a": 123456789012}`, want: true},
		{name: "numeric equals", pattern: `{"dynamodb": {"SizeBytes": [{"numeric": ["=", 300]}]}}`, want: true},
		{name: "numeric range", pattern: `{"dynamodb": {"SizeBytes": [{"numeric": [">", 299, "<=", 300]}]}}`, want: true},
		{name: "numeric below the range", pattern: `{"dynamodb": {"SizeBytes": [{"numeric": [">", 300, "<=", 400]}]}}`, want: false},
		{name: "numeric bound included", pattern: `{"dynamodb": {"SizeBytes": [{"numeric": [">=", 300]}]}}`, want: true},
		{name: "numeric bound excluded", pattern: `{"dynamodb": {"SizeBytes": [{"numeric": ["<", 300]}]}}`, want: false},
		{name: "creation time is a number", pattern: `{"dynamodb": {"ApproximateCreationDateTime": [{"numeric": [">", 0]}]}}`, want: true},
		{name: "an attribute N is a string", pattern: `{"dynamodb": {"NewImage": {"count": {"N": [{"numeric": [">", 100]}]}}}}`, want: false},
		{name: "an attribute N as a string", pattern: `{"dynamodb": {"NewImage": {"count": {"N": ["101"]}}}}`, want: true},
		{name: "numeric or anything-but", pattern: `{"dynamodb": {"NewImage": {"count": {"N": [{"numeric": [">", 100]}, {"anything-but": "42"}]}}}}`, want: true},

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
		{name: "no element of a set", pattern: `{"dynamodb": {"NewImage": {"tags": {"SS": ["green"]}}}}`, want: false},
		{name: "in one element of a list", pattern: `{"dynamodb": {"NewImage": {"lines": {"L": {"M": {"sku": {"S": ["y"]}, "qty": {"N": ["2"]}}}}}}}`, want: true},
		{name: "in two elements of a list", pattern: `{"dynamodb": {"NewImage": {"lines": {"L": {"M": {"sku": {"S": ["x"]}, "qty": {"N": ["2"]}}}}}}}`, want: false},
		{name: "missing in one element, there in another", pattern: `{"a": {"b": [{"exists": false}]}}`, event: `{"a": [{"b": 1}, {"c": 1}]}`, want: false},

		{name: "$or first", pattern: `{"$or": [{"eventName": ["INSERT"]}, {"eventSource": ["x"]}]}`, want: true},
		{name: "$or second", pattern: `{"$or": [{"eventName": ["x"]}, {"eventSource": ["aws:dynamodb"]}]}`, want: true},
		{name: "$or none", pattern: `{"$or": [{"eventName": ["x"]}, {"eventSource": ["x"]}]}`, want: false},
		{name: "$or and", pattern: `{"eventName": ["REMOVE"], "$or": [{"eventSource": ["x"]}, {"eventSource": ["aws:dynamodb"]}]}`, want: false},
		{name: "$or inside", pattern: `{"dynamodb": {"NewImage": {"$or": [{"state": {"S": ["Shut"]}}, {"paid": {"BOOL": [true]}}]}}}`, want: true},
		{name: "$or inside $or", pattern: `{"$or": [{"eventName": ["x"]}, {"$or": [{"eventName": ["y"]}, {"eventName": ["INSERT"]}]}]}`, want: true},
		{name: "$or below a missing field", pattern: `{"other": {"$or": [{"a": [1]}, {"b": [{"exists": false}]}]}}`, want: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, err := compilePattern(test.pattern)
			if err != nil {
				t.Fatal(err)
			}
			event := test.event
			if event == "" {
				event = inserted
			}
			if got := p.matches(decoded(t, event)); got != test.want {
				t.Errorf("pattern %s matches = %v, want %v", test.pattern, got, test.want)
			}
		})
	}
}

func TestPatternRefused(t *testing.T) {
	tests := []struct{ name, pattern, want string }{
		{"not JSON", `{"a": [1`, "not JSON"},
		{"empty", ``, "not JSON"},
		{"a word", `single-string`, "not JSON"},
		{"a list", `[{"eventName": ["INSERT"]}]`, "not a JSON object"},
		{"null", `null`, "not a JSON object"},
		{"two documents", `{"a": [1]} {"b": [1]}`, "after its JSON object"},
		{"too long", `{"a": ["` + strings.Repeat("x", maxFilterLength) + `"]}`, "at most 4096"},
		{"empty object", `{}`, "empty object"},
		{"nested empty object", `{"a": {"b": {}}}`, "a.b is an empty object"},
		{"empty list", `{"a": []}`, "a is an empty list"},
		{"bare value", `{"a": {"b": "x"}}`, "a.b must be an object or a list"},
		{"list in list", `{"a": [["x"]]}`, "list inside a list"},
		{"two keys", `{"a": [{"prefix": "x", "suffix": "y"}]}`, "exactly one key"},
		{"no key", `{"a": [{}]}`, "exactly one key"},
		{"unknown operator", `{"a": [{"like": "x"}]}`, `operator "like"`},
		{"wildcard", `{"a": [{"wildcard": "x*"}]}`, `operator "wildcard"`},
		{"cidr", `{"a": [{"cidr": "10.0.0.0/8"}]}`, `operator "cidr"`},
		{"prefix of a number", `{"a": [{"prefix": 1}]}`, "prefix needs a string"},
		{"suffix of another operator", `{"a": [{"suffix": {"prefix": "x"}}]}`, "suffix needs a string"},
		{"equals-ignore-case of a number", `{"a": [{"equals-ignore-case": 1}]}`, "equals-ignore-case needs a string"},
		{"anything-but of an operator", `{"a": [{"anything-but": {"prefix": "x"}}]}`, "anything-but needs strings or numbers"},
		{"anything-but of nothing", `{"a": [{"anything-but": []}]}`, "empty list"},
		{"anything-but mixed", `{"a": [{"anything-but": ["x", 1]}]}`, "strings and numbers"},
		{"anything-but null", `{"a": [{"anything-but": null}]}`, "anything-but needs strings or numbers"},
		{"exists of a string", `{"a": [{"exists": "true"}]}`, "exists needs true or false"},
		{"numeric of a number", `{"a": [{"numeric": 1}]}`, "numeric needs a list"},
		{"numeric of three", `{"a": [{"numeric": [">", 1, "<"]}]}`, "numeric needs a list"},
		{"numeric of a string", `{"a": [{"numeric": [">", "1"]}]}`, "not a number"},
		{"numeric sign", `{"a": [{"numeric": ["!=", 1]}]}`, "not one of"},
		{"numeric sign is no string", `{"a": [{"numeric": [1, 1]}]}`, "not one of"},
		{"numeric bound", `{"a": [{"numeric": [">", 5000000001]}]}`, "not within -5.0e9"},
		{"numeric upside down", `{"a": [{"numeric": ["<", 5, ">", 1]}]}`, "lower bound and then"},
		{"numeric empty range", `{"a": [{"numeric": [">", 5, "<", 5]}]}`, "greater upper bound"},
		{"$or of an object", `{"$or": {"a": [1]}}`, "$or needs a list"},
		{"$or of one", `{"$or": [{"a": [1]}]}`, "at least 2"},
		{"$or of values", `{"$or": ["x", "y"]}`, "$or[0] is not an object"},
		{"$or of operators", `{"a": {"$or": [{"prefix": ["x"]}, {"b": ["y"]}]}}`, `"prefix" is an operator`},
		{"$or of empty objects", `{"$or": [{"a": [1]}, {}]}`, "empty object"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := compilePattern(test.pattern)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want one with %q", err, test.want)
			}
		})
	}
}

// FuzzPattern feeds any filter: it is refused or it decides about any record.
func FuzzPattern(f *testing.F) {
	for _, p := range []string{
		`{"eventName": ["INSERT"]}`,
		`{"dynamodb": {"NewImage": {"a": {"S": [{"prefix": "x"}, null, {"exists": false}]}}}}`,
		`{"$or": [{"a": [{"numeric": [">", 0, "<", 5]}]}, {"b": [{"anything-but": ["x"]}]}]}`,
		`{"a": [{"suffix": {"equals-ignore-case": "ſK"}}]}`,
		`{"a": {}}`, `{"a": [[]]}`,
	} {
		f.Add(p, inserted)
	}
	f.Fuzz(func(t *testing.T, text, event string) {
		p, err := compilePattern(text)
		if err != nil {
			if err.Error() == "" {
				t.Error("error without a text")
			}
			return
		}
		d := json.NewDecoder(strings.NewReader(event))
		d.UseNumber()
		var tree map[string]any
		if d.Decode(&tree) != nil {
			return
		}
		first := p.matches(tree)
		if again := p.matches(tree); again != first {
			t.Errorf("pattern %s decides differently on the same record", text)
		}
	})
}
