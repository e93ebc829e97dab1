package eventsource

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"
)

// failureMessage is what the on-failure destination gets about discarded records: "Retain discarded
// records for a DynamoDB event source in Lambda" (services-dynamodb-errors.html, "Example"). It
// tells where the records are, not what is in them.
//
// Open on AWS's pages: the response context of records that never reached the function. It is left
// out here.
type failureMessage struct {
	RequestContext  requestContext   `json:"requestContext"`
	ResponseContext *responseContext `json:"responseContext,omitempty"`
	Version         string           `json:"version"`
	Timestamp       string           `json:"timestamp"`
	BatchInfo       batchInfo        `json:"DDBStreamBatchInfo"`
}

type requestContext struct {
	RequestID              string `json:"requestId"`
	FunctionARN            string `json:"functionArn"`
	Condition              string `json:"condition"`
	ApproximateInvokeCount int    `json:"approximateInvokeCount"`
}

type responseContext struct {
	StatusCode      int     `json:"statusCode"`
	ExecutedVersion string  `json:"executedVersion"`
	FunctionError   *string `json:"functionError"` // null where the function named failed records
}

type batchInfo struct {
	ShardID                         string `json:"shardId"`
	StartSequenceNumber             string `json:"startSequenceNumber"`
	EndSequenceNumber               string `json:"endSequenceNumber"`
	ApproximateArrivalOfFirstRecord string `json:"approximateArrivalOfFirstRecord"`
	ApproximateArrivalOfLastRecord  string `json:"approximateArrivalOfLastRecord"`
	BatchSize                       int    `json:"batchSize"`
	StreamARN                       string `json:"streamArn"`
}

// failureOf writes the message about a batch that is discarded.
func failureOf(b *batch, functionARN, streamARN, shardID string, now time.Time) ([]byte, error) {
	first, last := b.records[0], b.records[len(b.records)-1]
	m := failureMessage{
		RequestContext: requestContext{
			RequestID:              newRequestID(),
			FunctionARN:            functionARN,
			Condition:              b.condition,
			ApproximateInvokeCount: b.invokes,
		},
		Version:   "1.0",
		Timestamp: now.UTC().Format("2006-01-02T15:04:05.000Z"),
		BatchInfo: batchInfo{
			ShardID:                         shardID,
			StartSequenceNumber:             first.sequence,
			EndSequenceNumber:               last.sequence,
			ApproximateArrivalOfFirstRecord: first.at.UTC().Format(time.RFC3339),
			ApproximateArrivalOfLastRecord:  last.at.UTC().Format(time.RFC3339),
			BatchSize:                       len(b.records),
			StreamARN:                       streamARN,
		},
	}
	if b.invokes > 0 {
		m.ResponseContext = &responseContext{StatusCode: 200, ExecutedVersion: "$LATEST", FunctionError: b.functionError}
	}
	return json.Marshal(m)
}

// newRequestID makes a random UUID in place of Lambda's request id.
func newRequestID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never returns an error
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
