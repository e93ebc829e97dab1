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
	// numbered: it has a seq, so that it may be set aside.
	numbered bool

	notify func(Result, error)

	mu      sync.Mutex
	done    chan struct{} // made by the first that waits
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

// RefusedError is that of a message that can never be accepted.
type RefusedError struct {
	// Status is 400, 409, 410 and so on; Outcome is conflict, late or stale, or empty.
	Status  int
	Outcome cursor.Outcome
	// Code is the problem's, where it has one, and Field the member of the message that is
	// wrong.
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

// GaveUpError is that of a message that was tried for as long as [Options.GiveUpAfter] says.
// Whether it is stored is not known.
type GaveUpError struct {
	Tries int
	Err   error // of the last try
}

func (e *GaveUpError) Error() string {
	return fmt.Sprintf("given up after %d tries: %v", e.Tries, e.Err)
}

// Unwrap is the last try's error.
func (e *GaveUpError) Unwrap() error { return e.Err }

// ErrClosed: the producer is closed. A message that was sent before may be stored or not.
var ErrClosed = errors.New("the producer is closed")

// Done is closed when the message has an outcome.
func (f *Future) Done() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done == nil {
		f.done = make(chan struct{})
		if f.settled {
			close(f.done)
		}
	}
	return f.done
}

// Wait waits for the outcome. The error is a [RefusedError], a [GaveUpError], [ErrClosed],
// or the context's, which changes nothing for the message.
func (f *Future) Wait(ctx context.Context) (Result, error) {
	select {
	case <-f.Done():
		return f.result, f.err
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
}

// settle gives the message its outcome.
func (f *Future) settle(r Result, err error) {
	f.mu.Lock()
	f.result, f.err, f.settled, f.doc = r, err, true, nil
	if f.done != nil {
		close(f.done)
	}
	f.mu.Unlock()
	if f.notify != nil {
		f.notify(r, err)
	}
}
