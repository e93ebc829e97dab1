package ui

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/view"
)

// TestRuler draws queues: runs in order, without a hole between them, in the box also at the ends
// of the range of seqs.
func TestRuler(t *testing.T) {
	const last = math.MaxInt64
	at := func(first, position, maxParked jsonseq.Seq, parked int) queue {
		return queue{
			Position: position, MaxParked: maxParked, First: first, Parked: parked, GapOpen: maxParked > 0,
		}
	}
	more := at(1, 2, 5, 6)
	more.Queue = "more"
	for name, c := range map[string]struct {
		q         queue
		missing   []gap
		consumers []consumer
		want      []span // without places
	}{
		"empty":    {at(1, 0, 0, 0), nil, nil, nil},
		"in order": {at(1, 5, 0, 0), nil, []consumer{{Head: view.Head{Delivered: new(jsonseq.Seq(2))}}}, []span{{Kind: "done", From: 1, To: 5}}},
		"a gap":    {at(1, 2, 5, 0), []gap{{3, 4}}, nil, []span{{Kind: "done", From: 1, To: 2}, {Kind: "missing", From: 3, To: 4}, {Kind: "parked", From: 5, To: 5}}},
		"parked beyond the first that is known": {
			at(1, 2, 5, 6),
			[]gap{{3, 4}},
			nil,
			[]span{{Kind: "done", From: 1, To: 2}, {Kind: "missing", From: 3, To: 4}, {Kind: "parked", From: 5, To: 10}},
		},
		"more gaps": {
			more,
			[]gap{{3, 4}},
			nil,
			[]span{{Kind: "done", From: 1, To: 2}, {Kind: "missing", From: 3, To: 4}, {Kind: "parked", From: 5, To: 5}},
		},
		"two gaps":      {at(1, 2, 5, 0), []gap{{3, 4}, {7, 8}}, nil, []span{{Kind: "done", From: 1, To: 2}, {Kind: "missing", From: 3, To: 4}, {Kind: "parked", From: 5, To: 6}, {Kind: "missing", From: 7, To: 8}, {Kind: "parked", From: 9, To: 9}}},
		"the last seqs": {at(1, last-2, last, 0), []gap{{last - 1, last - 1}}, nil, []span{{Kind: "done", From: last - 11, To: last - 2}, {Kind: "missing", From: last - 1, To: last - 1}, {Kind: "parked", From: last, To: last}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := draw(c.q, gaps{Gaps: c.missing, More: c.q.Queue == "more"}, c.consumers)
			var got []span
			for _, s := range r.Spans {
				check.That(t, s.X >= 0 && s.X+s.Width <= rulerWidth+0.01 && s.Width >= leastWidth,
					"%+v is not in the box", s)
				got = append(got, span{Kind: s.Kind, From: s.From, To: s.To})
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			for _, m := range r.Marks {
				check.That(t, m.X >= 0 && m.X <= rulerWidth, "%+v is not in the box", m)
			}
		})
	}
}
