package trouble

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
)

// Counts are how many messages were accepted, and how many were delivered to consumers.
type Counts struct {
	Stored    int64 `ddb:"stored,omitzero"`
	Delivered int64 `ddb:"delivered,omitzero"`
}

var countsCodec = ddb.NewCodec[Counts]("counts", layout, layout)

func (c Counts) plus(o Counts) Counts {
	return Counts{c.Stored + o.Stored, c.Delivered + o.Delivered}
}

const keptFor = time.Hour

func minuteAt(at time.Time) string { return at.UTC().Truncate(time.Minute).Format(time.RFC3339) }

// Count adds to the counts of the minute: 1 write unit. A nil Store has none.
//
// Lost response: the repeat adds again; these are figures to look at. Another did it first: both
// are in the sum. We die right after: nothing is left to do.
func (s *Store) Count(ctx context.Context, at time.Time, c Counts) error {
	if s == nil || c == (Counts{}) {
		return nil
	}
	do := []ddb.Action{attrVersion.Set(ddb.Int(layout)),
		attrExpires.Set(ddb.Seconds(at.Truncate(time.Minute).Add(keptFor)))}
	for path, n := range countsCodec.All(&c) {
		if n.Kind() != ddb.None {
			do = append(do, path.Add(n))
		}
	}
	_, err := s.engine.Do(ctx,
		ddb.Update{Op: ddb.Op{Op: "count", Table: s.table}, Key: Key(CountsKey, minuteAt(at)), Do: do})
	return err
}

// Counted is the counts of each minute that begins at from or later, and before to, in their order;
// it may miss what was counted within the last second. Half a read unit for 4 KB, some 40 minutes.
func (s *Store) Counted(ctx context.Context, from, to time.Time) ([]Counts, error) {
	from, to = from.Truncate(time.Minute), to.Truncate(time.Minute)
	minutes := make([]Counts, max(to.Sub(from)/time.Minute, 0))
	if s == nil {
		return minutes, nil
	}
	a, err := s.engine.Do(ctx, ddb.Query{
		Op: ddb.Op{Op: "counted", Table: s.table}, Partition: ddb.Text(string(CountsKey)),
		Where: attrAt.Between(ddb.Text(minuteAt(from)), ddb.Text(minuteAt(to.Add(-time.Minute)))),
	})
	if err != nil {
		return nil, err
	}
	for _, it := range a.Items {
		counts, err := countsCodec.Decode(it)
		if err != nil {
			return nil, err
		}
		at, err := time.Parse(time.RFC3339, it.Get(attrAt).Str())
		if err != nil {
			return nil, err
		}
		minutes[at.Sub(from)/time.Minute] = counts
	}
	return minutes, nil
}
