package cursor

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/queuelog"
)

func (s *requests) messageKey(queue string, seq int64) ddb.Item {
	return ddb.Fields{s.queueKey: ddb.Text(queue), s.seqKey: ddb.Int(seq)}.Item()
}

func (s *requests) decodeMessage(it ddb.Item) (Message, error) {
	return ddb.Decoded(it, func(it ddb.Item) (Message, error) { return decodeMessage(it, s.names) })
}

// PutMessage stores m if nothing is stored under its queue and seq, and returns the message that is
// stored afterwards. One PutItem; 1 write unit for each KB.
//
// Lost response: the repeat fails, and the message returned bears our own Op. Another did it first:
// theirs is returned. We die right after: the message waits for the stream's handler or the sweep.
func (s *requests) PutMessage(ctx context.Context, m Message) (Message, error) {
	a, err := s.put(ctx, "put message", s.messages, encodeMessage(m, s.names), s.queueKey.Missing())
	if err != nil || a.Held {
		return m, err
	}
	return s.decodeMessage(a.Item)
}

// Message reads one message strongly, and whether there is one. One GetItem; 1 read unit for each 4
// KB, and 1 where none exists.
func (s *requests) Message(ctx context.Context, queue string, seq int64) (Message, bool, error) {
	it, err := s.get(ctx, "get message", s.messages, s.messageKey(queue, seq), true)
	if err != nil || !it.Exists() {
		return Message{}, false, err
	}
	m, err := s.decodeMessage(it)
	return m, err == nil, err
}

type messagePage struct {
	Messages []Message
	// More is true where the range may hold more than this page.
	More bool
}

// between asks the messages table for a range. One Query of at most 1 MB; 1 read unit for each 4 KB
// strong, half a unit otherwise.
func (s *requests) between(ctx context.Context, op string, q queuelog.Query,
	only ...ddb.Path) (ddb.Answer, error) {
	return s.engine.Do(ctx, ddb.Query{
		Op:        ddb.Op{Op: op, Table: s.messages},
		Partition: ddb.Text(q.Queue), Where: s.seqKey.Between(ddb.Int(q.First), ddb.Int(q.Last)),
		Limit: q.Limit, Strong: q.Strong, Backwards: q.Backwards, Only: only,
	})
}

// Messages reads the messages of a range in the order of their seqs, or backwards. Order items are
// no messages: a queue in arrival order has none. One Query of at most 1 MB; 1 read unit for each 4
// KB strong, half a unit otherwise.
func (s *requests) Messages(ctx context.Context, query queuelog.Query) (messagePage, error) {
	var only []ddb.Path
	if query.HeadsOnly {
		only = []ddb.Path{
			s.queueKey, s.seqKey, attrVersion, attrEnqueuedAt, attrExpiresOn, attrTombstone, attrEntries,
		}
	}
	a, err := s.between(ctx, "query messages", query, only...)
	if err != nil {
		return messagePage{}, err
	}
	page := messagePage{Messages: make([]Message, 0, len(a.Items)), More: a.Next.Exists()}
	for _, it := range a.Items {
		if it.Has(attrEntries) {
			continue // an order item
		}
		m, err := s.decodeMessage(it)
		if err != nil {
			return messagePage{}, err
		}
		page.Messages = append(page.Messages, m)
	}
	return page, nil
}

// KeepUntil pushes the ExpiresOn of a message, or of an order item, to a later time, if it is there
// and its time is earlier, and reports whether it is there. One that is gone stays gone. One
// UpdateItem; 1 write unit for each KB.
//
// Lost response, another did it first: the time is as late as asked for or later, and the repeat
// changes nothing. We die right after: nothing is left to do.
func (s *requests) KeepUntil(ctx context.Context, queue string, seq int64,
	until time.Time) (there bool, err error) {
	a, err := s.engine.Do(ctx, ddb.Update{
		Op: ddb.Op{Op: "keep message", Table: s.messages}, Key: s.messageKey(queue, seq), Quiet: true,
		// One that was deleted meanwhile has no time, and so does not come back as a hollow item.
		If: attrExpiresOn.Lt(ddb.Seconds(until)),
		Do: []ddb.Action{attrExpiresOn.Set(ddb.Seconds(until))},
	})
	return a.Held || a.Item.Exists(), err
}
