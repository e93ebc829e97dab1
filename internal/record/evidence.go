package record

import (
	"context"
	"fmt"

	"github.com/streamsort/streamsort/internal/ddb"
)

// Evidence is what all queues of a consumer learnt of its sink: an item for the consumer's
// name. The zero Evidence is that of a sink of which nothing failed yet.
type Evidence struct {
	// Consumer is the consumer's name.
	Consumer string
	// Rev rises with each change, By says who made the last one.
	Rev int64
	By  string
	// Taken is how often it was noted that the sink took a batch after others had failed.
	Taken int64
	// Failing are queues of which a batch failed since.
	Failing []string
}

// evidenceKey is where a consumer's evidence is found, under a partition of its own: no
// consumer has a name with a space.
const evidenceKey = " evidence"

// evidenceOf is the partition of a consumer's evidence. A queue of that name may be there: its
// consumers are beside the evidence then.
func evidenceOf(name string) string { return "consumer " + name }

// isConsumer holds for the consumers of a queue, and not for the evidence that may be beside
// them.
var isConsumer = attrConsumer.Gt(ddb.Text(evidenceKey))

func encodeEvidence(e Evidence) ddb.Item {
	failing := make([]ddb.Value, len(e.Failing))
	for i, queue := range e.Failing {
		failing[i] = ddb.Text(queue)
	}
	return ddb.Fields{
		attrQueue: ddb.Text(evidenceOf(e.Consumer)), attrConsumer: ddb.Text(evidenceKey), attrVersion: ddb.Int(layout),
		attrRev: ddb.Int(e.Rev), attrBy: ddb.Text(e.By), attrTaken: ddb.Int(e.Taken), attrFailing: ddb.ListOf(failing...),
	}.Item()
}

// decodeEvidence takes the item of a consumer's name, or none.
func decodeEvidence(name string, it ddb.Item) (Evidence, error) {
	e := Evidence{Consumer: name}
	if !it.Exists() {
		return e, nil
	}
	d := ddb.Decoder{Item: it}
	d.Layout(attrVersion, layout)
	e.Rev, e.By, e.Taken = d.Number(attrRev), d.Text(attrBy), d.Number(attrTaken)
	for _, queue := range d.ListOr(attrFailing) {
		if queue.Kind() != ddb.String {
			d.Fail(attrFailing, "is no list of queues")
			break
		}
		e.Failing = append(e.Failing, queue.Str())
	}
	if d.Err != nil {
		return Evidence{}, fmt.Errorf("evidence: %w", d.Err)
	}
	return e, nil
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
