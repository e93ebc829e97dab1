package figures

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
)

const olderPage = 5

// olderPut is aws-stream-sort's algorithm after its description, to compare costs with: store the
// message; read the cursor; if the message is the next, put the cursor, look ahead in pages of
// five, and put the cursor again, as long as there is more. It is right with one writer and no
// fault.
func olderPut(s *cursor.Store, m cursor.Message) {
	ctx, store := context.Background(), s.Requests(queuelog.Inside{})
	m.Digest, m.Op, m.EnqueuedAt = make([]byte, 16), make([]byte, 8), clock()
	m.ExpiresOn = m.EnqueuedAt.Add(14 * 24 * time.Hour)
	check.Get(store.PutMessage(ctx, m))
	cur := check.Get(store.Cursor(ctx, m.Queue, false))
	position := int64(0)
	if cur.Exists() {
		position = cur.Position
	}
	if m.Seq != position+1 {
		return
	}
	for end := m.Seq; ; {
		// One write, as its unconditional put is.
		if position == 0 {
			check.Get(store.CreateCursor(ctx, cursor.Cursor{Queue: m.Queue, Position: end, Announced: -1,
				Settings: cursor.DefaultSettings()}))
		} else {
			moved := cursor.Range{From: position, To: end}
			check.Get2(store.Move(ctx, m.Queue, moved, position, clock()))
		}
		position = end
		page := check.Get(store.Messages(ctx,
			queuelog.Query{Queue: m.Queue, First: end + 1, Last: cursor.MaxSeq, Limit: olderPage}))
		for _, ahead := range page.Messages {
			if ahead.Seq != end+1 {
				break
			}
			end = ahead.Seq
		}
		if end == position {
			return
		}
	}
}
