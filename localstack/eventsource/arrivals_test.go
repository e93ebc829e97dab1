package eventsource

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"pgregory.net/rapid"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sortkey"
)

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
