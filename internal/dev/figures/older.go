package figures

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// Older is aws-stream-sort's algorithm after its description, to compare costs
// with: store the message; read the cursor; if the message is the next, put
// the cursor, look ahead in pages of five, and put the cursor again, as long
// as there is more. It is right with one writer and no fault.
type Older struct {
	Store *cursor.Store
}

const olderPage = 5

// Put puts a message.
func (o Older) Put(ctx context.Context, m cursor.Message) error {
	m.Digest, m.Op, m.EnqueuedAt = make([]byte, 16), make([]byte, 8), time.Now()
	m.ExpiresOn = m.EnqueuedAt.Add(14 * 24 * time.Hour)
	if _, err := o.Store.Requests(queuelog.Inside{}).PutMessage(ctx, m); err != nil {
		return err
	}
	cur, err := o.Store.Requests(queuelog.Inside{}).Cursor(ctx, m.Queue, false)
	if err != nil {
		return err
	}
	position := int64(0)
	if cur.Exists() {
		position = cur.Position
	}
	if m.Seq != position+1 {
		return nil
	}
	for end := m.Seq; ; {
		if err := o.putCursor(ctx, m.Queue, position, end); err != nil {
			return err
		}
		position = end
		page, err := o.Store.Requests(queuelog.Inside{}).Messages(ctx, queuelog.Query{Queue: m.Queue, First: end + 1, Last: cursor.MaxSeq, Limit: olderPage})
		if err != nil {
			return err
		}
		for _, ahead := range page.Messages {
			if ahead.Seq != end+1 {
				break
			}
			end = ahead.Seq
		}
		if end == position {
			return nil
		}
	}
}

// putCursor is one write, as its unconditional put is.
func (o Older) putCursor(ctx context.Context, queue string, from, to int64) error {
	if from == 0 {
		c := cursor.Cursor{Queue: queue, Settings: cursor.DefaultSettings(), Position: to, Announced: -1}
		_, err := o.Store.Requests(queuelog.Inside{}).CreateCursor(ctx, c)
		return err
	}
	_, _, err := o.Store.Requests(queuelog.Inside{}).Move(ctx, queue, cursor.Range{From: from, To: to}, from, time.Now())
	return err
}
