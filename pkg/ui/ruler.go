package ui

import (
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// ruler is a queue drawn along its seqs, in a box of 1000 units' width: what is in order up to the
// position, what is missing, what is parked beyond it, and where each consumer is.
type ruler struct {
	From, To jsonseq.Seq
	Spans    []span
	Marks    []mark
	Position float64 // where the position's line stands
	Height   int
}

// span is a run of seqs of one kind: done (in order), missing or parked.
type span struct {
	Kind     string
	From, To jsonseq.Seq
	X, Width float64
}

// mark is a consumer's place: it has had all up to Seq.
type mark struct {
	Name        string
	Seq         jsonseq.Seq
	X           float64
	Top, Bottom int // of its line
	TextY       int
	TextX       float64
	Anchor      string
}

const (
	rulerWidth = 1000.0
	// leastWidth is what a run of seqs that is too short for its part of the width is drawn with.
	leastWidth = 3.0
	// behind is how many seqs before the first place of interest are drawn.
	behind = 10
	// mostMarks is how many consumers are drawn, and rowHeight what each needs.
	mostMarks = 20
	rowHeight = 22
	barHeight = 34
)

func draw(q queue, open gaps, consumers []consumer) ruler {
	missing := open.Gaps
	from, to := q.Position, max(q.Position, q.First-1)
	for _, c := range consumers {
		from = min(from, jsonseq.Seq(c.Delivered.OrZero()))
	}
	last := q.Position + jsonseq.Seq(q.Parked) // that is parked, with what is missing before it
	for _, g := range missing {
		last += g.To - g.From + 1
		to = max(to, g.To)
		if g.To < cursor.MaxSeq {
			to = max(to, g.To+1) // a gap ends at a message that is parked
		}
	}
	if q.GapOpen {
		to = max(to, q.MaxParked) // the first that was seen to wait: there may be others beyond it
	}
	if q.GapOpen && !open.More && !q.ParkedMore {
		to = max(to, last)
	}
	from = max(from-behind, q.First-1)
	r := ruler{From: from + 1, To: to, Height: barHeight}
	scale := rulerWidth / float64(max(to-from, 1))
	// A place is the end of its seq: position p is drawn at the border of p and p+1.
	at := func(seq jsonseq.Seq) float64 { return min(max(float64(seq-from), 0)*scale, rulerWidth) }
	add := func(kind string, first, last jsonseq.Seq) {
		if first > last {
			return
		}
		x := at(first - 1)
		width := max(at(last)-x, leastWidth)
		r.Spans = append(r.Spans, span{kind, first, last, min(x, rulerWidth-width), width})
	}
	add("done", from+1, q.Position)
	next := q.Position + 1
	for _, g := range missing {
		add("parked", next, g.From-1)
		add("missing", g.From, g.To)
		if g.To == to {
			next = 0
			break // nothing is behind it: the seq after the last of all would be none
		}
		next = g.To + 1
	}
	if len(missing) > 0 && next > 0 {
		add("parked", next, to)
	}
	r.Position = at(q.Position)
	for i, c := range consumers {
		if i == mostMarks {
			break
		}
		had := jsonseq.Seq(c.Delivered.OrZero())
		m := mark{Name: c.Consumer, Seq: had, X: at(had), Top: r.Height + 3,
			Bottom: r.Height + rowHeight - 3, Anchor: "start"}
		m.TextX, m.TextY = m.X+10, r.Height+rowHeight/2+4
		if m.X > rulerWidth*0.7 {
			m.TextX, m.Anchor = m.X-10, "end"
		}
		r.Marks, r.Height = append(r.Marks, m), r.Height+rowHeight
	}
	return r
}
