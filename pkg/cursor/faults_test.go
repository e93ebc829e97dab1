package cursor_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dev/faulty"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// hurt is a Sorter on tables of which a request can go wrong.
type hurt struct {
	t      *testing.T
	faults *ddbtest.Faults
	store  *cursor.Store
	now    time.Time
	sorter *cursor.Sorter
	// durable are the seqs of which an answer said that they are stored.
	durable map[int64]bool
}

func newHurt(t *testing.T) *hurt {
	t.Helper()
	faults := ddbtest.NewFaults(ddb.NewMemory(tablesOf(cursor.Names{})...))
	return hurtOn(t, faults, storeOn(t, faults, cursor.Names{}))
}

func hurtOn(t *testing.T, faults *ddbtest.Faults, store *cursor.Store) *hurt {
	t.Helper()
	h := &hurt{t: t, faults: faults, store: store, durable: map[int64]bool{}, now: time.Date(2126, 5, 6, 7, 8, 9, 0, time.UTC)}
	settings := cursor.DefaultSettings()
	settings.Policy, settings.GapAfter = cursor.PolicySkip, time.Minute
	h.sorter = check.Get(cursor.New(h.store,
		&cursor.Options{ForEach: fanout.OneByOne, Defaults: &settings, Now: func() time.Time { return h.now }}))
	return h
}

// put puts a group and notes what is said to be durable.
func (h *hurt) put(seqs ...int64) error {
	messages := make([]cursor.Message, len(seqs))
	for i, seq := range seqs {
		messages[i] = body(seq)
	}
	results := h.sorter.Put(h.t.Context(), messages...)
	err := results[0].Err
	for _, r := range results {
		if r.Outcome.Durable() {
			h.durable[r.Seq] = true
		}
		if r.Err != nil {
			err = r.Err
		}
		if r.Deferred != nil {
			err = r.Deferred
		}
	}
	return err
}

func (h *hurt) must(err error) {
	h.t.Helper()
	check.OK(h.t, err)
}

// check checks what must hold at any time, and returns the position and the end of the run that is
// stored behind it.
func (h *hurt) check() (position, end int64) {
	h.t.Helper()
	cur, err := h.sorter.Status(h.t.Context(), "q")
	h.must(err)
	page, err := h.store.Inside().Messages(h.t.Context(), queuelog.Query{Queue: "q", First: 0, Last: cursor.MaxSeq, Strong: true})
	h.must(err)
	stored := map[int64]bool{}
	for _, m := range page.Messages {
		stored[m.Seq] = true
		check.That(h.t, m.Tombstone != "" || string(m.Body) == fmt.Sprintf("body %d", m.Seq),
			"seq %d has the body %q", m.Seq, m.Body)
	}
	for seq := range h.durable {
		check.That(h.t, stored[seq], "seq %d was said to be stored, and is not", seq)
	}
	for end = 0; stored[end+1]; end++ {
	}
	check.That(h.t, cur.Position <= end,
		"the position is %d, and the run ends at %d", cur.Position, end)
	next := int64(1)
	for m, err := range h.sorter.Read(h.t.Context(), "q", 0, cur.Position) {
		if h.must(err); m.Seq != next {
			h.t.Errorf("read seq %d, want %d", m.Seq, next)
		}
		next++
	}
	return cur.Position, end
}

// TestEveryRequestGoesWrongOnce lets each request of each operation go wrong in each way. Whatever
// the operation says then, the same one again brings the queue to where it would have been.
func TestEveryRequestGoesWrongOnce(t *testing.T) {
	policy := cursor.PolicyAlert
	for _, operation := range []struct {
		name    string
		prepare func(*hurt) error
		do      func(*hurt) error
		want    int64
	}{
		{"put to a new queue", nil, func(h *hurt) error { return h.put(1) }, 1},
		{"put in order", func(h *hurt) error { return h.put(1) }, func(h *hurt) error { return h.put(2) }, 2},
		{"put out of order", func(h *hurt) error { return h.put(1) }, func(h *hurt) error { return h.put(4) }, 1},
		{"put farther out of order", func(h *hurt) error { return h.put(1, 4) }, func(h *hurt) error { return h.put(6) }, 1},
		{"put into the gap", func(h *hurt) error { return h.put(1, 3, 4, 6) }, func(h *hurt) error { return h.put(2) }, 4},
		{"group", func(h *hurt) error { return h.put(1) }, func(h *hurt) error { return h.put(2, 3, 5) }, 3},
		{"heal", func(h *hurt) error {
			m := body(2)
			m.Digest, m.Op, m.EnqueuedAt = []byte("digest"), []byte("op"), h.now
			_, err := h.store.Inside().PutMessage(context.Background(), m)
			return firstError(h.put(1, 3), err)
		}, func(h *hurt) error { _, err := h.sorter.Steps().Heal(h.t.Context(), "q", 2); return err }, 3},
		{"skip", func(h *hurt) error { err := h.put(1, 4, 6); h.now = h.now.Add(time.Minute); return err }, func(h *hurt) error {
			_, _, err := h.sorter.Steps().SkipGap(h.t.Context(), "q", "why", time.Minute, 10)
			return err
		}, 6},
		{"sweep", func(h *hurt) error { err := h.put(1, 4); h.now = h.now.Add(time.Minute); return err }, func(h *hurt) error {
			_, err := h.sorter.Sweep(h.t.Context(), cursor.SweepOptions{Segments: 1})
			return err
		}, 4},
		{"configure", nil, func(h *hurt) error {
			_, err := h.sorter.Configure(h.t.Context(), "q", cursor.Change{Policy: &policy})
			return err
		}, 0},
	} {
		t.Run(operation.name, func(t *testing.T) {
			eachFault(t, func(fault ddbtest.Fault, k int) bool {
				return goesWrong(t, operation.prepare, operation.do, operation.want, fault, k)
			})
		})
	}
}

// eachFault tries with the first request going wrong, with the second one, and so on, in each way,
// until there is no such request.
func eachFault(t *testing.T, try func(fault ddbtest.Fault, k int) bool) {
	t.Helper()
	for _, fault := range ddbtest.EveryFault() {
		for k := 1; try(fault, k); k++ {
			check.Need(t, k <= 200, "more than 200 requests")
		}
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// once does something with its kth request going wrong, and returns its error. It reports whether
// there was such a request; where there was none, nothing may have failed.
func (h *hurt) once(fault ddbtest.Fault, k int, do func() error) (wrong bool, failed error) {
	h.t.Helper()
	h.faults.Fail(k, fault)
	failed = do()
	if h.faults.Pending() {
		h.must(failed)
		return false, nil
	}
	h.faults.Fail(0, "")
	return true, failed
}

// goesWrong does the operation with its kth request going wrong. It reports whether there was one.
func goesWrong(t *testing.T, prepare, do func(*hurt) error, want int64, fault ddbtest.Fault, k int) bool {
	t.Helper()
	h := newHurt(t)
	if prepare != nil {
		h.must(prepare(h))
	}
	wrong, err := h.once(fault, k, func() error { return do(h) })
	if !wrong {
		return false
	}
	harmless := fault == ddbtest.Repeated || fault == ddbtest.Partial
	check.That(t, harmless == (err == nil), "%s at request %d: error %v", fault, k, err)
	if _, err := h.sorter.Status(t.Context(), "q"); err == nil {
		h.check()
	}
	h.must(do(h))
	position, end := h.check()
	check.That(t, position == want && end == want,
		"%s at request %d: position %d, end of the run %d; want %d", fault, k, position, end,
		want)
	return true
}

// TestTheSDKRepeats: with its repeats on, a lost response is not heard of.
func TestTheSDKRepeats(t *testing.T) {
	ddbtest.EachServer(t, func(t *testing.T, kind ddbtest.Kind) {
		network := faulty.New(dynamo.Transport())
		h := hurtOn(t, nil, freshTables(t, kind, &dynamo.Options{Transport: network, MaxAttempts: 3}))
		h.must(h.put(1))
		network.Fail(2, faulty.Lost)
		h.must(h.put(2))
		if position, _ := h.check(); position != 2 || network.Pending() {
			t.Errorf("position %d, pending %v; want 2 after a lost response", position, network.Pending())
		}
	})
}
