package queuelog

import "github.com/streamsort/streamsort/internal/sortkey"

// Query asks for the messages with First <= seq <= Last.
type Query struct {
	Queue       string
	First, Last int64
	// Limit is the most that is returned; 0 means as much as one request can read (1 MB).
	Limit int
	// Strong asks for a strong read, at twice the price.
	Strong bool
	// Backwards reads from Last down to First.
	Backwards bool
	// HeadsOnly leaves out bodies, attributes, ids and digests. The price is the same: DynamoDB
	// reads the whole item.
	HeadsOnly bool
}

// ArrivalQuery asks for arrivals by their keys; its other fields are as in a Query.
type ArrivalQuery struct {
	Queue string
	// Keys are 1 to 100, no two alike.
	Keys              []sortkey.SortKey
	Strong, HeadsOnly bool
}

// WaitingQuery asks for what is stored of a keyed queue under After < sort key <= UpTo; its other
// fields are as in a Query.
type WaitingQuery struct {
	Queue             string
	After, UpTo       sortkey.SortKey
	Limit             int
	Strong, HeadsOnly bool
}

// Placing is entries that are to get the seqs behind the position of a keyed queue.
type Placing struct {
	Entries Tail
	// High and Low become the cursor's.
	High, Low sortkey.SortKey
	// LateSoFar, LateSeq and LateInRow too.
	LateSoFar, LateSeq, LateInRow int64
	// Restart becomes the cursor's, where it is not empty.
	Restart string
}

// Inside is what a caller shows who looks at a queue's tables past the sorter: none outside of this
// module has it.
type Inside struct{}
