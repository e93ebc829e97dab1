package eventsource

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"pgregory.net/rapid"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sortkey"
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
			check.Says(t, check.Err(compilePattern(test.pattern)), test.want)
		})
	}
}

// arrivalsFilter is the one filter of the arrivals' stream, in the template that deploys.
func arrivalsFilter(t *testing.T) pattern {
	t.Helper()
	text := check.Get(os.ReadFile("../streamsort.template.json"))
	var document struct {
		Resources struct {
			ArrivalsMapping struct {
				Properties struct {
					FilterCriteria struct{ Filters []struct{ Pattern string } }
				}
			}
		}
	}
	check.OK(t, json.Unmarshal(text, &document))
	filters := document.Resources.ArrivalsMapping.Properties.FilterCriteria.Filters
	check.Need(t, len(filters) == 1, "filters %v", filters)
	return check.Get(compilePattern(filters[0].Pattern))
}

// arrived is the record of what was stored under a sort key.
func arrived(t interface{ Fatal(...any) }, name types.OperationType, key []byte) map[string]any {
	event := check.Get(eventOf(types.Record{EventName: name, Dynamodb: &types.StreamRecord{
		SequenceNumber: aws.String("1"), StreamViewType: types.StreamViewTypeKeysOnly,
		Keys: map[string]types.AttributeValue{
			"queue": &types.AttributeValueMemberS{Value: "q"}, "sortKey": &types.AttributeValueMemberB{Value: key},
		},
	}}, ""))
	return event
}

// TestKeyedQueuesPassTheFilter: of keys of every type, also what is stored in the place of an item
// that has expired; and no deletion.
func TestKeyedQueuesPassTheFilter(t *testing.T) {
	filter := arrivalsFilter(t)
	rapid.Check(t, func(t *rapid.T) {
		ofType := map[sortkey.KeyType]any{
			"number":                      rapid.OneOf(rapid.Map(rapid.Int64(), func(n int64) any { return n }), rapid.Map(rapid.Float64Range(1e-100, 1e100), func(n float64) any { return n })).Draw(t, "number"),
			"time":                        time.Unix(rapid.Int64Range(-1<<35, 1<<37).Draw(t, "time"), 0),
			"text":                        rapid.StringN(0, 10, sortkey.MaxKeyText).Draw(t, "text"),
			"rank(*.created|*|*.deleted)": rapid.SampledFrom([]string{"a.created", "a", "a.deleted"}).Draw(t, "rank"),
		}
		for keyType, part := range ofType {
			for _, composite := range []bool{false, true} {
				parts, of := []any{part}, keyType
				if composite {
					parts, of = append(parts, "x"), keyType+",text"
				}
				key, err := of.Key(parts...)
				if err != nil {
					t.Fatalf("%s of %v: %v", of, parts, err)
				}
				stored := []byte(sortkey.Era("").SortKey(key, rapid.String().Draw(t, "id")))
				for name, want := range map[types.OperationType]bool{types.OperationTypeInsert: true,
					types.OperationTypeModify: true, types.OperationTypeRemove: false} {
					if filter.matches(arrived(t, name, stored)) != want {
						t.Fatalf("%s of %s %v, stored as %x, does not pass", name, of, parts, stored)
					}
				}
			}
		}
	})
}

// TestArrivalOrderIsFilteredOut: its sort keys are hashes of 10 bytes, of which one in 4,096 passes
// by chance.
func TestArrivalOrderIsFilteredOut(t *testing.T) {
	filter, dice := arrivalsFilter(t), rand.New(rand.NewPCG(1, 2))
	const n, want = 200_000, 200_000 / 4096
	passed := 0
	for range n {
		key := make([]byte, 10)
		for i := range key {
			key[i] = byte(dice.Uint32())
		}
		if filter.matches(arrived(t, types.OperationTypeInsert, key)) {
			passed++
		}
	}
	t.Logf("%d of %d pass", passed, n)
	check.That(t, passed >= want/2 && passed <= want*2, "%d of %d pass", passed, n)
}
