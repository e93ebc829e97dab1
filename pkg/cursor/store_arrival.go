package cursor

import (
	"context"
	"time"
)

// ArrivalStore is the part of a [Store] that queues in arrival order use. What
// is said of Store holds here too.
type ArrivalStore interface {
	// PutArrival stores a, if nothing is stored under its queue and id, or what
	// is there expires at a.EnqueuedAt or before. It returns the arrival that
	// stands there afterwards, its messages without what is in them.
	//
	// Lost response: the repeat fails, and the arrival returned bears our own
	// Op. Another did it first: theirs is returned. We die right after: nobody
	// sees an arrival without a place; it is there for a repeat, or expires.
	PutArrival(ctx context.Context, a Arrival) (Arrival, error)

	// Ticket gives entries the seqs behind the position: they join the tail, and
	// the position rises by what they count. It does so if the queue is in
	// arrival order, none of the entries has a place behind seen.From, the
	// position is seen.To or more, the tail has at most MaxTail entries
	// afterwards, and the position does not pass MaxSeq. GapSince becomes now. It
	// returns the cursor that stands there afterwards, and whether this request
	// gave the places.
	//
	// What the entries' arrivals have seen lies between seen.From and seen.To.
	// An entry has no place behind seen.From if it is not in the tail, and either
	// TailFrom is not above seen.From, or PrintsFrom is not and its print is not
	// among the Prints.
	//
	// Lost response: the repeat fails, and the entries are in the tail that it
	// returns; or TailFrom is above seen.From, and they may be in an order item.
	// Another did it first: the same. We die right after: the messages have
	// their places, and a repeat is told which.
	Ticket(ctx context.Context, queue string, entries Tail, seen Range, now time.Time) (Cursor, bool, error)

	// PutOrderItem stores o if nothing is stored under its queue and seq, and
	// returns what stands there afterwards.
	//
	// Lost response, another did it first: what stands there is the same, for
	// the first entries of a tail never change. We die right after: the entries
	// stand in two places, until the next one trims the tail.
	PutOrderItem(ctx context.Context, o OrderItem) (OrderItem, error)

	// TrimTail takes the first OrderItemEntries entries out of the tail of a
	// cursor that was seen, and puts their prints behind the others, if TailFrom
	// is still what was seen. Their order item must be stored. It returns the
	// cursor that stands there afterwards, and whether this request changed it.
	//
	// Lost response, another did it first: the repeat fails, and returns a
	// TailFrom beyond the one that was seen. We die right after: nothing is left
	// to do.
	TrimTail(ctx context.Context, seen Cursor) (Cursor, bool, error)

	// OrderItems reads the order items whose Last is in a range, in its order or
	// backwards. HeadsOnly means nothing here.
	OrderItems(ctx context.Context, query Query) (OrderPage, error)

	// Arrivals reads up to 100 different arrivals of a queue, in any order, and
	// returns the keys of those that the server left unread.
	Arrivals(ctx context.Context, query ArrivalQuery) (found []Arrival, left []Hash, err error)

	// KeepArrival pushes an arrival's ExpiresOn to a later time, if the arrival
	// is there, is the one that has seen this position, and its time is earlier.
	// It reports whether it is there.
	//
	// Lost response, another did it first: the time is as late as asked for or
	// later, and the repeat changes nothing. We die right after: nothing is left
	// to do.
	KeepArrival(ctx context.Context, queue string, key Hash, seen int64, until time.Time) (there bool, err error)
}

// OrderPage is a part of an answer.
type OrderPage struct {
	Items []OrderItem
	// More is true where the range may hold more than this page.
	More bool
}

// ArrivalQuery asks for arrivals by their keys.
type ArrivalQuery struct {
	Queue string
	// Keys are 1 to 100, no two alike.
	Keys []Hash
	// Strong asks for a strong read, at twice the price.
	Strong bool
	// HeadsOnly leaves out what is in the messages. The price is the same.
	HeadsOnly bool
}
