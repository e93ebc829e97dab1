package ddbtest

import (
	"context"
	"fmt"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/faulty"
)

// Fault is how a request goes wrong.
type Fault string

// The faults.
const (
	// Refused: the request fails, and did nothing.
	Refused Fault = "fails before"
	// Throttled: the same, because there were too many.
	Throttled Fault = "throttled"
	// Lost: the request takes effect, and fails all the same.
	Lost Fault = "fails after"
	// Repeated: the request takes effect, its response is lost, and the very same request is made
	// again, as the SDK does; the second answer arrives.
	Repeated Fault = "response lost, repeated"
	// Partial: a batch leaves the second half of it for another request, and a page ends after its
	// first item. Other requests are as they are.
	Partial Fault = "partial"
)

// EveryFault are all of them.
func EveryFault() []Fault { return []Fault{Refused, Throttled, Lost, Repeated, Partial} }

// Faults is an engine on which one request goes wrong. It may be used by any number of goroutines.
type Faults struct {
	next ddb.Engine
	faulty.Nth[Fault]
}

// NewFaults returns an engine in front of another one, on which nothing goes wrong yet.
func NewFaults(next ddb.Engine) *Faults { return &Faults{next: next} }

// Do implements [ddb.Engine].
func (f *Faults) Do(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
	switch f.Due() {
	case Refused:
		return ddb.Answer{}, fmt.Errorf("%w: refused", ddb.ErrUnavailable)
	case Throttled:
		return ddb.Answer{}, fmt.Errorf("%w: refused", ddb.ErrThrottled)
	case Lost:
		_, _ = f.next.Do(ctx, r)
		return ddb.Answer{}, fmt.Errorf("%w: response lost", ddb.ErrUnavailable)
	case Repeated:
		_, _ = f.next.Do(ctx, r)
	case Partial:
		return f.partial(ctx, r)
	}
	return f.next.Do(ctx, r)
}

// partial answers a batch half, and a page with one item.
func (f *Faults) partial(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
	switch all := r.(type) {
	case ddb.Query:
		all.Limit = 1
		return f.next.Do(ctx, all)
	case ddb.Scan:
		all.Limit = 1
		return f.next.Do(ctx, all)
	case ddb.BatchGet:
		half := (len(all.Keys) + 1) / 2
		some, left := all, all.Keys[half:]
		some.Keys = all.Keys[:half]
		a, err := f.next.Do(ctx, some)
		a.Left = append(a.Left, left...)
		return a, err
	case ddb.BatchWrite:
		half := len(all.Deletes) / 2
		some, left := all, all.Deletes[half:]
		some.Deletes = all.Deletes[:half]
		if half == 0 && len(all.Puts) == 0 {
			return ddb.Answer{Held: true, Left: left}, nil
		}
		a, err := f.next.Do(ctx, some)
		a.Left = append(a.Left, left...)
		return a, err
	}
	return f.next.Do(ctx, r)
}
