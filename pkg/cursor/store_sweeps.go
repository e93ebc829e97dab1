package cursor

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
)

// Progress is how far a walk has come in its round.
type Progress struct {
	// Name is the walk's name.
	Name string `ddb:"name,key"`
	// Segments is how many parts the round reads the cursors in.
	Segments int `ddb:"segments,optional"`
	// Left are the segments in which the round has not ended, and its place in each; none
	// between two rounds.
	Left map[int]Place `ddb:"left,omitzero"`
	// Began is when the round began, to the millisecond.
	Began time.Time `ddb:"began,optional"`
	// Since is when the last round before it began in which no visit failed; the zero time
	// where there was none.
	Since time.Time `ddb:"since,omitzero"`
	// Failed tells that a visit of the round failed.
	Failed bool `ddb:"failed,omitzero"`
	// Finished is when the last whole round ended, to the millisecond.
	Finished time.Time `ddb:"finished,omitzero"`
	// Seen is what the visits of the round have counted.
	Seen Tally `ddb:",inline"`
}

// Place is how far a round has come in a segment.
type Place struct {
	// After is the last page's CursorPage.Next; empty at the segment's begin.
	After string `ddb:"after,omitzero"`
	// Queue is the one behind After that the round is in, and Kept the seq up to which
	// it has kept it; none where it is between two queues.
	Queue string `ddb:"in,omitzero"`
	Kept  int64  `ddb:"kept,omitzero"`
}

// Tally is what the visits of a round have counted, and the highest that they have seen of
// each other thing, by names.
type Tally struct {
	Sums  map[string]int64 `ddb:"sums,omitzero"`
	Peaks map[string]int64 `ddb:"peaks,omitzero"`
}

// Add counts.
func (t *Tally) Add(name string, n int) {
	if n == 0 {
		return
	}
	if t.Sums == nil {
		t.Sums = map[string]int64{}
	}
	t.Sums[name] += int64(n)
}

// Peak notes a time that was seen, if it is the longest so far.
func (t *Tally) Peak(name string, d time.Duration) {
	if t.Peaks == nil {
		t.Peaks = map[string]int64{}
	}
	t.Peaks[name] = max(t.Peaks[name], d.Milliseconds())
}

// Count is what was added under a name.
func (t *Tally) Count(name string) int { return int(t.Sums[name]) }

// Longest is the longest time that was seen under a name, to the millisecond.
func (t *Tally) Longest(name string) time.Duration {
	return time.Duration(t.Peaks[name]) * time.Millisecond
}

func (t *Tally) merge(o Tally) {
	for name, n := range o.Sums {
		t.Add(name, int(n))
	}
	for name, n := range o.Peaks {
		t.Peak(name, time.Duration(n)*time.Millisecond)
	}
}

// SweepProgress reads strongly how far a walk has come; the zero Progress where
// it never ran. One GetItem; 1 read unit for each 4 KB.
func (s *Store) SweepProgress(ctx context.Context, name string) (Progress, error) {
	it, err := s.get(ctx, "get sweep progress", s.sweeps, ddb.Fields{attrSweepName: ddb.Text(name)}.Item(), true)
	if err != nil {
		return Progress{}, err
	}
	return sweepItems.Decode(it)
}

// SaveSweepProgress stores how far a walk has come. One PutItem; 1 write unit for each KB.
//
// Lost response: the repeat stores the same. Another did it first: either value
// is a place up to which everything was visited. We die right after: the next
// run goes on from here.
func (s *Store) SaveSweepProgress(ctx context.Context, p Progress) error {
	_, err := s.put(ctx, "save sweep progress", s.sweeps, sweepItems.Item(&p), ddb.Cond{})
	return err
}
