package cost

import (
	"fmt"
	"math"
	"strings"
)

// Order is an order of arrival that has been measured: each message comes up to so many places
// later than its seq says.
type Order string

// The orders, by the number of places or by name.
const (
	InOrder  Order = "0"
	Window8  Order = "8"
	Window32 Order = "32"
	Reverse  Order = "reverse" // 100 messages, the last one first
	Random   Order = "random"  // 100 messages, in any order
)

// Orders are all that have been measured.
func Orders() []Order { return []Order{InOrder, Window8, Window32, Reverse, Random} }

func (o Order) check() error {
	var known []string
	for _, order := range Orders() {
		if o == order {
			return nil
		}
		known = append(known, string(order))
	}
	return fmt.Errorf("disorder is %q; write one of %s: these have been measured", o,
		strings.Join(known, ", "))
}

// Units are write and read units a message.
type Units struct{ Writes, Reads float64 }

func (u Units) dollars() float64 { return u.Writes*writeUnits + u.Reads*readUnits }

// Batches are the sizes of batches that have been measured. Between two of them a line is drawn
// over 1/size: exact for messages in order.
var Batches = [...]int{1, 5, 25, 100}

// TestUnits of internal/dev/figures holds each figure from here on to what is counted.

// Producer is what it takes to store messages and to move the cursor, by the messages of one queue
// that come together. Measured on 100 messages of 100 bytes, the making of the queue among it.
var Producer = map[Order][len(Batches)]Units{
	InOrder:  {{2.01, 0.005}, {1.21, 0.005}, {1.05, 0.005}, {1.02, 0.005}},
	Window8:  {{1.65, 1.285}, {1.24, 0.305}, {1.06, 0.095}, {1.02, 0.005}},
	Window32: {{1.37, 1.315}, {1.21, 0.375}, {1.06, 0.095}, {1.02, 0.005}},
	Reverse:  {{1.03, 1.055}, {1.03, 0.255}, {1.03, 0.085}, {1.02, 0.005}},
	Random:   {{1.07, 1.115}, {1.05, 0.275}, {1.05, 0.115}, {1.02, 0.005}},
}

// Asynchronous is the same where the producer only stores, and sort moves the cursor once for the
// messages of a queue that its stream's batch holds.
var Asynchronous = map[Order][len(Batches)]Units{
	InOrder:  {{2.01, 4.005}, {1.21, 0.805}, {1.05, 0.205}, {1.02, 0.095}},
	Window8:  {{1.65, 2.985}, {1.21, 0.805}, {1.05, 0.205}, {1.02, 0.095}},
	Window32: {{1.37, 2.705}, {1.20, 0.785}, {1.05, 0.195}, {1.02, 0.095}},
	Reverse:  {{1.03, 2.075}, {1.03, 0.475}, {1.03, 0.155}, {1.02, 0.095}},
	Random:   {{1.07, 2.175}, {1.05, 0.515}, {1.05, 0.195}, {1.02, 0.095}},
}

// Settling is what it takes to give messages of a keyed queue their places, by how many of them are
// settled together; their puts, a write and a share of a strong read each, are not in it.
var Settling = [len(Batches)]Units{{1.08, 2.00}, {0.28, 0.435}, {0.12, 0.225}, {0.10, 0.115}}

// ItemBytes is what an item of n messages of JSON, of 100 bytes each, counts for: as they are, or,
// where that saves a unit, deflated.
func ItemBytes(n float64) float64 {
	if n < 9 {
		return 126 + 104*n
	}
	return 240 + 12.1*n
}

func itemUnits(n float64) float64 { return math.Ceil(ItemBytes(n) / 1024) }

// Appended is what an item of n messages takes with its commit, and its part of an order item for
// 24 such.
func Appended(n float64) Units { return Units{Writes: itemUnits(n) + 1 + 2.0/24} }

// mostTogether is how many messages one item has at most.
const mostTogether = 500

// Older is what aws-stream-sort's algorithm takes, which takes one message at a time.
var Older = map[Order]Units{
	InOrder: {2.00, 1.00}, Window8: {1.77, 0.89}, Window32: {1.59, 0.80}, Reverse: {1.21, 0.60}, Random: {1.24, 0.62},
}

// Heal is what sort takes for a queue whose producers moved the cursor: a look. Pinned by "heal,
// nothing to do" of TestFigures in pkg/cursor.
var Heal = Units{0, 1}

// Deliver is what delivering a batch takes, apart from reading its messages: a claim, a commit and
// a look at the consumer, which a warm process often knows; also where batches are one item.
var Deliver = Units{2, 1}

// callLine is what a call that goes well logs, in bytes: the metrics of a put, and what CloudWatch
// counts for each line beside it. Pinned by TestCallLine.
const callLine = 337 + 26

// A read takes half a unit for each begun page of 4 KB of the batch's messages.
const page = 4096

// SingleBytes is what a message of 100 bytes counts for that is an item.
const SingleBytes = 200

func at(measured [len(Batches)]Units, size float64) Units {
	last := len(Batches) - 1
	for i := range last {
		small, large := float64(Batches[i]), float64(Batches[i+1])
		if size > large {
			continue
		}
		share := (1/size - 1/large) / (1/small - 1/large) // of the smaller
		a, b := measured[i], measured[i+1]
		return Units{b.Writes + share*(a.Writes-b.Writes), b.Reads + share*(a.Reads-b.Reads)}
	}
	return measured[last]
}
