package cursorsim

import (
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// state is a cursor as it stood, and its item.
type state struct {
	cursor.Cursor
	item ddb.Item
}

// remembered is what a process remembers of a queue's cursor.
type remembered struct {
	item ddb.Item
	read time.Time
}

// positionOf is the position in a cursor's item.
func positionOf(it ddb.Item) int64 {
	position, _ := it.Get("position").Int64()
	return position
}
