package cursor_test

import (
	"fmt"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// append appends a group, and notes what an answer said of each.
func (h *hurt) append(answers map[string]cursor.Range, group ...request) error {
	results, err := appendGroup(h.t.Context(), h.sorter, group)
	for i, r := range results {
		if r.Err != nil {
			err = r.Err
			continue
		}
		if seqs, known := answers[group[i].ID]; known && seqs != r.Seqs {
			h.t.Errorf("%s has the seqs %v, and was answered %v", group[i].ID, seqs, r.Seqs)
		}
		answers[group[i].ID] = r.Seqs
	}
	return err
}

// appended checks that each arrival is in the queue once, where its answer said, and that nothing
// else is.
func (h *hurt) appended(answers map[string]cursor.Range) {
	h.t.Helper()
	cur, err := h.sorter.Status(h.t.Context(), "q")
	h.must(err)
	seen := map[string]int64{}
	next := int64(1)
	for m, err := range h.sorter.Read(h.t.Context(), "q", 0, cur.Position) {
		h.must(err)
		check.That(h.t, seen[string(m.Body)] == 0 && m.Seq == next,
			"seq %d, where %d was due, is %s, which was at %d", m.Seq, next, m.Body,
			seen[string(m.Body)])
		seen[string(m.Body)] = m.Seq
		next++
	}
	for id, seqs := range answers {
		got := seen["body of "+id]
		check.That(h.t, got == 0 || got == seqs.To,
			"%s was answered %v, and is at %d", id, seqs, got)
	}
}

// TestEveryRequestOfAnAppendGoesWrongOnce: as with the puts of numbered queues.
func TestEveryRequestOfAnAppendGoesWrongOnce(t *testing.T) {
	group := func(prefix string, n int) []request {
		var list []request
		for i := range n {
			list = append(list, arrival(fmt.Sprint(prefix, i)))
		}
		return list
	}
	for _, operation := range []struct {
		name    string
		prepare []request
		do      []request
	}{
		{"new queue", nil, group("a", 1)},
		{"one", group("a", 1), group("b", 1)},
		{"several under one id", group("a", 1), []request{several("b", 3)}},
		{"group with a repeat", group("a", 2), append(group("b", 2), arrival("a1"))},
		{"flush", group("a", 22), group("b", 3)},
		{"two allocations and two flushes", group("a", 22), group("b", 50)},
		{"repeat after its order item", group("a", 60), group("a", 1)},
	} {
		t.Run(operation.name, func(t *testing.T) {
			for _, fault := range ddbtest.EveryFault() {
				for k := 1; appendGoesWrong(t, operation.prepare, operation.do, fault, k); k++ {
					if k > 100 {
						t.Fatal("more than 100 requests")
					}
					if k > 8 && len(operation.do) > 10 {
						k += 11 // most of them are alike
					}
				}
			}
		})
	}
}

// appendGoesWrong appends with the kth request going wrong, and then again. It reports whether
// there was one.
func appendGoesWrong(t *testing.T, prepare, do []request, fault ddbtest.Fault, k int) bool {
	t.Helper()
	h := newHurt(t)
	answers := map[string]cursor.Range{}
	if len(prepare) > 0 {
		h.must(h.append(answers, prepare...))
	}
	if wrong, _ := h.once(fault, k, func() error { return h.append(answers, do...) }); !wrong {
		return false
	}
	h.must(h.append(answers, do...))
	h.appended(answers)
	check.That(t, len(answers) >= len(do),
		"%s at request %d: %d answers for %d arrivals", fault, k, len(answers), len(do))
	return true
}
