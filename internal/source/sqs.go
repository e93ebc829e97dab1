package source

import (
	"encoding/json"
	"strings"
)

// sqsKind is a message of a standard queue. It has no order of its own: by default its place is
// that of its arrival.
//
// https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
var sqsKind = kind{
	name: "sqs", events: []string{"aws:sqs"}, read: reading("sqs", readSQS),
	fields: sqsFields, volatile: sqsVolatile,
	body: "body", queue: "queueName", id: "messageId",
}

// sqsFIFOKind is a message of a FIFO queue: one queue here for each message group, in the order of
// the sequence numbers. These have 20 digits; a key takes 38.
var sqsFIFOKind = kind{
	name: "sqsFifo", events: []string{"aws:sqs"}, read: reading("sqs", readSQS), fields: sqsFields,
	volatile: sqsVolatile,
	body:     "body", queue: "groupId", key: "sequenceNumber", keyType: "number", id: "messageId",
}

var (
	sqsFields = []string{"body", "deduplicationId", "groupId", "messageId", "queueName", "sentAt",
		"sequenceNumber"}
	// sqsVolatile: the receipt handle and the counts of receives are others each time.
	sqsVolatile = []string{record}
)

type sqsRecord struct {
	MessageID  string `json:"messageId"`
	Body       string `json:"body"`
	ARN        string `json:"eventSourceARN"`
	Attributes struct {
		SentTimestamp          json.Number
		MessageGroupID         string `json:"MessageGroupId"`
		MessageDeduplicationID string `json:"MessageDeduplicationId"`
		SequenceNumber         string
	} `json:"attributes"`
}

func readSQS(r sqsRecord) (parts, error) {
	p := parts{"body": []byte(r.Body)}
	p.set("messageId", r.MessageID)
	p.set("queueName", strings.TrimSuffix(lastOf(r.ARN, ":"), ".fifo"))
	p.set("groupId", r.Attributes.MessageGroupID)
	p.set("deduplicationId", r.Attributes.MessageDeduplicationID)
	p.digits("sequenceNumber", r.Attributes.SequenceNumber)
	p.millis("sentAt", r.Attributes.SentTimestamp)
	return p, nil
}
