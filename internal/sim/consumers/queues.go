package consumers

import (
	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// Queues are the queues' tables of a run, as they stand: its requests are no
// points.
type Queues struct {
	*cursor.Store
	Tables *ddb.Memory
}

// NewQueues returns empty tables.
func NewQueues() Queues {
	var names cursor.Names
	tables := ddb.NewMemory(append(names.Tables(), names.ArrivalsTable())...).Remember()
	return Queues{QueuesOn(tables), tables}
}

// QueuesOn are the tables as somebody sees them.
func QueuesOn(engine ddb.Engine) *cursor.Store {
	s, err := cursor.NewStore(engine, cursor.Names{})
	if err != nil {
		panic(err) // unreachable: the names are the defaults
	}
	return s
}

// Names are the names of all queues that have a cursor, sorted.
func (q Queues) Names() []string {
	items := q.Items()
	names := make([]string, len(items))
	for i, it := range items {
		names[i] = it.Get("queue").Str()
	}
	return names
}

// Items are the cursors' items, by the names of their queues.
func (q Queues) Items() []ddb.Item { return q.Tables.Items("streamsort-cursors") }
