package delivery

import (
	"context"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/request"
)

// healthKey is where a consumer's health is found, under a partition of its own: no consumer has a
// name with a space.
const healthKey = " health"

// healthOf is the partition of a consumer's health. A queue of that name may be there: its
// consumers are beside the health then.
func healthOf(name string) string { return "consumer " + name }

// isConsumer holds for the consumers of a queue, and not for the health that may be beside them.
var isConsumer = attrConsumer.Gt(ddb.Text(healthKey))

var healths = ddb.NewCodec[request.Health]("health", layout, layout)

// decodeHealth takes the item of a consumer's name, or none.
func decodeHealth(name string, it ddb.Item) (request.Health, error) {
	h, err := healths.Decode(it)
	h.Consumer = name
	return h, err
}

// Health reads what is known of a consumer's sink: 1 read unit where it is strong, else a half.
func (s *requests) Health(ctx context.Context, name string, strong bool) (request.Health, error) {
	a, err := s.engine.Do(ctx, ddb.Get{
		Op: ddb.Op{Op: "health", Table: &s.consumers}, Key: keyOf(healthOf(name), healthKey),
		Strong: strong,
	})
	if err != nil {
		return request.Health{}, err
	}
	return decodeHealth(name, a.Item)
}

// Learn puts a health in the place of the one that was seen, if nobody changed it since: next has
// the number behind seen's. It returns the health that is stored afterwards, and whether it is this
// one. 1 write unit, where the names of queues are short.
//
// Lost response: the repeat fails, and finds its own number and name: true. Another did it first:
// theirs, and false. We die right after: nothing is left to do.
func (s *requests) Learn(ctx context.Context,
	seen, next request.Health) (request.Health, bool, error) {
	next.Rev = seen.Rev + 1
	unchanged := attrRev.Eq(ddb.Int(seen.Rev))
	if seen.Rev == 0 {
		unchanged = attrQueue.Missing()
	}
	a, err := s.engine.Do(ctx, ddb.Put{Op: ddb.Op{Op: "learn", Table: &s.consumers},
		Item: healths.Item(&next, attrQueue.Set(ddb.Text(healthOf(next.Consumer))),
			attrConsumer.Set(ddb.Text(healthKey))), If: unchanged})
	if err != nil || a.Held {
		return next, a.Held, err
	}
	there, err := decodeHealth(seen.Consumer, a.Item)
	return there, err == nil && there.Rev == next.Rev && there.By == next.By, err
}
