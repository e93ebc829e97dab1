package streamsort

import (
	"sync"
	"testing"
)

// withThroughput has bounds of all tables.
var withThroughput = sync.OnceValue(func() template {
	return synthesize("Streamsort", &Props{MaxReads: 30_000, MaxWrites: 15_000})
})

// TestThroughput: all tables are bounded, with their indexes.
func TestThroughput(t *testing.T) {
	indexes := 0
	for id, resource := range withThroughput().Resources {
		if resource["Type"] != "AWS::DynamoDB::GlobalTable" {
			continue
		}
		p := resource["Properties"].(object)
		diff(t, id+" writes", object{"MaxWriteRequestUnits": 15_000.0}, p["WriteOnDemandThroughputSettings"])
		replica := p["Replicas"].([]any)[0].(object)
		diff(t, id+" reads", object{"MaxReadRequestUnits": 30_000.0}, replica["ReadOnDemandThroughputSettings"])
		for _, index := range entries(p["GlobalSecondaryIndexes"]) {
			indexes++
			diff(t, id+" index, writes", object{"MaxWriteRequestUnits": 15_000.0}, index.(object)["WriteOnDemandThroughputSettings"])
		}
		for _, index := range entries(replica["GlobalSecondaryIndexes"]) {
			diff(t, id+" index, reads", object{"MaxReadRequestUnits": 30_000.0}, index.(object)["ReadOnDemandThroughputSettings"])
		}
	}
	if indexes != 2 {
		t.Errorf("%d indexes", indexes)
	}
}

func entries(value any) []any {
	all, _ := value.([]any)
	return all
}
