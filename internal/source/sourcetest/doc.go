// Package sourcetest makes events as AWS makes them, of every kind of source and of every way on
// which a record comes: for tests, and for what measures.
//
// [Shapes] are all of them. [Shape.Record] is the n-th record of a queue, [Shape.Event] is the
// event that brings some of them, and [Shape.N] finds n again in a message's body.
//
// The documents have the members of those in the AWS Lambda Developer Guide, the Amazon S3 User
// Guide, the Amazon SNS Developer Guide and the DynamoDB Streams API Reference, and values of their
// own.
package sourcetest

import (
	"encoding/json"
	"fmt"
	"time"
)

// Shape is how records of a kind come.
type Shape struct {
	Name string
	// Source describes the source, as [source.Read] reads it; its name is "src".
	Source string
	// Most is how many records an event has at most, as the mappings of the construct have it.
	Most int
	// record is the n-th record of a queue, from 1.
	record func(queue, n int) any
	// event puts records into an event.
	event func(records []json.RawMessage) any
	// Queue is a queue's name.
	Queue func(queue int) string
	// N finds n in a body.
	N func(body []byte) (int, error)
	// Settles tells that messages wait for their queue's settle window.
	Settles bool
}

// Record is the n-th record of a queue, from 1, as it stands in an event.
func (s *Shape) Record(queue, n int) json.RawMessage { return marshal(s.record(queue, n)) }

// Event is the event that brings records.
func (s *Shape) Event(records []json.RawMessage) json.RawMessage {
	return marshal(s.event(records))
}

func marshal(document any) json.RawMessage {
	text, err := json.Marshal(document)
	if err != nil {
		panic(err) // what is made here is always JSON
	}
	return text
}

type object = map[string]any

// begin is when the first record of each queue was made; each next one is a part of a second later.
var begin = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

const every = 137 * time.Millisecond

// Time is when the n-th record of a queue was made.
func Time(n int) time.Time { return begin.Add(time.Duration(n) * every) }

func payload(queue, n int) object {
	return object{"account": queueName(queue), "n": n,
		"amount": fmt.Sprintf("%d.%02d", n*7%1000, n%100), "note": "größer als 5 € <&>"}
}

func queueName(queue int) string { return fmt.Sprintf("acct-%03d", queue) }

// byName is the queue of a shape whose queue is in the payload, or is said so.
func byName(queue int) string { return "src/" + queueName(queue) }

func ofPayload(body []byte) (int, error) {
	var p struct{ N int }
	err := json.Unmarshal(body, &p)
	return p.N, err
}

// list is the event of those that have a list of records.
func list(records []json.RawMessage) any { return object{"Records": records} }

// one is the event of those that have one record, which is the event.
func one(records []json.RawMessage) any { return records[0] }

// id is a text like a UUID, another one for each record.
func id(kind byte, queue, n int) string {
	return fmt.Sprintf("%02x7b1f3c-0a5d-4c2e-9%03x-%012x", kind, queue, n)
}

// millis is a time in milliseconds since 1970.
func millis(t time.Time) string { return fmt.Sprint(t.UnixMilli()) }
