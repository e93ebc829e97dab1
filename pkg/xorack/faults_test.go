package xorack_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dev/meter"
	"github.com/streamsort/streamsort/internal/dynamo"
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

// lossy is a network that loses the response of one request in twenty, after it took effect.
type lossy struct {
	next http.RoundTripper

	mu     sync.Mutex
	random *rand.Rand
	lost   int
}

var errLost = errors.New("response lost")

func (l *lossy) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.next.RoundTrip(request)
	if err != nil {
		return response, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.random.IntN(20) > 0 {
		return response, nil
	}
	l.lost++
	_ = response.Body.Close()
	return nil, errLost
}

// onServer makes a table on a server, and returns the Store on it behind a network, and one that is
// not.
func onServer(t *testing.T, kind ddbtest.Kind, network http.RoundTripper) (store, plain *xorack.Store) {
	t.Helper()
	names := xorack.Names{Chains: "chains" + ddbtest.Suffix()}
	plain = xorack.NewStore(ddbtest.Open(t, kind, unstreamed(names)), names)
	client := check.Get(dynamo.New(&dynamo.Options{Endpoint: ddbtest.Endpoint(t, kind), Transport: network, MaxAttempts: 1}))
	store = xorack.NewDynamo(client, names)
	return store, plain
}

// TestManyFinishOneChain lets 64 finish one chain at once, 20 times over, while 5 % of the
// responses are lost and those operations are repeated: each chain ends once, not before its last
// edge, and one operation is answered so. It pins what the repeats cost.
func TestManyFinishOneChain(t *testing.T) {
	for _, kind := range ddbtest.Servers(t) {
		t.Run(string(kind), func(t *testing.T) {
			counted := meter.New(dynamo.Transport())
			network := &lossy{next: counted, random: rand.New(rand.NewPCG(1, 2))}
			store, plain := onServer(t, kind, network)
			acker := check.Get(xorack.New(store, nil))
			const finishers, rounds = 64, 20
			writes := 0.0
			for round := range rounds {
				tag := fmt.Sprint("round ", round)
				var created xorack.Created
				err := errLost
				for errors.Is(err, xorack.ErrUnavailable) || errors.Is(err, errLost) {
					created, err = acker.Create(t.Context(), tag, &xorack.CreateOptions{Edges: finishers})
				}
				check.OK(t, err)
				before := counted.Counts()
				outcomes := make([]xorack.Outcome, finishers)
				sideBySide(finishers, func(i int) {
					result, err := acker.Done(t.Context(), created.Roots[i])
					for errors.Is(err, xorack.ErrUnavailable) {
						result, err = acker.Done(t.Context(), created.Roots[i])
					}
					if err != nil {
						t.Error(err)
					}
					outcomes[i] = result.Outcome
					check.That(t, result.Outcome != xorack.Applied || result.Chain.End() != xorack.Open || !result.Chain.Sum.IsZero(),
						"at zero, and open")
				})
				writes += counted.Counts().Sub(before).Total().Writes
				ended := 0
				for _, outcome := range outcomes {
					if outcome == xorack.Ended {
						ended++
					}
				}
				c, err := plain.Chain(t.Context(), tag)
				if err != nil || ended != 1 || c.End() != xorack.Done || c.EdgesEnded() != finishers {
					t.Errorf("%s: %d were answered that they ended it; %s with %d edges, %v", tag, ended, c.End(), c.EdgesEnded(), err)
				}
			}
			t.Logf("%d responses lost; %.3f write units an operation", network.lost, writes/(finishers*rounds))
			if network.lost == 0 || writes > 1.06*finishers*rounds {
				t.Errorf("%d responses lost, %.3f write units an operation; want 1.06 or less", network.lost, writes/(finishers*rounds))
			}
		})
	}
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
