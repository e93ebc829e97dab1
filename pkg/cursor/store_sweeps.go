package cursor

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/tally"
	"github.com/streamsort/streamsort/internal/trouble"
)

type roundProgress struct {
	// Name is the walk's name.
	Name string `ddb:"at,key"`
	// Segments is how many parts the round reads the cursors in.
	Segments int `ddb:"segments,optional"`
	// Left are the segments in which the round has not ended, and its place in each; none between
	// two rounds.
	Left map[int]roundPlace `ddb:"left,omitzero"`
	// Began is when the round began, to the millisecond.
	Began time.Time `ddb:"began,optional"`
	// Since is when the last round before it began in which no visit failed; the zero time where
	// there was none.
	Since time.Time `ddb:"good,omitzero"`
	// Failed reports that a visit of the round failed.
	Failed bool `ddb:"failed,omitzero"`
	// Finished is when the last whole round ended, to the millisecond.
	Finished time.Time `ddb:"finished,omitzero"`
	// Seen is what the visits of the round have counted.
	Seen tally.Tally `ddb:",inline"`
}

type roundPlace struct {
	// After is the last page's Next; empty at the segment's begin.
	After string `ddb:"after,omitzero"`
	// Queue is the one behind After that the round is in, and Kept the seq up to which it has kept
	// it; none where it is between two queues.
	Queue string `ddb:"in,omitzero"`
	Kept  int64  `ddb:"kept,omitzero"`
}

// SweepProgress reads strongly how far a walk has come; the zero roundProgress where it never ran.
// One GetItem; 1 read unit for each 4 KB.
func (s *requests) SweepProgress(ctx context.Context, name string) (roundProgress, error) {
	it, err := s.get(ctx, "get sweep progress", s.trouble, trouble.Key(trouble.SweepKey, name), true)
	if err != nil {
		return roundProgress{}, err
	}
	return sweepItems.Decode(it)
}

// SaveSweepProgress stores how far a walk has come. One PutItem; 1 write unit for each KB.
//
// Lost response: the repeat stores the same. Another did it first: either value is a place up to
// which everything was visited. We die right after: the next run goes on from here.
func (s *requests) SaveSweepProgress(ctx context.Context, p roundProgress) error {
	_, err := s.put(ctx, "save sweep progress", s.trouble,
		sweepItems.Item(&p, attrState.Set(ddb.Text(string(trouble.SweepKey)))), ddb.Cond{})
	return err
}
