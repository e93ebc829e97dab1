package dedup

import (
	"context"
	"time"
)

// Store is the view that a [Deduplicator] has of its table. [Table] is the one
// on DynamoDB; write another one for a database of your own, and hold it to what
// is said here with package deduptest.
//
// Every method is exactly one request. Writes are atomic and durable when the
// method returns nil; a strong read sees every write that was answered before
// it began; a read that is not strong may show an older state. All methods may
// be called by any number of goroutines.
//
// A method that returns an error may have taken effect all the same, and a
// request may take effect twice (the SDK repeats one whose response is lost).
// A write whose condition does not hold changes nothing. It returns the stored row,
// the zero Row where there is none, and false; the caller looks for its own token
// there, then decides. A row that a later version of this package wrote is not
// changed: the error is [table.ErrNewerLayout].
type Store interface {
	// Claim makes the caller the owner of a key: where there is no row; or
	// where the row is valid and not completed, its lease is over by more than
	// the margin, its attempts are fewer than MaxAttempts (if that is not 0),
	// and it has no payload or the caller's (if the caller has one). Fence and
	// attempt rise by one, and the last attempt's error goes.
	//
	// Lost response: the repeat fails, and the row that it returns bears our
	// own token. Another did it first: the row bears theirs. We die right
	// after: the lease ends, and the next one claims with the next attempt.
	Claim(ctx context.Context, c Claim) (Row, bool, error)

	// Replace begins a new life of a row whose ValidUntil is over: with the
	// fence that was seen, and only then. The fence rises by one, attempt is 1,
	// and what the old life left goes.
	//
	// Lost response, another did it first, we die right after: as with Claim.
	Replace(ctx context.Context, c Claim, seen int64) (Row, bool, error)

	// Complete stores how the effect ended, for the owner of a row that is not
	// completed.
	//
	// Lost response: the repeat fails, and the row bears our own token and is
	// completed. Another did it first: the row bears another token, and what
	// we did is not remembered. We die right after: nothing is left to do.
	Complete(ctx context.Context, o Owner, c Completion) (Row, bool, error)

	// Fail gives the key back: the owner's lease is over at once, the payload
	// goes, why stays. Row, fence and attempt stay too, so that tokens go on
	// rising.
	//
	// Lost response: the repeat does the same again, or fails because another
	// has claimed meanwhile. Another did it first: the claim was lost before. We
	// die right after: nothing is left to do.
	Fail(ctx context.Context, o Owner, why string) (Row, bool, error)

	// Extend moves the end of the owner's lease to a later time.
	//
	// Lost response: the repeat fails, and the row bears our own token and the
	// lease asked for. Another did it first: the claim was lost. We die right
	// after: the next one waits for the longer lease.
	Extend(ctx context.Context, o Owner, e Extension) (Row, bool, error)

	// Invalidate makes a completed row expire at once, if its fence is the one
	// that was seen.
	//
	// Lost response: the repeat does the same again. Another did it first: the
	// row has expired, or has a higher fence: a new life began. We die right
	// after: a result that has an item of its own stays there until it expires.
	Invalidate(ctx context.Context, k Key, seen int64, expiresOn time.Time) (Row, bool, error)

	// Override is an operator's: it releases or completes a row that is not
	// completed, if its fence is the one that was seen. The fence rises by one and
	// the token is the override's, so the owner, if there is one, has lost its
	// claim.
	//
	// Lost response: the repeat fails, and the row bears the override's token.
	// Another did it first: it bears another. We die right after: nothing is
	// left to do.
	Override(ctx context.Context, o Override) (Row, bool, error)

	// Row reads a row, and whether there is one.
	Row(ctx context.Context, k Key, strong bool) (Row, bool, error)

	// Rows reads one page of all rows, not strongly.
	Rows(ctx context.Context, scan RowScan) (RowPage, error)

	// PutResult stores a result in an item of its own, under the claim's token.
	//
	// Lost response: the repeat stores the same again. Another cannot do it: no
	// two claims have one token. We die right after: nobody refers to the item
	// until the row is completed, and TTL takes it.
	PutResult(ctx context.Context, p StoredResult) error

	// Result reads a result that has an item of its own, and whether there is
	// one.
	Result(ctx context.Context, k Key, t Token, strong bool) ([]byte, bool, error)

	// DeleteResult deletes it.
	//
	// Lost response, another did it first: it is gone, as asked for. We die
	// right after: nothing is left to do.
	DeleteResult(ctx context.Context, k Key, t Token) error
}

// Claim asks for a key.
type Claim struct {
	Key
	// Token is new for each call of the caller, and kept over repeats.
	Token Token
	// Now is the caller's clock, Margin how far clocks may be apart.
	Now    time.Time
	Margin time.Duration
	// LeaseUntil, ValidUntil and ExpiresOn are those of the row afterwards.
	LeaseUntil, ValidUntil, ExpiresOn time.Time
	// Payload is the hash of what came with the id, nil where nothing did.
	Payload []byte
	// MaxAttempts is how often a key may be claimed in one life; 0 means as
	// often as there is need.
	MaxAttempts int64
}

// Owner is who claimed a key: token and fence together. A token alone is not
// enough: a late copy of a claim may take the row back that its owner has
// released, under the same token.
type Owner struct {
	Key
	Token Token
	Fence int64
}

// Completion is how an effect ended.
type Completion struct {
	At     time.Time
	Result Result
	// Failed and Error: an error that is remembered.
	Failed bool
	Error  string
	// ValidUntil and ExpiresOn are those of the row afterwards.
	ValidUntil, ExpiresOn time.Time
}

// Extension is a longer lease.
type Extension struct {
	// LeaseUntil, ValidUntil and ExpiresOn are those of the row afterwards.
	LeaseUntil, ValidUntil, ExpiresOn time.Time
}

// Override is what an operator does to a row: a release where Completion is nil.
type Override struct {
	Key
	// Seen is the fence of the row that the operator saw.
	Seen int64
	// Token is new, as a claim's.
	Token      Token
	Repair     Repair
	Completion *Completion
}

// StoredResult is a result that has an item of its own.
type StoredResult struct {
	Key
	Token     Token
	Body      []byte
	ExpiresOn time.Time
}

// RowScan asks for a page of all rows.
type RowScan struct {
	// Processor, where it is not empty, leaves out the rows of others; Open
	// leaves out completed ones. The price is the same: every item is looked at.
	Processor string
	Open      bool
	// After is the RowPage.Next of the page before, empty for the first.
	After string
	// Limit is the most items that are looked at.
	Limit int
}

// RowPage is a page of all rows.
type RowPage struct {
	Rows []Row
	// Broken are rows that cannot be read.
	Broken []RowError
	// Next is where the next page starts; empty after the last.
	Next string
}
