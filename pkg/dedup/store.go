package dedup

import (
	"context"
	"time"
)

// Store is where a [Deduplicator] stores what was done. [NewDynamo] returns the one on DynamoDB. To
// use a database of your own, write these six methods and call
// [github.com/streamsort/streamsort/pkg/dedup/deduptest.Run] from a test: deduptest/shelf_test.go
// is a whole store in memory.
//
// Every method is exactly one request. Writes are atomic and durable when the method returns nil; a
// strong read sees every write that was answered before it began; a read that is not strong may
// show an older state. All methods may be called by any number of goroutines.
//
// A method that returns an error may have taken effect all the same, and a request may take effect
// twice (the SDK repeats one whose response is lost). A write whose condition does not hold changes
// nothing. It returns the stored row, the zero Row where none exists, and false; the caller looks
// for its own token there, then decides. A row that a later version of this package wrote is not
// changed: the error is [table.ErrNewerLayout].
type Store interface {
	// Claim makes the caller the owner of a key: where there is no row; or where the row is valid
	// and not completed, its lease is over by more than the margin, its attempts are fewer than
	// MaxAttempts (if that is not 0), and it has no payload or the caller's (if the caller has
	// one). Fence and attempt rise by one, the fence from the milliseconds of Now where there is no
	// row. The last attempt's error goes.
	//
	// Lost response: the repeat fails, and the row that it returns bears our own token. Another did
	// it first: the row bears theirs. We die right after: the lease ends, and the next one claims
	// with the next attempt.
	Claim(ctx context.Context, c Claim) (Row, bool, error)

	// Swap stores next in the place of seen, which has the same key, if nothing was written since:
	// the stored row has the Token, Fence, LeaseUntil and CompletedAt of seen. All else that ends
	// or repairs an attempt is such a write.
	//
	// Lost response: the repeat fails, and the row that it returns is next. Another did it first:
	// the row is theirs, and the caller decides by it. We die right after: the row says all that
	// there is to know.
	Swap(ctx context.Context, seen, next Row) (Row, bool, error)

	// Row reads a row; the zero Row where the key has no row.
	Row(ctx context.Context, k Key, strong bool) (Row, error)

	// Rows reads one page of all rows, not strongly: the first one, or the one that starts where a
	// page before said.
	Rows(ctx context.Context, after string) (RowPage, error)

	// PutResult stores a result that is too large for its row, under the claim's token, in the
	// place of what is there. Without a Body it is gone.
	//
	// Lost response: the repeat stores the same again. Another cannot do it: no two claims have one
	// token. We die right after: nobody refers to the result until the row is completed; delete it
	// after ExpiresOn.
	PutResult(ctx context.Context, p StoredResult) error

	// Result reads such a result; nil where the claim has no result.
	Result(ctx context.Context, k Key, t Token, strong bool) ([]byte, error)
}

// Claim asks for a key.
type Claim struct {
	Key
	// Token is new for each call of the caller, and the same in repeats.
	Token Token
	// Now is the caller's clock, Margin how far clocks may be apart.
	Now    time.Time
	Margin time.Duration
	// LeaseUntil, ValidUntil and ExpiresOn are those of the row afterwards.
	LeaseUntil, ValidUntil, ExpiresOn time.Time
	// Payload is the hash of what came with the id, nil where nothing did.
	Payload []byte
	// MaxAttempts is how often a key may be claimed in one life; 0 means as often as there is need.
	MaxAttempts int64
}

// row is the row of a new life that the claim begins: the next one of an expired row.
func (c Claim) row(expired Row) Row {
	return Row{
		Key: c.Key, Fence: expired.Fence + 1, Attempt: 1, Token: c.Token, StartedAt: c.Now,
		LeaseUntil: c.LeaseUntil, ValidUntil: c.ValidUntil, ExpiresOn: c.ExpiresOn, Payload: c.Payload,
	}
}

// StoredResult is a result that has an item of its own.
type StoredResult struct {
	Key
	Token     Token
	Body      []byte
	ExpiresOn time.Time
}

// RowPage is a page of all rows.
type RowPage struct {
	Rows []Row
	// Broken are rows that cannot be read.
	Broken []RowError
	// Next is where the next page starts; empty after the last.
	Next string
}
