package streamsort

import (
	"testing"

	"github.com/streamsort/streamsort/pkg/archive"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/dedup"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/xorack"
)

func TestTables(t *testing.T) {
	ids := []string{"MessagesTable", "CursorsTable", "SweepsTable"}
	for i, definition := range (cursor.Names{}).Tables() {
		checkTable(t, defaults(), ids[i], definition, true)
	}
	names := cursor.Names{Messages: "in-", Cursors: "at.", Sweeps: "sw_", QueueKey: "account", SeqKey: "number"}
	for i, definition := range names.Tables() {
		checkTable(t, changed(), ids[i], definition, false)
	}
	checkTable(t, defaults(), "DedupTable", dedup.Names{}.Tables()[0], true)
	checkTable(t, changed(), "DedupTable", dedup.Names{Table: "ded"}.Tables()[0], false)
	checkTable(t, defaults(), "ArrivalsTable", cursor.Names{}.ArrivalsTable(), true)
	checkTable(t, changed(), "ArrivalsTable", cursor.Names{Arrivals: "arr", QueueKey: "account"}.ArrivalsTable(), false)
	checkTable(t, changed(), "ArchiveTable", archive.Names{Archive: "arc"}.Tables()[0], false)
	checkTable(t, defaults(), "ChainsTable", xorack.Names{}.Tables()[0], true)
	checkTable(t, changed(), "ChainsTable", xorack.Names{Chains: "cha", TagKey: "tree"}.Tables()[0], false)
	ids = []string{"ConsumersTable", "ActsTable"}
	for i, definition := range (handoff.Names{}).Tables() {
		checkTable(t, defaults(), ids[i], definition, true)
	}
	for i, definition := range (handoff.Names{Consumers: "con", Acts: "act"}).Tables() {
		checkTable(t, changed(), ids[i], definition, false)
	}
}

// checkTable compares all of a table's properties with its definition.
func checkTable(t *testing.T, tmpl template, id string, definition table.Definition, kept bool) {
	t.Helper()
	keys := []any{object{"AttributeName": definition.Partition.Name, "KeyType": "HASH"}}
	attributes := []any{object{"AttributeName": definition.Partition.Name, "AttributeType": definition.Partition.Type}}
	if definition.Sort.Name != "" {
		keys = append(keys, object{"AttributeName": definition.Sort.Name, "KeyType": "RANGE"})
		attributes = append(attributes, object{"AttributeName": definition.Sort.Name, "AttributeType": definition.Sort.Type})
	}
	want := object{
		"TableName": definition.Name, "KeySchema": keys, "AttributeDefinitions": attributes,
		"BillingMode":      "PAY_PER_REQUEST",
		"SSESpecification": object{"SSEEnabled": false}, // false: by DynamoDB's own key
		"Replicas": []any{object{
			"Region":                           ref("AWS::Region"),
			"DeletionProtectionEnabled":        kept,
			"PointInTimeRecoverySpecification": object{"PointInTimeRecoveryEnabled": true},
		}},
	}
	if index := definition.Index; index.Name != "" {
		attributes = append(attributes,
			object{"AttributeName": index.Partition.Name, "AttributeType": index.Partition.Type},
			object{"AttributeName": index.Sort.Name, "AttributeType": index.Sort.Type})
		want["AttributeDefinitions"] = attributes
		want["Replicas"].([]any)[0].(object)["GlobalSecondaryIndexes"] = []any{object{"IndexName": index.Name}}
		want["GlobalSecondaryIndexes"] = []any{object{
			"IndexName": index.Name, "Projection": object{"ProjectionType": "KEYS_ONLY"},
			"KeySchema": []any{
				object{"AttributeName": index.Partition.Name, "KeyType": "HASH"},
				object{"AttributeName": index.Sort.Name, "KeyType": "RANGE"},
			},
		}}
	}
	if definition.Stream != table.NoStream {
		want["StreamSpecification"] = object{"StreamViewType": definition.Stream}
	}
	if definition.TTL != "" {
		want["TimeToLiveSpecification"] = object{"AttributeName": definition.TTL, "Enabled": true}
	}
	diff(t, id, want, tmpl.properties(t, id, "AWS::DynamoDB::GlobalTable"))
	checkRemoval(t, tmpl, id, kept)
}

// checkRemoval looks at what becomes of a resource when it leaves the stack.
func checkRemoval(t *testing.T, tmpl template, id string, kept bool) {
	t.Helper()
	want := "Delete"
	if kept {
		want = "Retain"
	}
	for _, policy := range []string{"DeletionPolicy", "UpdateReplacePolicy"} {
		if got := tmpl.Resources[id][policy]; got != want {
			t.Errorf("%s of %s is %v, want %s", policy, id, got, want)
		}
	}
}
