package trouble

import (
	"context"
	"sync"
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

// Counter adds up what a process counts, and stores it every ten seconds at most: so what is
// counted costs a message nothing that shows. A process that ends loses the last ten seconds, one
// that is frozen stores them when it goes on, in the minute in which it counted them.
type Counter struct {
	store *Store
	now   func() time.Time
	mu    sync.Mutex
	// waits are the counts that are not stored, by their minutes; since is when the first of them
	// was counted.
	waits map[time.Time]Counts
	since time.Time
}

// countEvery is how long counts wait in a process, maxCounting how long storing them may take.
const countEvery, maxCounting = 10 * time.Second, time.Second

// NewCounter returns the Counter of a process on a store.
func NewCounter(store *Store, now func() time.Time) *Counter {
	return &Counter{store: store, now: now, waits: map[time.Time]Counts{}}
}

// Add counts.
func (c *Counter) Add(n Counts) {
	if n == (Counts{}) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if len(c.waits) == 0 {
		c.since = now
	}
	minute := now.Truncate(time.Minute)
	c.waits[minute] = c.waits[minute].plus(n)
}

// Flush stores what was counted, if the first of it is ten seconds old: one write a minute in which
// it was, for which it waits a second at most. What cannot be stored is lost: figures fail nobody's
// call.
func (c *Counter) Flush(ctx context.Context) {
	c.mu.Lock()
	waits := c.waits
	if len(waits) == 0 || c.now().Sub(c.since).Abs() < countEvery {
		c.mu.Unlock()
		return
	}
	c.waits = map[time.Time]Counts{}
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, maxCounting)
	defer cancel()
	for minute, n := range waits {
		_ = c.store.Count(ctx, minute, n)
	}
}
