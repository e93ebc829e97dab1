package dedup

import "sync"

// lately is the share of duplicates among the calls that this process made lately. It says whether
// a call looks first: reads the row, not strongly, before it claims.
//
// A look costs half a read unit. It saves a duplicate its refused claim, which costs as much as ten
// looks, and a new id nothing. So a call looks where the share is a tenth at least. The share moves
// by 1/16 of the way to each outcome, so that it is of the last 16 calls or so, and begins at 1/8:
// the first four calls look. Every 64th call claims all the same, so that the share never rests on
// looks alone.
//
// Where all ids are new, a process makes four looks in all. Where all are duplicates, 63 of 64 cost
// a look and one costs a claim: 1.14 times a look each. Where half of them are, in whatever order,
// a new id costs at most a look more (1.05 times two writes), and a duplicate 1.28 times a look.
type lately struct {
	mu    sync.Mutex
	share float64
	calls int
}

const (
	firstShare = 1.0 / 8
	lookShare  = 1.0 / 10
	shareStep  = 1.0 / 16
	// claimEach is how often a call claims whatever the share is.
	claimEach = 64
)

// looks reports whether the call that begins looks first.
func (l *lately) looks() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	return l.share >= lookShare && l.calls%claimEach != 0
}

// learn takes the outcome of a call into account: a duplicate is one that a look would have saved
// its claim.
func (l *lately) learn(duplicate bool) {
	outcome := 0.0
	if duplicate {
		outcome = 1
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.share += (outcome - l.share) * shareStep
}
