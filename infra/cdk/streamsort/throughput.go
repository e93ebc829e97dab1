package streamsort

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/jsii-runtime-go"
)

// mostUnits is above every quota that an account may ask for.
const mostUnits = 10_000_000

func (p Props) checkThroughput(c *checker) {
	unlessZero(c, "maxReads", p.MaxReads)
	unlessZero(c, "maxWrites", p.MaxWrites)
}

// unlessZero checks a number of units a second, where 0 leaves it to DynamoDB.
func unlessZero(c *checker, field string, value int) {
	if value < 0 || value > mostUnits {
		c.fail(field, "is %d; write a value from 1 to %d, or 0 to leave it to DynamoDB", value, mostUnits)
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
