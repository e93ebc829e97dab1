package producer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// Future is a message on its way. Its methods may be called by any number of goroutines.
type Future struct {
	queue *queue
	doc   []byte  // the message's document; nil when it is settled
	next  *Future // behind it in its queue
	at    time.Time
	tries int
	// epoch counts it for Flush, weight what it takes of the bounds of memory.
	epoch  *epoch
	weight int64
	// seq is the message's, so that it may be set aside; noSeq where it has none.
	seq int64

	mu      sync.Mutex
	done    chan struct{} // made by the first Wait before the outcome
	settled bool
	result  Result
	err     error
}

// Result is what became of a message that was accepted.
type Result struct {
	// Outcome is advanced, parked, stored, duplicate, waiting or dropped.
	Outcome cursor.Outcome
	// Seq is the message's, where the answer has it: in arrival order the one that it was given.
	Seq int64
	// Late tells that it stands, or was dropped, behind greater keys; SettlesAt is when one that
	// waits in a keyed queue gets its seq.
	Late      bool
	SettlesAt time.Time
}

// noSeq is less than every seq.
const noSeq = -1

// RefusedError is that of a message that can never be accepted; or, beside ahead, not before others
// that this producer does not have.
type RefusedError struct {
	// Status is 400, 409, 410 and so on; Outcome is conflict, ahead, late or stale, or empty.
	Status  int
	Outcome cursor.Outcome
	// Position is the queue's, beside ahead: the message can be sent again behind that of the next
	// seq.
	Position int64
	// Code is the problem's, where it has one, and Field the member of the message that is wrong.
	Code, Field string
	Detail      string
}

func (e *RefusedError) Error() string {
	what := string(e.Outcome)
	if what == "" {
		what = fmt.Sprint(e.Status)
	}
	return fmt.Sprintf("the message was refused (%s): %s", what, e.Detail)
}

var (
	// ErrClosed is the error of messages that [Producer.Close] gives back, and of Send after it. A
	// message that Close gives back may be stored or not.
	ErrClosed = errors.New("the producer is closed")
	// ErrGaveUp is the error of a message that was tried for as long as [Options.GiveUpAfter] says,
	// together with the last try's. The message may be stored or not.
	ErrGaveUp = errors.New("given up")
)

// Wait waits for the outcome. The error is a [RefusedError], [ErrGaveUp], [ErrClosed], or the
// context's, which changes nothing for the message. After any but a RefusedError the caller may
// send the same message again, under the same seq, key or id.
func (f *Future) Wait(ctx context.Context) (Result, error) {
	f.mu.Lock()
	if f.settled {
		f.mu.Unlock()
		return f.result, f.err
	}
	if f.done == nil {
		f.done = make(chan struct{})
	}
	f.mu.Unlock()
	select {
	case <-f.done:
		return f.result, f.err
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
}

func (f *Future) settle(r Result, err error) {
	f.mu.Lock()
	f.result, f.err, f.settled, f.doc = r, err, true, nil
	if f.done != nil {
		close(f.done)
	}
	f.mu.Unlock()
}
