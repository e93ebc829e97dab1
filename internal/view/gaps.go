package view

import (
	"time"

	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/printable"
)

// Gaps are the first gaps of a queue, in their order.
type Gaps struct {
	Status    int            `json:"status"`
	Queue     printable.Name `json:"queue"`
	Position  jsonseq.Seq    `json:"position"`
	MaxParked jsonseq.Seq    `json:"maxParked"`
	Gaps      []Range        `json:"gaps"`
	// More: there may be more behind them.
	More bool `json:"more"`
}

// Range is one gap: From and To are missing, and all between.
type Range struct {
	From  jsonseq.Seq `json:"from"`
	To    jsonseq.Seq `json:"to"`
	Since time.Time   `json:"since,omitzero"`
	Age   float64     `json:"ageSeconds,omitempty"`
}

// Place finds a seq beyond the position: the gap that it is in; or, where it is stored, the gaps
// that it waits for, in their order. It is neither where that is not known.
func (g Gaps) Place(seq int64) (in *Range, behind []Range) {
	last := int64(-1)
	for i, gap := range g.Gaps {
		if int64(gap.From) <= seq && seq <= int64(gap.To) {
			return &g.Gaps[i], nil
		}
		if last = int64(gap.To); last < seq {
			behind = g.Gaps[:i+1]
		}
	}
	if seq > last && g.More || seq > max(int64(g.MaxParked), last) {
		return nil, nil
	}
	return nil, behind
}
