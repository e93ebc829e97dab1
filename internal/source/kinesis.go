package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// kinesisKind is a record of a data stream: one queue for each partition key, in the order of the
// sequence numbers. These grow for a partition key from one shard to the next.
//
// https://docs.aws.amazon.com/lambda/latest/dg/with-kinesis.html
var kinesisKind = kind{
	name: "kinesis", events: []string{"aws:kinesis"}, read: reading("kinesis", readKinesis),
	fields: []string{"arrivedAt", "data", "eventId", "partitionKey",
		"sequenceNumber", "shardId", "stream"},
	body: "data", queue: "partitionKey", key: "sequenceNumber", keyType: "text", id: "eventId",
}

// kinesisDigits is how many digits a sequence number has: 186 bits are 56 digits. Those of fewer
// have zeros before.
const kinesisDigits = 56

// aggregated begins what the Kinesis Producer Library writes where it puts several records of a
// user's into one.
//
// https://github.com/awslabs/amazon-kinesis-producer/blob/master/aggregation-format.md
var aggregated = []byte{0xF3, 0x89, 0x9A, 0xC2}

func readKinesis(r struct {
	EventID string `json:"eventID"`
	ARN     string `json:"eventSourceARN"`
	Kinesis struct {
		PartitionKey, SequenceNumber string
		Data                         []byte
		ApproximateArrivalTimestamp  json.Number
	}
}) (parts, error) {
	if bytes.HasPrefix(r.Kinesis.Data, aggregated) {
		return nil, errors.New("holds several records that the Kinesis Producer Library put into one: turn its aggregation off")
	}
	p := parts{"data": r.Kinesis.Data}
	p.set("partitionKey", r.Kinesis.PartitionKey)
	p.set("sequenceNumber", padded(r.Kinesis.SequenceNumber, kinesisDigits))
	p.set("eventId", r.EventID)
	shard, _, _ := strings.Cut(r.EventID, ":")
	p.set("shardId", shard)
	p.set("stream", lastOf(r.ARN, "/"))
	p.set("arrivedAt", r.Kinesis.ApproximateArrivalTimestamp)
	return p, nil
}
