package meter

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// indexOperation is the name under which the writes of indexes are counted: they are no requests of
// their own.
const indexOperation = "Index"

// entry is an item's place in an index of keys, empty where it has none: the item has one if it has
// all of the index's keys.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html
func entry(index []string, it map[string]types.AttributeValue) string {
	var place strings.Builder
	for _, name := range index {
		switch v := it[name].(type) {
		case *types.AttributeValueMemberS:
			fmt.Fprintf(&place, "S%q", v.Value)
		case *types.AttributeValueMemberN:
			fmt.Fprintf(&place, "N%s", v.Value)
		default:
			return ""
		}
	}
	return place.String()
}

// entryUnits is the charge of an index for a change of an item's place in it: a unit for leaving
// one, and a unit for taking one. An entry has keys only, so it never has more than 1 KB here.
func entryUnits(before, after string) float64 {
	units := 0.0
	if before == after {
		return units
	}
	if before != "" {
		units++
	}
	if after != "" {
		units++
	}
	return units
}

// indexed counts what the table's indexes are charged for an item that now stands there; nil for
// one that was deleted.
func (m *Meter) indexed(table, key string, it map[string]types.AttributeValue) {
	for _, index := range m.indexes[table] {
		at := table + "\x00" + strings.Join(index, "\x00") + "\x00" + key
		after := entry(index, it)
		if units := entryUnits(m.entries[at], after); units > 0 {
			m.counts[indexOperation] = Count{Writes: m.counts[indexOperation].Writes + units}
		}
		m.entries[at] = after
	}
}
