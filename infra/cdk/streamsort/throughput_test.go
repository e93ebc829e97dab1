package streamsort

import (
	"strings"
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

// TestThroughputOfOneKind: what is not said is left to DynamoDB.
func TestThroughputOfOneKind(t *testing.T) {
	p := synthesize("Streamsort", &Props{MaxReads: 30_000}).properties(t, "MessagesTable", "AWS::DynamoDB::GlobalTable")
	diff(t, "writes", nil, p["WriteOnDemandThroughputSettings"])
	diff(t, "reads", object{"MaxReadRequestUnits": 30_000.0}, p["Replicas"].([]any)[0].(object)["ReadOnDemandThroughputSettings"])
	p = defaults().properties(t, "MessagesTable", "AWS::DynamoDB::GlobalTable")
	diff(t, "by default", []any{nil, nil}, []any{p["WriteOnDemandThroughputSettings"], p["Replicas"].([]any)[0].(object)["ReadOnDemandThroughputSettings"]})
}

func TestThroughputBounds(t *testing.T) {
	for _, c := range []struct {
		props Props
		want  string // that the error names, with a comma between; empty: the props are good
	}{
		{Props{MaxReads: 1, MaxWrites: 1}, ""},
		{Props{MaxReads: -1}, "maxReads, -1, 1, 10000000"},
		{Props{MaxWrites: -1}, "maxWrites, -1, 1, 10000000"},
	} {
		switch _, err := c.props.complete("Streamsort"); {
		case c.want == "" && err != nil:
			t.Error(err)
		case c.want != "" && err == nil:
			t.Errorf("no error that names %s", c.want)
		case c.want != "":
			wantNamed(t, err, strings.Split(c.want, ", ")...)
		}
	}
}

// entries is a list of a template, or empty.
func entries(value any) []any {
	all, _ := value.([]any)
	return all
}
