package xorack_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/stamps"
)

// hurt is an Acker on a table of its own, with an engine on which a request can go wrong.
type hurt struct {
	t      *testing.T
	faults *ddbtest.Faults
	// plain is the store on which nothing goes wrong.
	plain   *xorack.Store
	now     time.Time
	acker   *xorack.Acker
	stamper *stamps.Stamper
	// ops counts the marks, which are the same each time.
	ops byte
	// announced are the ids of the events.
	announced map[string]bool
}

func newHurt(t *testing.T) *hurt {
	t.Helper()
	h := &hurt{t: t, now: start, announced: map[string]bool{}}
	var memory *ddb.Memory
	memory, h.plain = inMemory(t)
	h.faults = ddbtest.NewFaults(memory)
	store := xorack.NewStore(h.faults, xorack.Names{})
	options := &xorack.Options{
		ForEach: fanout.OneByOne,
		Now:     func() time.Time { return h.now },
		NewOp:   func() xorack.Op { h.ops++; return xorack.Op{h.ops} },
	}
	h.acker = check.Get(xorack.New(store, options))
	h.stamper = stamps.New(h.acker)
	return h
}

func (h *hurt) announce(_ context.Context, c xorack.Chain) error {
	h.announced[c.EventID()] = true
	return nil
}

// finish finishes a chain as the stream's handler does.
func (h *hurt) finish(tag string) error {
	c, err := h.plain.Chain(h.t.Context(), tag)
	if err != nil {
		return err
	}
	return check.Err(h.acker.Finish(h.t.Context(), c, h.announce))
}

func done(h *hurt, e xorack.Edge, children ...xorack.Edge) error {
	return check.Err(h.acker.Done(h.t.Context(), e, children...))
}

// TestAChainStopsAtItsFirstError: where the edges that were to be added are not, the ends of those
// that add them do not count. Else the sum would be zero, and the chain done, while their children
// have not begun.
func TestAChainStopsAtItsFirstError(t *testing.T) {
	h := newHurt(t)
	created := check.Get(h.acker.Create(t.Context(), "t", nil))
	root := created.Roots[0]
	parts := root.Children(60)
	var operations []xorack.Operation
	for _, part := range parts {
		operations = append(operations, xorack.StartOf(part, "b", part.Child(0)))
	}
	for _, part := range parts {
		operations = append(operations, xorack.EndOf(part))
	}
	check.Get(h.acker.Done(t.Context(), root, parts...))
	h.faults.Fail(1, ddbtest.Throttled)
	_, errs := h.acker.Apply(t.Context(), operations)
	for i, err := range errs {
		check.Need(t, err != nil, "operation %d counted after the first write of its chain had failed", i)
	}
	results, errs := h.acker.Apply(t.Context(), operations)
	check.OK(t, errors.Join(errs...))
	if c := results[0].Chain; c.End() != xorack.Open {
		t.Errorf("the chain has ended, and 60 edges are outstanding: %+v", c)
	}
}

// TestAnInvalidAddHoldsTheEndBack: the caller can correct it, and repeat both.
func TestAnInvalidAddHoldsTheEndBack(t *testing.T) {
	h := newHurt(t)
	created := check.Get(h.acker.Create(t.Context(), "t", nil))
	root := created.Roots[0]
	var bad *xorack.InvalidError
	_, errs := h.acker.Apply(t.Context(), []xorack.Operation{xorack.StartOf(root, "b", root), xorack.EndOf(root)})
	check.That(t, errors.As(errs[0], &bad) && errors.As(errs[1], &bad),
		"errors %v, want that of the call of Add for both", errs)
}
