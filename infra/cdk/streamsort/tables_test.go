package streamsort

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/dedup"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/xorack"
)

func TestTables(t *testing.T) {
	ids := []string{"MessagesTable", "CursorsTable", "SweepsTable"}
	for i, definition := range (cursor.Names{}).Tables() {
		checkTable(t, defaults(), ids[i], definition, true)
	}
	names := cursor.Names{Messages: "in--messages", Cursors: "in--cursors", Sweeps: "in--sweeps"}
	for i, definition := range names.Tables() {
		checkTable(t, changed(), ids[i], definition, false)
	}
	checkTable(t, defaults(), "DedupTable", dedup.Names{}.Tables()[0], true)
	checkTable(t, changed(), "DedupTable", dedup.Names{Table: "in--dedup"}.Tables()[0], false)
	checkTable(t, defaults(), "ArrivalsTable", cursor.Names{}.ArrivalsTable(), true)
	checkTable(t, changed(), "ArrivalsTable", cursor.Names{Arrivals: "in--arrivals"}.ArrivalsTable(), false)
	checkTable(t, changed(), "QuotasTable", quota.Names{Quotas: "in--quotas"}.Tables()[0], false)
	checkTable(t, defaults(), "ChainsTable", xorack.Names{}.Tables()[0], true)
	checkTable(t, changed(), "ChainsTable", xorack.Names{Chains: "in--chains"}.Tables()[0], false)
	ids = []string{"ConsumersTable", "AuditTable", "TroubleTable"}
	for i, definition := range (delivery.Names{Trouble: "streamsort-trouble"}).Tables() {
		checkTable(t, defaults(), ids[i], definition, true)
	}
	for i, definition := range (delivery.Names{Consumers: "in--consumers", Audit: "in--audit", Trouble: "in--trouble"}).Tables() {
		checkTable(t, changed(), ids[i], definition, false)
	}
}

// fixed is what of a table no update may change: CloudFormation would make another
// table in its place, or another stream, and what is in it would be left behind.
type fixed struct{ name, keys, stream, index string }

// What is written here is deployed somewhere, whatever the packages say today. A
// line may be added; one that has to change needs a migration first.
func TestNoUpdateReplacesATable(t *testing.T) {
	want := map[string]fixed{
		"MessagesTable":  {"streamsort-messages", "queue:S seq:N", "KEYS_ONLY", ""},
		"CursorsTable":   {"streamsort-cursors", "queue:S", "NEW_AND_OLD_IMAGES", ""},
		"SweepsTable":    {"streamsort-sweeps", "name:S", "", ""},
		"ConsumersTable": {"streamsort-consumers", "queue:S consumer:S", "", ""},
		"AuditTable":     {"streamsort-audit", "queue:S operation:S", "", ""},
		"TroubleTable":   {"streamsort-trouble", "state:S at:S", "", "age state:S since:N"},
		"ArrivalsTable":  {"streamsort-arrivals", "queue:S sortKey:B", "KEYS_ONLY", ""},
		"ChainsTable":    {"streamsort-chains", "tag:S", "NEW_IMAGE", "due dueShard:N due:N"},
		"DedupTable":     {"streamsort-dedup", "id:S processorId:S", "", ""},
	}
	// None of the properties that an operator may change later changes them.
	tuned := synthesize("Streamsort", &Props{
		Mode: cursor.ModeAsync, Retention: new(time.Duration(0)), EncryptionKey: NewKey, Shift: "AllAtOnce", Removal: Destroy,
		AnnounceTopic: new("arn:aws:sns:eu-west-1:123456789012:people"), SavedQueries: new(false),
		MaxWrites: 20_000,
	})
	for _, tmpl := range []template{defaults(), tuned} {
		got := map[string]fixed{}
		for id, resource := range tmpl.Resources {
			if resource["Type"] != "AWS::DynamoDB::GlobalTable" {
				continue
			}
			p := resource["Properties"].(object)
			types := map[any]any{}
			for _, attribute := range p["AttributeDefinitions"].([]any) {
				types[attribute.(object)["AttributeName"]] = attribute.(object)["AttributeType"]
			}
			keys := func(of any) string {
				var all []string
				for _, key := range of.([]any) {
					name := key.(object)["AttributeName"]
					all = append(all, fmt.Sprintf("%v:%v", name, types[name]))
				}
				return strings.Join(all, " ")
			}
			f := fixed{name: p["TableName"].(string), keys: keys(p["KeySchema"])}
			if stream, ok := p["StreamSpecification"].(object); ok {
				f.stream, _ = stream["StreamViewType"].(string)
			}
			if indexes, ok := p["GlobalSecondaryIndexes"].([]any); ok {
				index := indexes[0].(object)
				f.index = fmt.Sprint(index["IndexName"], " ", keys(index["KeySchema"]))
			}
			got[id] = f
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(fixed{})); d != "" {
			t.Errorf("(- want, + got)\n%s", d)
		}
	}
}

// Every table can be set back to any second of the last 35 days, and none is
// deleted by mistake: cdk-nag sees neither on a TableV2.
func TestTablesAreKept(t *testing.T) {
	tables := 0
	for id, resource := range defaults().Resources {
		if resource["Type"] != "AWS::DynamoDB::GlobalTable" {
			continue
		}
		tables++
		checkRemoval(t, defaults(), id, true)
		for _, replica := range resource["Properties"].(object)["Replicas"].([]any) {
			diff(t, id+" deletion protection", true, replica.(object)["DeletionProtectionEnabled"])
			diff(t, id+" recovery", object{"PointInTimeRecoveryEnabled": true}, replica.(object)["PointInTimeRecoverySpecification"])
		}
	}
	if tables != 9 {
		t.Errorf("%d tables", tables)
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
	if !kept { // changedProps have a key
		want["SSESpecification"] = object{"SSEEnabled": true, "SSEType": "KMS"}
		want["Replicas"].([]any)[0].(object)["SSESpecification"] = object{"KMSMasterKeyId": theKey}
	}
	if index := definition.Index; index.Name != "" {
		for _, key := range []table.Key{index.Partition, index.Sort} {
			if key != definition.Partition && key != definition.Sort {
				attributes = append(attributes, object{"AttributeName": key.Name, "AttributeType": key.Type})
			}
		}
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
