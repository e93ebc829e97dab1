package eventsource

import (
	"crypto/rand"
	"encoding/json"
	"time"

	"github.com/streamsort/streamsort/localstack/template"
)

// failureOf writes what the on-failure destination gets about a batch that is discarded: "Retain
// discarded records for a DynamoDB event source in Lambda" (services-dynamodb-errors.html,
// "Example"). It tells where the records are, not what is in them.
//
// Open on AWS's pages: the response context of records that never reached the function. It is left
// out here.
func failureOf(b *batch, functionARN, streamARN, shardID string, now time.Time) []byte {
	first, last := b.records[0], b.records[len(b.records)-1]
	message := map[string]any{
		"requestContext": map[string]any{
			"requestId": template.UUID(rand.Text()), "functionArn": functionARN,
			"condition": b.condition, "approximateInvokeCount": b.invokes,
		},
		"version": "1.0", "timestamp": now.UTC().Format("2006-01-02T15:04:05.000Z"),
		"DDBStreamBatchInfo": map[string]any{
			"shardId": shardID, "streamArn": streamARN, "batchSize": len(b.records),
			"startSequenceNumber": first.sequence, "endSequenceNumber": last.sequence,
			"approximateArrivalOfFirstRecord": first.at.UTC().Format(time.RFC3339),
			"approximateArrivalOfLastRecord":  last.at.UTC().Format(time.RFC3339),
		},
	}
	if b.invokes > 0 {
		message["responseContext"] = map[string]any{
			"statusCode": 200, "executedVersion": "$LATEST",
			"functionError": b.functionError, // null where the function named failed records
		}
	}
	text, _ := json.Marshal(message) // texts and numbers can be written
	return text
}
