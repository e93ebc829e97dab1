package streamsort

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// fixed is what of a table no update may change: CloudFormation would make another table in its
// place, or another stream, and what is in it would be left behind.
type fixed struct{ name, keys, stream, index string }

// What is written here is deployed somewhere, whatever the packages say today. A line may be added;
// one that has to change needs a migration first.
func TestNoUpdateReplacesATable(t *testing.T) {
	want := map[string]fixed{
		"MessagesTable":  {"streamsort-messages", "queue:S seq:N", "KEYS_ONLY", ""},
		"CursorsTable":   {"streamsort-cursors", "queue:S", "NEW_AND_OLD_IMAGES", ""},
		"ConsumersTable": {"streamsort-consumers", "queue:S consumer:S", "", ""},
		"AuditTable":     {"streamsort-audit", "queue:S operation:S", "", ""},
		"TroubleTable":   {"streamsort-trouble", "state:S at:S", "", "age state:S since:N"},
		"ArrivalsTable":  {"streamsort-arrivals", "queue:S sortKey:B", "KEYS_ONLY", ""},
		"ChainsTable":    {"streamsort-chains", "tag:S", "NEW_IMAGE", "due dueShard:N due:N"},
		"DedupTable":     {"streamsort-dedup", "id:S processorId:S", "", ""},
	}
	// None of the properties that an operator may change later changes them.
	for _, tmpl := range []template{defaults(), other()} {
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
		d := cmp.Diff(want, got, cmp.AllowUnexported(fixed{}))
		check.That(t, d == "", "(- want, + got)\n%s", d)
	}
}
