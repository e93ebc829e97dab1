package cursor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
)

func (h *hurt) putKeyed(messages ...cursor.Message) error {
	results := h.sorter.Put(h.t.Context(), messages...)
	err := results[0].Err
	for _, r := range results {
		err = firstError(err, r.Err)
	}
	return err
}

// settle settles all, when all is due.
func (h *hurt) settle() error {
	h.now = h.now.Add(time.Minute)
	_, err := h.sorter.Settle(h.t.Context(), "q", sortkey.EverySortKey)
	return err
}

// keyedLog reads the queue, late ones marked, and checks that each message is there once, in the
// order of its key, or late.
func (h *hurt) keyedLog() string {
	h.t.Helper()
	cur, err := h.sorter.Status(h.t.Context(), "q")
	h.must(err)
	var all []string
	once, last := map[string]bool{}, ""
	for m, err := range h.sorter.Read(h.t.Context(), "q", 0, cur.Position) {
		h.must(err)
		entry := string(m.Body)
		if m.Tombstone != "" {
			entry, last = "|", ""
		}
		check.That(h.t, !once[entry] && (m.Late || entry >= last),
			"%s stands behind %v", entry, all)
		once[entry] = true
		switch {
		case m.Late:
			entry += "!"
		case m.Tombstone == "":
			last = entry
		}
		all = append(all, entry)
	}
	return strings.Join(all, " ")
}

// TestEveryRequestOfAKeyedQueueGoesWrongOnce, as with the puts of numbered queues.
func TestEveryRequestOfAKeyedQueueGoesWrongOnce(t *testing.T) {
	many := func(prefix string, n int) (all []cursor.Message) {
		for i := range n {
			all = append(all, keyedOf(fmt.Sprintf("%s%03d", prefix, i), "x"))
		}
		return all
	}
	log := func(groups ...[]cursor.Message) string {
		var all []string
		for _, m := range slices.Concat(groups...) {
			all = append(all, string(m.Body))
		}
		return strings.Join(all, " ")
	}
	for _, operation := range []struct {
		name        string
		prepare, do func(*hurt) error
		want        string
	}{
		{"put to a new queue", nil, func(h *hurt) error { return h.putKeyed(many("b", 2)...) }, log(many("b", 2))},
		{"a late one", func(h *hurt) error {
			return firstError(h.putKeyed(many("b", 2)...), h.settle())
		}, func(h *hurt) error { return h.putKeyed(many("a", 1)...) }, log(many("b", 2)) + " a000x!"},
		{"late and not late, with a full tail", func(h *hurt) error {
			return firstError(h.putKeyed(many("b", queuelog.OrderItemEntries)...), h.settle())
		}, func(h *hurt) error {
			return h.putKeyed(append(many("a", 1), many("c", 1)...)...)
		}, log(many("b", queuelog.OrderItemEntries)) + " a000x! c000x"},
		{"by its receipt", nil, func(h *hurt) error {
			h.now = h.now.Add(time.Second) // a repeat comes later
			m := keyedOf("", "x")
			m.KeyParts, m.KeyType, m.Body = []any{sortkey.Received(h.now)}, "time", []byte("x")
			return h.putKeyed(m)
		}, "x"},
		{"keys begin anew", func(h *hurt) error {
			return firstError(h.putKeyed(many("b", 1)...), h.settle(), h.putKeyed(append(many("a", 1), many("c", 1)...)...))
		}, func(h *hurt) error {
			if _, err := h.sorter.RestartKeys(h.t.Context(), "q", "op"); err != nil {
				return err
			}
			return firstError(h.putKeyed(keyedOf("a", "1")), h.settle())
		}, log(many("b", 1)) + " a000x! c000x | a1"},
		{"settle", func(h *hurt) error { return h.putKeyed(many("b", 3)...) }, (*hurt).settle, log(many("b", 3))},
		{"settle more than a move and order items", func(h *hurt) error {
			return firstError(h.putKeyed(many("a", 1)...), h.settle(), h.putKeyed(many("b", 140)...))
		}, (*hurt).settle, log(many("a", 1), many("b", 140))},
		{"sweep", func(h *hurt) error {
			return firstError(h.putKeyed(many("b", 2)...), h.settle(), h.putKeyed(many("a", 1)...), h.putKeyed(many("c", 2)...))
		}, func(h *hurt) error {
			h.now = h.now.Add(time.Minute)
			_, err := h.sorter.Sweep(h.t.Context(), cursor.SweepOptions{Segments: 1})
			return err
		}, log(many("b", 2)) + " a000x! " + log(many("c", 2))},
	} {
		t.Run(operation.name, func(t *testing.T) {
			eachFault(t, func(fault ddbtest.Fault, k int) bool {
				return keyedGoesWrong(t, operation.prepare, operation.do, operation.want, fault, k)
			})
		})
	}
}

// keyedGoesWrong does the operation with its kth request going wrong, and then again. It reports
// whether there was one.
func keyedGoesWrong(t *testing.T, prepare, do func(*hurt) error, want string, fault ddbtest.Fault, k int) bool {
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
	check.That(t, !harmless || err == nil, "%s at request %d: error %v", fault, k, err)
	h.must(do(h))
	h.must(h.settle())
	got := h.keyedLog()
	check.That(t, got == want, "%s at request %d: the log is %s, want %s", fault, k, got, want)
	return true
}
