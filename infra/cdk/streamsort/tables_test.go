package streamsort

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// What is written here is deployed somewhere, whatever the packages say today: a table's name,
// keys, stream and index. Of a table in which one changed CloudFormation would make another, and
// leave behind what is in it. A line may be added; one that has to change needs a migration first.
func TestNoUpdateReplacesATable(t *testing.T) {
	want := map[string]string{
		"MessagesTable":  "streamsort-messages queue:S seq:N KEYS_ONLY",
		"CursorsTable":   "streamsort-cursors queue:S NEW_AND_OLD_IMAGES",
		"ConsumersTable": "streamsort-consumers queue:S consumer:S",
		"AuditTable":     "streamsort-audit queue:S operation:S",
		"TroubleTable":   "streamsort-trouble state:S at:S age state:S since:N",
		"ArrivalsTable":  "streamsort-arrivals queue:S sortKey:B KEYS_ONLY",
		"ChainsTable":    "streamsort-chains tag:S NEW_IMAGE due dueShard:N due:N",
		"DedupTable":     "streamsort-dedup id:S processorId:S",
	}
	// None of the properties that an operator may change later changes them.
	for _, tmpl := range []template{defaults(), other()} {
		got := map[string]string{}
		for id, resource := range tmpl.Resources {
			if resource["Type"] != "AWS::DynamoDB::GlobalTable" {
				continue
			}
			p := resource["Properties"].(object)
			types := map[any]any{}
			for _, attribute := range p["AttributeDefinitions"].([]any) {
				types[attribute.(object)["AttributeName"]] = attribute.(object)["AttributeType"]
			}
			got[id] = p["TableName"].(string)
			keys := func(of any) {
				for _, key := range of.([]any) {
					name := key.(object)["AttributeName"]
					got[id] += fmt.Sprintf(" %v:%v", name, types[name])
				}
			}
			keys(p["KeySchema"])
			if stream, ok := p["StreamSpecification"].(object); ok {
				got[id] += fmt.Sprint(" ", stream["StreamViewType"])
			}
			if indexes, ok := p["GlobalSecondaryIndexes"].([]any); ok {
				index := indexes[0].(object)
				got[id] += fmt.Sprint(" ", index["IndexName"])
				keys(index["KeySchema"])
			}
		}
		check.Is(t, cmp.Diff(want, got), "")
	}
}
