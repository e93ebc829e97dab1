package ddb

import (
	"context"

	"github.com/streamsort/streamsort/pkg/table"
)

// Engine answers requests: DynamoDB does (internal/dynamo.Engine), a [Memory] does, and layers
// around one of them do, such as those that make faults.
//
// A failed condition is no error: see [Answer.Held]. An error may have taken effect all the same.
// It may be called by any number of goroutines.
type Engine interface {
	Do(ctx context.Context, r Request) (Answer, error)
}

// Func is an Engine that is a function: a layer.
type Func func(context.Context, Request) (Answer, error)

// Do implements [Engine].
func (f Func) Do(ctx context.Context, r Request) (Answer, error) { return f(ctx, r) }

// Request is one of [Get], [Put], [Update], [Delete], [Query], [Scan], [BatchGet] and [BatchWrite].
// It must not be changed once it was made.
type Request interface {
	// Name is what the caller calls the request: in the failures of tests, in traces, and for who
	// counts.
	Name() string
	On() *table.Definition
}

// Answer is what an Engine answers.
type Answer struct {
	// Item is what a Get found, the item after an Update whose condition held, or what stood in the
	// way of a Put, Update or Delete whose condition did not hold; the zero Item if absent.
	Item Item
	// Held: the condition held, and the write took effect.
	Held bool
	// Items are what a Query, a Scan or a BatchGet found.
	Items []Item
	// Next is where the next page begins (After); none after the last page.
	Next Item
	// Left are the keys of what a batch did not do, and has to be asked again.
	Left []Item
	// Units are what DynamoDB charges. On DynamoDB only an Engine that asks for them has them.
	Units Units
}

// Op is what all requests have.
type Op struct {
	// Op is the request's name.
	Op    string
	Table *table.Definition
}

// Name implements [Request].
func (o Op) Name() string { return o.Op }

// On implements [Request].
func (o Op) On() *table.Definition { return o.Table }

// Get reads one item.
type Get struct {
	Op
	Key    Item
	Strong bool
}

// Put stores an item in the place of whatever is there, if the condition holds for that.
type Put struct {
	Op
	Item Item
	If   Cond
}

// Update changes an item, or makes it, if the condition holds.
type Update struct {
	Op
	Key Item
	If  Cond
	Do  []Action
	// Quiet: the item afterwards is not answered.
	Quiet bool
}

// Delete deletes an item if the condition holds.
type Delete struct {
	Op
	Key Item
	If  Cond
}

// Query reads the items of a partition, in the order of their sort keys.
type Query struct {
	Op
	// OfIndex: the table's index is asked, which shows keys only, never strongly.
	OfIndex bool
	// Partition is the partition key; Where, where it is not zero, one comparison of the sort key.
	Partition Value
	Where     Cond
	Backwards bool
	Strong    bool
	// Limit is the most items of a page, 0 for as many as 1 MB has.
	Limit int
	// After is the Next of the page before.
	After Item
	// Only, where it is not empty, are the attributes to show.
	Only []Path
}

// Scan reads the items of a table or a segment of it, in an order of the table's own.
type Scan struct {
	Op
	// Filter leaves items out of the page, not out of its limit and its price.
	Filter Cond
	// Segment is from 0 to Segments-1; Segments 0 is the whole table.
	Segment, Segments int
	Limit             int
	After             Item
}

// BatchGet reads up to 100 items of a table, each once, in no order.
type BatchGet struct {
	Op
	Keys   []Item
	Only   []Path
	Strong bool
}

// BatchWrite stores and deletes up to 25 items of a table, each by itself.
type BatchWrite struct {
	Op
	Puts    []Item
	Deletes []Item
}

// Writes reports whether a request can change anything.
func Writes(r Request) bool {
	switch r.(type) {
	case Put, Update, Delete, BatchWrite:
		return true
	}
	return false
}
