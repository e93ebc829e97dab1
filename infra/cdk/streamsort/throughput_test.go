package streamsort

import (
	"strings"
	"sync"
	"testing"
)

// withThroughput has warm tables, and bounds of all of them.
var withThroughput = sync.OnceValue(func() template {
	return synthesize("Streamsort", &Props{WarmReads: 20_000, WarmWrites: 10_000, WarmTables: "messages,arrivals", MaxReads: 30_000, MaxWrites: 15_000})
})

// TestThroughput: the tables that are named are warm, and all are bounded, with their indexes.
func TestThroughput(t *testing.T) {
	indexes := 0
	for id, resource := range withThroughput().Resources {
		if resource["Type"] != "AWS::DynamoDB::GlobalTable" {
			continue
		}
		p := resource["Properties"].(object)
		var warm any
		if id == "MessagesTable" || id == "ArrivalsTable" {
			warm = object{"ReadUnitsPerSecond": 20_000.0, "WriteUnitsPerSecond": 10_000.0}
		}
		diff(t, id+" warm", warm, p["WarmThroughput"])
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
	tmpl := synthesize("Streamsort", &Props{WarmWrites: 10_000, MaxReads: 30_000})
	for id, warm := range map[string]any{
		"MessagesTable": object{"WriteUnitsPerSecond": 10_000.0}, "CursorsTable": object{"WriteUnitsPerSecond": 10_000.0},
		"ConsumersTable": object{"WriteUnitsPerSecond": 10_000.0}, "AuditTable": nil,
	} {
		p := tmpl.properties(t, id, "AWS::DynamoDB::GlobalTable")
		diff(t, id+" warm", warm, p["WarmThroughput"])
		diff(t, id+" writes", nil, p["WriteOnDemandThroughputSettings"])
		diff(t, id+" reads", object{"MaxReadRequestUnits": 30_000.0}, p["Replicas"].([]any)[0].(object)["ReadOnDemandThroughputSettings"])
	}
	p := defaults().properties(t, "MessagesTable", "AWS::DynamoDB::GlobalTable")
	diff(t, "by default", []any{nil, nil, nil}, []any{p["WarmThroughput"], p["WriteOnDemandThroughputSettings"], p["Replicas"].([]any)[0].(object)["ReadOnDemandThroughputSettings"]})
}

func TestThroughputBounds(t *testing.T) {
	for _, c := range []struct {
		props Props
		want  string // that the error names, with a comma between; empty: the props are good
	}{
		{Props{WarmReads: 12_000, WarmWrites: 4_000, MaxReads: 12_000, MaxWrites: 4_000}, ""},
		{Props{MaxReads: 1, MaxWrites: 1}, ""},
		{Props{WarmReads: 11_999}, "warmReads, 11999, 12000, 10000000, 0"},
		{Props{WarmWrites: 3_999}, "warmWrites, 3999, 4000, 10000000"},
		{Props{WarmWrites: 10_000_001}, "warmWrites, 10000001"},
		{Props{MaxReads: -1}, "maxReads, -1, 1, 10000000"},
		{Props{MaxWrites: -1}, "maxWrites, -1, 1, 10000000"},
		{Props{WarmReads: 20_000, MaxReads: 19_999}, "maxReads, 19999, warmReads, 20000"},
		{Props{WarmWrites: 20_000, MaxWrites: 19_999}, "maxWrites, 19999, warmWrites, 20000"},
		{Props{WarmTables: "messages,sweeps"}, `warmTables, "sweeps", cursors`},
		{Props{WarmTables: "messages, cursors"}, `warmTables, " cursors"`},
		{Props{WarmTables: "dedup", Dedup: new(false)}, `warmTables, "dedup", no such table`},
		{Props{WarmTables: "dedup,chains,arrivals"}, ""},
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

// entries is a list of a template, empty where there is none.
func entries(value any) []any {
	all, _ := value.([]any)
	return all
}
