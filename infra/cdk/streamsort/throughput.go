package streamsort

import (
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/jsii-runtime-go"
)

// What a new table on demand takes at once, in units a second: DynamoDB refuses to warm one to
// less. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html
const coldReads, coldWrites = 12_000, 4_000

// mostUnits is above every quota that an account may ask for.
const mostUnits = 10_000_000

// defaultWarmTables are those that each message goes through.
const defaultWarmTables = "messages,cursors,consumers"

// warmable are the tables that may be warmed, by their names in WarmTables and their ids in the stack.
var warmable = map[string]string{
	"messages": "MessagesTable", "cursors": "CursorsTable", "consumers": "ConsumersTable", "arrivals": "ArrivalsTable",
	"chains": "ChainsTable", "dedup": "DedupTable",
}

// warmTables are the names in WarmTables.
func (p Props) warmTables() []string { return strings.Split(p.WarmTables, ",") }

func (p Props) checkThroughput(c *checker) {
	unlessZero(c, "warmReads", p.WarmReads, coldReads)
	unlessZero(c, "warmWrites", p.WarmWrites, coldWrites)
	unlessZero(c, "maxReads", p.MaxReads, 1)
	unlessZero(c, "maxWrites", p.MaxWrites, 1)
	if p.MaxReads > 0 && p.MaxReads < p.WarmReads {
		c.fail("maxReads", "is %d, and warmReads %d: what is warmed could not be used; write at least as many", p.MaxReads, p.WarmReads)
	}
	if p.MaxWrites > 0 && p.MaxWrites < p.WarmWrites {
		c.fail("maxWrites", "is %d, and warmWrites %d: what is warmed could not be used; write at least as many", p.MaxWrites, p.WarmWrites)
	}
	for _, name := range p.warmTables() {
		switch {
		case warmable[name] == "":
			c.fail("warmTables", "has %q; write some of messages, cursors, consumers, arrivals, chains and dedup, with commas between", name)
		case name == "dedup" && !*p.Dedup:
			c.fail("warmTables", "has %q, and the stack has no such table; set %s to true, or leave it out", name, name)
		}
	}
}

// unlessZero checks a number of units a second, where 0 leaves it to DynamoDB.
func unlessZero(c *checker, field string, value, least int) {
	if value != 0 && (value < least || value > mostUnits) {
		c.fail(field, "is %d; write a value from %d to %d, or 0 to leave it to DynamoDB", value, least, mostUnits)
	}
}

// units is a number of units a second for the CDK: nil for 0.
func units(value int) *float64 {
	if value == 0 {
		return nil
	}
	return jsii.Number(value)
}

// bounded has a table, and its indexes, take no more than the stack's bounds.
func (s *Streamsort) bounded(props *awsdynamodb.TablePropsV2) {
	reads, writes := units(s.props.MaxReads), units(s.props.MaxWrites)
	if reads == nil && writes == nil {
		return
	}
	props.Billing = awsdynamodb.Billing_OnDemand(&awsdynamodb.MaxThroughputProps{MaxReadRequestUnits: reads, MaxWriteRequestUnits: writes})
	if props.GlobalSecondaryIndexes == nil {
		return
	}
	for _, index := range *props.GlobalSecondaryIndexes {
		index.MaxReadRequestUnits, index.MaxWriteRequestUnits = reads, writes
	}
}

// warmed has a table take so much at once, where it is one that is warmed.
func (s *Streamsort) warmed(id string, props *awsdynamodb.TablePropsV2) {
	reads, writes := units(s.props.WarmReads), units(s.props.WarmWrites)
	if reads == nil && writes == nil || !slices.ContainsFunc(s.props.warmTables(), func(name string) bool { return warmable[name] == id }) {
		return
	}
	props.WarmThroughput = &awsdynamodb.WarmThroughput{ReadUnitsPerSecond: reads, WriteUnitsPerSecond: writes}
}
