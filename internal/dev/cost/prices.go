package cost

import "github.com/streamsort/streamsort/internal/dev/meter"

// What AWS publishes for us-east-1, on demand, in dollars. The free tier is left out, and so are
// the lower prices of very large amounts but the API's: a bill may be less.
const (
	writeUnits = meter.WritePrice / million // a write request unit of DynamoDB
	readUnits  = meter.ReadPrice / million  // a read request unit
	// A GB of a standard table for a month, and of its point-in-time recovery.
	// https://aws.amazon.com/dynamodb/pricing/on-demand/
	restoreGB = 0.20
	storedGB  = 0.25 + restoreGB
	// A request to an HTTP API, up to 512 KB: the first of a month, and those beyond.
	// https://aws.amazon.com/api-gateway/pricing/
	apiRequest, apiFirst, apiBeyond = 1.00 / million, 300 * million, 0.90 / million
	// https://aws.amazon.com/lambda/pricing/
	invocation = 0.20 / million
	gbSecond   = 0.0000133334 // arm64
	// A GB taken into CloudWatch Logs, a metric and an alarm for a month.
	// https://aws.amazon.com/cloudwatch/pricing/
	loggedGB  = 0.50
	metric    = 0.30
	alarm     = 0.10
	dashboard = 3.00
	// A request to a FIFO queue, and to another one, up to 64 KB or ten messages.
	// https://aws.amazon.com/sqs/pricing/
	fifoRequest, standardRequest = 0.50 / million, 0.40 / million
	// A trace that X-Ray records. https://aws.amazon.com/xray/pricing/
	trace = 5.00 / million

	million = 1e6
	gb      = 1 << 30
	month   = 730 * 3600 // seconds, as AWS counts
)

// FIFO is what a million messages take to be sent to SQS FIFO, or received, or deleted, in dollars,
// by so many at once: ten at most.
func FIFO(batch int) float64 { return fifoRequest * million / float64(min(batch, 10)) }
