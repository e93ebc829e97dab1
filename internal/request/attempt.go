package request

import "time"

// KeptAttempts is how many attempts on a message a consumer's item has, MaxAnswer how many bytes of
// each answer, and MaxCaller and MaxCallID how many of what was called: with all of them full the
// item has less than 5 KB more.
const (
	KeptAttempts = 5
	MaxAnswer    = 512
	MaxCaller    = 200
	MaxCallID    = 64
)

// Attempt is a claim of the message behind Delivered that did not end with its commit.
type Attempt struct {
	// N is which attempt it was, Token the claim's, From < seq <= To its range.
	N     int    `ddb:"n"`
	Token string `ddb:"token"`
	From  int64  `ddb:"from"`
	To    int64  `ddb:"to"`
	// At is when it ended, Took how long the handler ran; 0 where nobody measured that.
	At   time.Time     `ddb:"at"`
	Took time.Duration `ddb:"ms,omitzero"`
	// By is what was called, CallID the call's id there, where the sink says so.
	By     string `ddb:"by,omitzero"`
	CallID string `ddb:"call,omitzero"`
	// Answer is the beginning of what was answered, Shown how many bytes of it the queue's tenant
	// may read; 0 for all.
	Answer string `ddb:"answer,omitzero"`
	Shown  int    `ddb:"shown,omitzero"`
	// Died: nothing was answered until the lease was over.
	Died bool `ddb:"died,omitzero"`
}

// Attempts are the last attempts on a message, the oldest first; the rest are zero.
type Attempts [KeptAttempts]Attempt

// Latest is the last of the attempts; the zero Attempt without one.
func (a Attempts) Latest() (last Attempt) {
	for _, attempt := range a {
		if attempt != (Attempt{}) {
			last = attempt
		}
	}
	return last
}

// Together is up to which seq the last one was, where it had the message behind a seq with others;
// 0 where it did not.
func (a Attempts) Together(behind int64) int64 {
	if last := a.Latest(); last.From == behind && last.To > behind+1 {
		return last.To
	}
	return 0
}

// With are the attempts with one more, without the oldest where there are too many.
func (a Attempts) With(next Attempt) Attempts {
	for i := range a {
		if a[i] == (Attempt{}) {
			a[i] = next
			return a
		}
	}
	copy(a[:], a[1:])
	a[KeptAttempts-1] = next
	return a
}
