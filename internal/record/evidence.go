package record

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
)

// Evidence is what all queues of a consumer learnt of its sink: an item for the consumer's
// name. The zero Evidence is that of a sink of which nothing failed yet.
type Evidence struct {
	// Consumer is the consumer's name.
	Consumer string
	// Rev rises with each change, By says who made the last one.
	Rev int64  `ddb:"rev"`
	By  string `ddb:"by"`
	// Taken is how often it was noted that the sink took a batch after others had failed.
	Taken int64 `ddb:"taken"`
	// Failing are queues of which a batch failed since, the last one last.
	Failing []string `ddb:"failing,optional"`
	// FailingSince is since when there are any, for people; TakenAt when it was last noted that the sink took
	// a batch.
	FailingSince time.Time `ddb:"failingSince,omitzero"`
	TakenAt      time.Time `ddb:"takenAt,omitzero"`
	// Circuit is whether the sink is asked at all.
	Circuit Circuit `ddb:",inline"`
	// Passed are those of Failing that let the next probe pass to another queue, each as often as
	// it did.
	Passed []string `ddb:"passed,omitzero"`
}

// Circuit is that of a consumer's sink. The zero Circuit is closed, and was never open.
type Circuit struct {
	// Opened is since when it is open; the zero time while it is closed.
	Opened time.Time `ddb:"opened,omitzero"`
	// ProbeAt is when the next batch may be handed on while it is open, Probes how many were.
	ProbeAt time.Time `ddb:"probeAt,omitzero"`
	Probes  int64     `ddb:"probes,omitzero"`
	// Closed is when it closed last, Waking that queues which were left alone until then are
	// still to be woken up.
	Closed time.Time `ddb:"closed,omitzero"`
	Waking bool      `ddb:"waking,omitzero"`
	// Announced tells that people heard of it being open.
	Announced bool `ddb:"announced,omitzero"`
}

// TookSince reports whether the sink is known to have taken something, or a probe, since a time.
func (e Evidence) TookSince(at time.Time) bool {
	return e.TakenAt.After(at) || e.Circuit.Closed.After(at)
}

// Open reports whether nothing is handed on but by a probe.
func (c Circuit) Open() bool { return !c.Opened.IsZero() }

// evidenceKey is where a consumer's evidence is found, under a partition of its own: no
// consumer has a name with a space.
const evidenceKey = " evidence"

// evidenceOf is the partition of a consumer's evidence. A queue of that name may be there: its
// consumers are beside the evidence then.
func evidenceOf(name string) string { return "consumer " + name }

// isConsumer holds for the consumers of a queue, and not for the evidence that may be beside
// them.
var isConsumer = attrConsumer.Gt(ddb.Text(evidenceKey))

var evidences = ddb.NewCodec[Evidence]("evidence", layout, layoutCircuit)

func encodeEvidence(e Evidence) ddb.Item {
	beside := []ddb.Action{attrQueue.Set(ddb.Text(evidenceOf(e.Consumer))), attrConsumer.Set(ddb.Text(evidenceKey))}
	if e.Circuit != (Circuit{}) {
		beside = append(beside, attrVersion.Set(ddb.Int(layoutCircuit)), attrProbes.Set(ddb.Int(e.Circuit.Probes)),
			attrAnnounced.Set(ddb.Bool(e.Circuit.Announced)), attrWaking.Set(ddb.Bool(e.Circuit.Waking)))
	}
	return evidences.Item(&e, beside...)
}

// decodeEvidence takes the item of a consumer's name, or none.
func decodeEvidence(name string, it ddb.Item) (Evidence, error) {
	e, err := evidences.Decode(it)
	e.Consumer = name
	return e, err
}

// Evidence reads what is known of a consumer's sink: 1 read unit where it is strong, else a
// half.
func (s *Store) Evidence(ctx context.Context, name string, strong bool) (Evidence, error) {
	a, err := s.engine.Do(ctx, ddb.Get{
		Op: ddb.Op{Op: "evidence", Table: &s.consumers}, Key: keyOf(evidenceOf(name), evidenceKey), Strong: strong,
	})
	if err != nil {
		return Evidence{}, err
	}
	return decodeEvidence(name, a.Item)
}

// Learn puts evidence in the place of what was seen, if nobody changed it since: next has
// the number behind seen's. It returns the evidence that stands there afterwards, and whether it is
// this one. 1 write unit, where the names of queues are short.
//
// Lost response: the repeat fails, and finds its own number and name: true. Another did it
// first: theirs, and false. We die right after: nothing is left to do.
func (s *Store) Learn(ctx context.Context, seen, next Evidence) (Evidence, bool, error) {
	next.Rev = seen.Rev + 1
	unchanged := attrRev.Eq(ddb.Int(seen.Rev))
	if seen.Rev == 0 {
		unchanged = attrQueue.Missing()
	}
	a, err := s.engine.Do(ctx, ddb.Put{Op: ddb.Op{Op: "learn", Table: &s.consumers}, Item: encodeEvidence(next), If: unchanged})
	if err != nil || a.Held {
		return next, a.Held, err
	}
	there, err := decodeEvidence(seen.Consumer, a.Item)
	return there, err == nil && there.Rev == next.Rev && there.By == next.By, err
}
