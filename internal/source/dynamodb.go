package source

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// dynamoDBKind is a change of an item of a user's table: one queue for each item, in the order of
// the stream's sequence numbers.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_StreamRecord.html
var dynamoDBKind = kind{
	name: "dynamodb", events: []string{"aws:dynamodb"}, read: reading("dynamodb", readDynamoDB),
	fields: []string{"createdAt", "eventId", "eventName", "item", "sequenceNumber", "table"},
	body:   record, queue: "item", key: "sequenceNumber", keyType: "text", id: "eventId",
}

// streamDigits is how many digits a stream's sequence number has at most (SequenceNumber, DynamoDB
// Streams API Reference). Those of fewer have zeros before.
const streamDigits = 40

func readDynamoDB(r struct {
	EventID   string `json:"eventID"`
	EventName string
	ARN       string `json:"eventSourceARN"`
	DynamoDB  struct {
		ApproximateCreationDateTime json.Number
		Keys                        map[string]map[string]string
		SequenceNumber              string
	}
}) (parts, error) {
	p := parts{}
	_, table, _ := strings.Cut(r.ARN, ":table/") // …:table/NAME/stream/LABEL
	table, _, _ = strings.Cut(table, "/")
	p.set("table", table)
	p.set("eventId", r.EventID)
	p.set("eventName", r.EventName)
	p.set("sequenceNumber", padded(r.DynamoDB.SequenceNumber, streamDigits))
	p.set("createdAt", r.DynamoDB.ApproximateCreationDateTime)
	if table != "" && len(r.DynamoDB.Keys) > 0 {
		p.set("item", table+"/"+itemOf(r.DynamoDB.Keys))
	}
	return p, nil
}

// itemOf is an item's key as a text, another one for each key: the values of its attributes in the
// order of their names, with / between, and that is escaped in them. Bytes are in base64, as the
// record has them.
func itemOf(keys map[string]map[string]string) string {
	var values []string
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		for _, value := range keys[name] { // one, by its type
			values = append(values, strings.ReplaceAll(strings.ReplaceAll(value, "%", "%25"), "/",
				url.PathEscape("/")))
		}
	}
	return strings.Join(values, "/")
}
