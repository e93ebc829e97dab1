package cursor

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
)

type waitingPage struct {
	Waiting []Arrival
	// More is true where the range may hold more than this page.
	More bool
}

// Waiting reads messages of a keyed queue in the order of their sort keys, whether or not they have
// their places. One Query of at most 1 MB; 1 read unit for each 4 KB strong, half a unit otherwise.
func (s *requests) Waiting(ctx context.Context, query queuelog.WaitingQuery) (waitingPage, error) {
	r := ddb.Query{
		Op: ddb.Op{Op: "query waiting", Table: s.arrivals}, Partition: ddb.Text(query.Queue),
		// Between has both its ends, and nothing is between After and After with a zero byte.
		Where: attrSortKey.Between(ddb.Blob([]byte(query.After+"\x00")), ddb.Blob([]byte(query.UpTo))),
		Limit: query.Limit, Strong: query.Strong,
	}
	if query.HeadsOnly {
		r.Only = s.arrivalHead()
	}
	a, err := s.engine.Do(ctx, r)
	if err != nil {
		return waitingPage{}, err
	}
	page := waitingPage{Waiting: make([]Arrival, len(a.Items)), More: a.Next.Exists()}
	if n := len(a.Items); n > 0 && sortkey.SortKey(a.Items[n-1].Get(attrSortKey).Str()) == query.UpTo {
		page.More = false // it was filled by the last one: no range is behind that
	}
	for i, it := range a.Items {
		page.Waiting[i], err = ddb.Decoded(it, func(it ddb.Item) (Arrival, error) {
			return decodeArrival(it, s.names, query.HeadsOnly)
		})
		if err != nil {
			return waitingPage{}, err
		}
	}
	return page, nil
}

// PutReceipt stores that a message of a keyed queue came at a time, if nothing is stored under its
// queue and id, or what is there has expired by now. It returns the time that is stored afterwards.
// One PutItem; 1 write unit.
//
// Lost response: the repeat fails, and the time returned is ours, or the first one's. Another did
// it first: the time returned is theirs, and so both have one key. We die right after: no message
// is stored; a repeat gets this time, and may be late.
func (s *requests) PutReceipt(ctx context.Context, queue, id string,
	at, now, expires time.Time) (time.Time, error) {
	it := receipts.Item(&receipt{at.UnixNano(), expires}, s.queueKey.Set(ddb.Text(queue)),
		attrSortKey.Set(ddb.Blob([]byte(sortkey.ReceiptPrefix+sortkey.HashOf(id)))))
	there, err := s.put(ctx, "put receipt", s.arrivals, it,
		ddb.Or(s.queueKey.Missing(), attrExpiresOn.Le(ddb.Seconds(now))))
	if err != nil || there.Held {
		return at, err
	}
	first, err := receipts.Decode(there.Item)
	return time.Unix(0, first.Received).UTC(), err
}

// receipt is when the first message under an id came, in nanoseconds.
type receipt struct {
	Received  int64     `ddb:"received"`
	ExpiresOn time.Time `ddb:"expiresOn,omitzero,s"`
}

// GivePlaces gives entries the seqs behind the position of a keyed queue, as its cursor was seen:
// they join the tail, and the position rises by what they count, if it is what was seen. MovedAt
// becomes now.
//
// The position is all that is compared: as long as it is the same, the tail only gets shorter, by a
// flush, and High is the same.
//
// Lost response: the repeat fails, and the entries are in the tail that it returns, or in an order
// item. Another did it first: the same, or theirs are there, and what was looked up has to be
// looked up again. We die right after: the messages have their places.
func (s *requests) GivePlaces(ctx context.Context, seen Cursor, p queuelog.Placing,
	now time.Time) (Cursor, bool, error) {
	do := []ddb.Action{
		attrPosition.Plus(p.Entries.Seqs()), attrTail.Append(encodeTail(p.Entries)), attrMovedAt.Set(ddb.Millis(now)), changeAdvance,
	}
	if p.High != seen.High {
		do = append(do, attrHigh.Set(ddb.Blob([]byte(p.High))))
	}
	if p.Low != seen.Low {
		do = append(do, attrLow.Set(ddb.Blob([]byte(p.Low))))
	}
	if p.LateSoFar != seen.LateSoFar {
		do = append(do, attrLateSoFar.Set(ddb.Int(p.LateSoFar)), attrLateSeq.Set(ddb.Int(p.LateSeq)))
	}
	if p.LateInRow != seen.LateInRow {
		row := attrLateInRow.Set(ddb.Int(p.LateInRow))
		if p.LateInRow == 0 {
			row = attrLateInRow.Remove()
		}
		do = append(do, row)
	}
	if p.Restart != "" {
		do = append(do, attrRestart.Set(ddb.Blob([]byte(p.Restart))))
	}
	return s.update(ctx, "give places", seen.Queue, attrPosition.Eq(ddb.Int(seen.Position)), do...)
}

// RaiseLow raises Low of a keyed queue, if it is less.
//
// Lost response, another did it first: the repeat fails, and Low is as high or higher. We die right
// after: nothing is left to do.
func (s *requests) RaiseLow(ctx context.Context, queue string,
	low sortkey.SortKey) (Cursor, error) {
	c, _, err := s.update(ctx, "raise low", queue, attrLow.Lt(ddb.Blob([]byte(low))),
		attrLow.Set(ddb.Blob([]byte(low))), changeOther)
	return c, err
}

// TellLate notes that so many late messages of a keyed queue were announced, if LateTold is what
// was seen. It reports whether LateTold is that afterwards.
//
// Lost response: the repeat fails on its own value and reports true. Another did it first: reported
// as it stands. We die right after: the announcement went out before.
func (s *requests) TellLate(ctx context.Context, seen Cursor, announced int64) (bool, error) {
	is := attrLateTold.Missing()
	if seen.LateTold != 0 {
		is = attrLateTold.Eq(ddb.Int(seen.LateTold))
	}
	c, _, err := s.update(ctx, "tell late", seen.Queue, ddb.And(isKeyed, is),
		attrLateTold.Set(ddb.Int(announced)), changeOther)
	return c.LateTold == announced, err
}
