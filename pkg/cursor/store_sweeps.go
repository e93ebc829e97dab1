package cursor

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
)

// Progress is how far a walk has come in its round.
type Progress struct {
	// Name is the walk's name.
	Name string
	// Segments is how many parts the round reads the cursors in.
	Segments int
	// Left are the segments in which the round has not ended, and its place in each; none
	// between two rounds.
	Left map[int]Place
	// Began is when the round began, to the millisecond.
	Began time.Time
	// Since is when the last round before it began in which no visit failed; the zero time
	// where there was none.
	Since time.Time
	// Failed tells that a visit of the round failed.
	Failed bool
	// Finished is when the last whole round ended, to the millisecond.
	Finished time.Time
	// Seen is what the visits of the round have counted.
	Seen Tally
}

// Place is how far a round has come in a segment.
type Place struct {
	// After is the last page's CursorPage.Next; empty at the segment's begin.
	After string
	// Queue is the one behind After that the round is in, and Kept the seq up to which
	// it has kept it; none where it is between two queues.
	Queue string
	Kept  int64
}

// Tally is what the visits of a round have counted, and the highest that they have seen of
// each other thing, by names.
type Tally struct {
	Sums, Peaks map[string]int64
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
	if err != nil || !it.Exists() {
		return Progress{}, err
	}
	d := ddb.Decoder{Item: it}
	p := Progress{
		Name:     d.Text(attrSweepName),
		Segments: int(d.NumberOr(attrSegments, 0)),
		Left:     places(&d),
		Began:    d.MillisOr(attrBegan),
		Since:    d.MillisOr(attrSince),
		Failed:   d.True(attrFailed),
		Finished: d.MillisOr(attrFinished),
		Seen:     Tally{Sums: numbers(&d, attrSums), Peaks: numbers(&d, attrPeaks)},
	}
	if d.Err != nil {
		return Progress{}, fmt.Errorf("progress of sweep %s: %w", strconv.Quote(name), d.Err)
	}
	return p, nil
}

// places are those of the segments that are left.
func places(d *ddb.Decoder) map[int]Place {
	var left map[int]Place
	for name, value := range d.MapOr(attrLeft).All() {
		segment, err := strconv.Atoi(name)
		if err != nil {
			d.Fail(attrLeft, "has a segment without a number")
			return nil
		}
		of := ddb.Decoder{Item: value.Fields()}
		if left == nil {
			left = map[int]Place{}
		}
		left[segment] = Place{After: of.TextOr(attrAfter, ""), Queue: of.TextOr(attrIn, ""), Kept: of.NumberOr(attrKept, 0)}
		if of.Err != nil {
			d.Fail(attrLeft, "has a segment whose "+of.Err.Error())
		}
	}
	return left
}

// numbers is a map of integers.
func numbers(d *ddb.Decoder, name ddb.Path) map[string]int64 {
	var all map[string]int64
	of := ddb.Decoder{Item: d.MapOr(name)}
	for key := range of.Item.All() {
		if all == nil {
			all = map[string]int64{}
		}
		all[key] = of.Number(ddb.Path(key))
	}
	if of.Err != nil {
		d.Fail(name, "has a member that is no number")
	}
	return all
}

// SaveSweepProgress stores how far a walk has come. One PutItem; 1 write unit for each KB.
//
// Lost response: the repeat stores the same. Another did it first: either value
// is a place up to which everything was visited. We die right after: the next
// run goes on from here.
func (s *Store) SaveSweepProgress(ctx context.Context, p Progress) error {
	fields := ddb.Fields{
		attrSweepName: ddb.Text(p.Name), attrVersion: ddb.Int(layoutOld), attrSegments: ddb.Int(int64(p.Segments)),
		attrBegan: ddb.Millis(p.Began), attrSince: millis(p.Since), attrFinished: millis(p.Finished),
		attrSums: members(p.Seen.Sums), attrPeaks: members(p.Seen.Peaks),
	}
	if p.Failed {
		fields[attrFailed] = ddb.Bool(true)
	}
	left := ddb.Fields{}
	for segment, place := range p.Left {
		of := ddb.Fields{attrAfter: text(place.After)}
		if place.Queue != "" {
			of[attrIn], of[attrKept] = ddb.Text(place.Queue), ddb.Int(place.Kept)
		}
		left[ddb.Path(strconv.Itoa(segment))] = ddb.MapOf(of)
	}
	if len(left) > 0 {
		fields[attrLeft] = ddb.MapOf(left)
	}
	_, err := s.put(ctx, "save sweep progress", s.sweeps, fields.Item(), ddb.Cond{})
	return err
}

// members is a map of integers, none where it is empty.
func members(of map[string]int64) ddb.Value {
	if len(of) == 0 {
		return ddb.Value{}
	}
	fields := ddb.Fields{}
	for name, n := range of {
		fields[ddb.Path(name)] = ddb.Int(n)
	}
	return ddb.MapOf(fields)
}
