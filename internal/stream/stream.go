// Package stream reads the records that Lambda hands to a function behind a DynamoDB stream, and
// says which of them failed.
package stream

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dynamo"
)

// Record is a change of an item.
type Record struct {
	EventName string `json:"eventName"`
	Source    string `json:"eventSourceARN"` // the stream's
	Change    struct {
		SequenceNumber string          `json:"SequenceNumber"`
		CreatedAt      float64         `json:"ApproximateCreationDateTime"` // s since 1970
		Keys           json.RawMessage `json:"Keys"`
		NewImage       json.RawMessage `json:"NewImage"`
		OldImage       json.RawMessage `json:"OldImage"`
	} `json:"dynamodb"`
}

// Read reads a record.
func Read(raw json.RawMessage) (Record, error) {
	var r Record
	if err := json.Unmarshal(raw, &r); err != nil {
		return Record{}, fmt.Errorf("stream record: %w", err)
	}
	return r, nil
}

// IsOf reports whether the item is one of a table's.
func (r Record) IsOf(table string) bool {
	return strings.Contains(r.Source, ":table/"+table+"/stream/")
}

// Removed reports whether the item was deleted.
func (r Record) Removed() bool { return r.EventName == "REMOVE" }

// Modified reports whether the item was there before.
func (r Record) Modified() bool { return r.EventName == "MODIFY" }

// Keys are the item's keys.
func (r Record) Keys() (ddb.Item, error) { return r.item(r.Change.Keys) }

// New is the item as it is now; it does not exist where the stream does not show it.
func (r Record) New() (ddb.Item, error) { return r.item(r.Change.NewImage) }

// Old is the item as it was before; it does not exist where the stream does not show it.
func (r Record) Old() (ddb.Item, error) { return r.item(r.Change.OldImage) }

// In is an error of something in the record.
func (r Record) In(err error) error {
	return fmt.Errorf("stream record %s: %w", r.Change.SequenceNumber, err)
}

func (r Record) item(raw json.RawMessage) (ddb.Item, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return ddb.Item{}, nil
	}
	it, err := attributevalue.UnmarshalMapJSON(raw)
	if err != nil {
		return ddb.Item{}, r.In(err)
	}
	return dynamo.FromSDK(it), nil
}

// patience is how old a record may be that goes on failing: all that time the later ones of its
// shard wait for it.
const patience = 30 * time.Second

// HeldForLong reports whether a record that fails is too old to be handed out again. One that does
// not say when it was made is not.
func HeldForLong(raw json.RawMessage, now time.Time) bool {
	r, err := Read(raw)
	if err != nil || r.Change.CreatedAt == 0 {
		return false
	}
	return now.Sub(time.Unix(int64(r.Change.CreatedAt), 0)) > patience
}

// FailedAt is the answer that makes Lambda repeat a batch from this record on. A record without a
// sequence number cannot be named: the error then fails the whole batch.
func FailedAt(raw json.RawMessage, cause error) (events.DynamoDBEventResponse, error) {
	var r Record
	// What can be read of a broken record is enough to name it.
	_ = json.Unmarshal(raw, &r)
	if r.Change.SequenceNumber == "" {
		return events.DynamoDBEventResponse{}, fmt.Errorf("record without a sequence number: %w", cause)
	}
	return events.DynamoDBEventResponse{
		BatchItemFailures: []events.DynamoDBBatchItemFailure{{ItemIdentifier: r.Change.SequenceNumber}},
	}, nil
}
