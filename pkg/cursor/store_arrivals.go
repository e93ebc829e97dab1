package cursor

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
)

func (s *requests) arrivalKey(queue string, key sortkey.SortKey) ddb.Item {
	return ddb.Fields{s.queueKey: ddb.Text(queue), attrSortKey: ddb.Blob([]byte(key))}.Item()
}

// PutArrival stores a, if nothing is stored under its queue and id, or what is there expires at
// a.EnqueuedAt or before. It returns the arrival that stands there afterwards, its messages without
// what is in them. One PutItem; 1 write unit for each KB.
//
// Lost response: the repeat fails, and the arrival returned bears our own Op. Another did it first:
// theirs is returned. We die right after: nobody sees an arrival without a place; it is there for a
// repeat, or expires.
func (s *requests) PutArrival(ctx context.Context, a Arrival) (Arrival, error) {
	there, err := s.put(ctx, "put arrival", s.arrivals, encodeArrival(a, s.names),
		// TTL deletes some time later than it may.
		ddb.Or(s.queueKey.Missing(), attrExpiresOn.Le(ddb.Seconds(a.EnqueuedAt))))
	if err != nil || there.Held {
		return a.head(), err
	}
	return decodeArrival(there.Item, s.names, true)
}

// Arrivals reads up to 100 different arrivals of a queue, in any order, and returns the keys of
// those that the server left unread. One BatchGetItem of at most 16 MB; for each arrival, 1 read
// unit for each 4 KB strong, half a unit otherwise.
func (s *requests) Arrivals(ctx context.Context,
	query queuelog.ArrivalQuery) (found []Arrival, left []sortkey.SortKey, err error) {
	r := ddb.BatchGet{Op: ddb.Op{Op: "get arrivals", Table: s.arrivals}, Strong: query.Strong}
	for _, key := range query.Keys {
		r.Keys = append(r.Keys, s.arrivalKey(query.Queue, key))
	}
	if query.HeadsOnly {
		r.Only = s.arrivalHead()
	}
	a, err := s.engine.Do(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	found = make([]Arrival, len(a.Items))
	for i, it := range a.Items {
		found[i], err = ddb.Decoded(it, func(it ddb.Item) (Arrival, error) {
			return decodeArrival(it, s.names, query.HeadsOnly)
		})
		if err != nil {
			return nil, nil, err
		}
	}
	for _, key := range a.Left {
		left = append(left, sortkey.SortKey(key.Get(attrSortKey).Str()))
	}
	return found, left, nil
}

// arrivalHead are the attributes of an arrival without what is in its messages.
func (s *requests) arrivalHead() []ddb.Path {
	return []ddb.Path{
		s.queueKey, attrSortKey, attrVersion, attrID, attrSeen, attrEnqueuedAt, attrExpiresOn, attrDigest, attrOp, attrCount, attrPrev,
	}
}

// KeepArrival pushes an arrival's ExpiresOn to a later time, if the arrival is there, is the one
// that has seen this position, and its time is earlier. It reports whether it is there. One
// UpdateItem; 1 write unit for each KB.
//
// Lost response, another did it first: the time is as late as asked for or later, and the repeat
// changes nothing. We die right after: nothing is left to do.
func (s *requests) KeepArrival(ctx context.Context, queue string, key sortkey.SortKey, seen int64,
	until time.Time) (there bool, err error) {
	isThis := attrSeen.Eq(ddb.Int(seen))
	a, err := s.engine.Do(ctx, ddb.Update{
		Op: ddb.Op{Op: "keep arrival", Table: s.arrivals}, Key: s.arrivalKey(queue, key), Quiet: true,
		If: ddb.And(isThis, attrExpiresOn.Lt(ddb.Seconds(until))),
		Do: []ddb.Action{attrExpiresOn.Set(ddb.Seconds(until))},
	})
	return a.Held || isThis.Holds(a.Item), err
}
