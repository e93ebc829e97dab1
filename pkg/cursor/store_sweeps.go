package cursor

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
)

// Progress is how far a sweep has come in one segment.
type Progress struct {
	// Name is the sweep's name.
	Name string
	// After is the last page's CursorPage.Next; empty between two rounds.
	After string
	// Queue is the one behind After that the sweep is in, and Kept the seq up to which
	// it has kept it; none where it is between two queues.
	Queue string
	Kept  int64
	// Began is when the round began, to the millisecond; Before, where a visit
	// failed in it.
	Began time.Time
	// Before is when the round before it began; the zero time where there was
	// none.
	Before time.Time
	// Finished is when the last whole round ended, to the millisecond.
	Finished time.Time
}

// SweepProgress reads strongly how far a sweep has come; the zero Progress where
// it never ran. One GetItem; 1 read unit.
func (s *Store) SweepProgress(ctx context.Context, name string) (Progress, error) {
	it, err := s.get(ctx, "get sweep progress", s.sweeps, ddb.Fields{attrSweepName: ddb.Text(name)}.Item(), true)
	if err != nil || !it.Exists() {
		return Progress{}, err
	}
	d := ddb.Decoder{Item: it}
	p := Progress{
		Name:     d.Text(attrSweepName),
		After:    d.TextOr(attrAfter, ""),
		Queue:    d.TextOr(attrIn, ""),
		Kept:     d.NumberOr(attrKept, 0),
		Began:    d.MillisOr(attrBegan),
		Before:   d.MillisOr(attrBefore),
		Finished: d.MillisOr(attrFinished),
	}
	if d.Err != nil {
		return Progress{}, fmt.Errorf("progress of sweep %s: %w", strconv.Quote(name), d.Err)
	}
	return p, nil
}

// SaveSweepProgress stores how far a sweep has come. One PutItem; 1 write unit.
//
// Lost response: the repeat stores the same. Another did it first: either value
// is a place up to which everything was visited. We die right after: the next
// run goes on from here.
func (s *Store) SaveSweepProgress(ctx context.Context, p Progress) error {
	fields := ddb.Fields{
		attrSweepName: ddb.Text(p.Name), attrVersion: ddb.Int(layoutOld), attrBegan: ddb.Millis(p.Began),
		attrAfter: text(p.After), attrBefore: millis(p.Before), attrFinished: millis(p.Finished),
	}
	if p.Queue != "" {
		fields[attrIn], fields[attrKept] = ddb.Text(p.Queue), ddb.Int(p.Kept)
	}
	_, err := s.put(ctx, "save sweep progress", s.sweeps, fields.Item(), ddb.Cond{})
	return err
}
