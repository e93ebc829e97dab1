package record

import (
	"context"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
)

// Health is what all queues of a consumer know of its sink: an item for the consumer's name. The zero
// Health is that of a sink of which nothing failed yet.
type Health struct {
	// Consumer is the consumer's name.
	Consumer string
	// Rev rises with each change, By says who made the last one.
	Rev int64  `ddb:"rev"`
	By  string `ddb:"by"`
	// Failing are queues of which a batch failed since the sink last took one, [MaxFailing] at most.
	Failing []FailingQueue `ddb:"failing,omitzero"`
	// FailingSince is since when there are any.
	FailingSince time.Time `ddb:"failingSince,omitzero"`
	// TakenAt is when the last batch was handed over that the sink took, and that was noted: while nothing fails
	// none is.
	TakenAt time.Time `ddb:"takenAt,omitzero"`
	// Circuit is whether the sink is asked at all.
	Circuit Circuit `ddb:",inline"`
}

// FailingQueue is a queue of which a batch failed, and when that was last noted.
type FailingQueue struct {
	Queue string    `ddb:"queue"`
	At    time.Time `ddb:"at"`
}

// Circuit is the breaker of a consumer's sink. The zero Circuit is closed, and was never open.
type Circuit struct {
	// Opened is since when it is open; the zero time while it is closed.
	Opened time.Time `ddb:"opened,omitzero"`
	// ProbeAt is when the next batch may be handed over while it is open, Probes how many were.
	ProbeAt time.Time `ddb:"probeAt,omitzero"`
	Probes  int64     `ddb:"probes,omitzero"`
	// Closed is when it closed last, Waking that queues which were left alone until then are
	// still to be woken up.
	Closed time.Time `ddb:"closed,omitzero"`
	Waking bool      `ddb:"waking,omitzero"`
	// Announced says that the opening was announced.
	Announced bool `ddb:"announced,omitzero"`
}

// Open reports whether nothing is handed over but by a probe.
func (c Circuit) Open() bool { return !c.Opened.IsZero() }

// Still are the queues of Failing whose entries are younger than good.
func (h Health) Still(now time.Time, good time.Duration) []FailingQueue {
	return slices.DeleteFunc(slices.Clone(h.Failing), func(f FailingQueue) bool { return now.Sub(f.At) >= good })
}

// healthKey is where a consumer's health is found, under a partition of its own: no
// consumer has a name with a space.
const healthKey = " health"

// healthOf is the partition of a consumer's health. A queue of that name may be there: its
// consumers are beside the health then.
func healthOf(name string) string { return "consumer " + name }

// isConsumer holds for the consumers of a queue, and not for the health that may be beside
// them.
var isConsumer = attrConsumer.Gt(ddb.Text(healthKey))

var healths = ddb.NewCodec[Health]("health", layout, layout)

func encodeHealth(h Health) ddb.Item {
	return healths.Item(&h, attrQueue.Set(ddb.Text(healthOf(h.Consumer))), attrConsumer.Set(ddb.Text(healthKey)))
}

// decodeHealth takes the item of a consumer's name, or none.
func decodeHealth(name string, it ddb.Item) (Health, error) {
	h, err := healths.Decode(it)
	h.Consumer = name
	return h, err
}

// Health reads what is known of a consumer's sink: 1 read unit where it is strong, else a
// half.
func (s *Store) Health(ctx context.Context, name string, strong bool) (Health, error) {
	a, err := s.engine.Do(ctx, ddb.Get{
		Op: ddb.Op{Op: "health", Table: &s.consumers}, Key: keyOf(healthOf(name), healthKey), Strong: strong,
	})
	if err != nil {
		return Health{}, err
	}
	return decodeHealth(name, a.Item)
}

// Learn puts a health in the place of the one that was seen, if nobody changed it since: next has
// the number behind seen's. It returns the health that is stored afterwards, and whether it is
// this one. 1 write unit, where the names of queues are short.
//
// Lost response: the repeat fails, and finds its own number and name: true. Another did it
// first: theirs, and false. We die right after: nothing is left to do.
func (s *Store) Learn(ctx context.Context, seen, next Health) (Health, bool, error) {
	next.Rev = seen.Rev + 1
	unchanged := attrRev.Eq(ddb.Int(seen.Rev))
	if seen.Rev == 0 {
		unchanged = attrQueue.Missing()
	}
	a, err := s.engine.Do(ctx, ddb.Put{Op: ddb.Op{Op: "learn", Table: &s.consumers}, Item: encodeHealth(next), If: unchanged})
	if err != nil || a.Held {
		return next, a.Held, err
	}
	there, err := decodeHealth(seen.Consumer, a.Item)
	return there, err == nil && there.Rev == next.Rev && there.By == next.By, err
}
