package arrivalsim

import (
	"context"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim/simdb"
)

// crowd is what others append in one step: arrivals of one message each, with
// their items and their places.
type crowd struct {
	arrivals []cursor.Arrival
	items    []ddb.Item
	tail     queuelog.Tail
}

// crowds are those that were made, by all that they depend on: each is made once
// for all runs of a scenario, of which most begin with one.
type crowds map[string]*crowd

// get is a crowd that comes at a time to a queue with this position.
func (all crowds) get(now time.Time, position int64, name string, entries int) *crowd {
	key := fmt.Sprint(now.Unix(), position, name, entries)
	if c := all[key]; c != nil {
		return c
	}
	c := &crowd{}
	tables := ddb.NewMemory(arrivalsTable).Remember()
	tables.OnChange(func(stored ddb.Change) { c.items = append(c.items, stored.After) })
	store := simdb.Queues(tables)
	var list []queuelog.Entry
	for i := range entries {
		r := one(fmt.Sprint(name, i), "", 1)
		a := cursor.Arrival{
			Queue: queue, ID: r.id, Messages: []cursor.Message{{Body: r.messages[0].Body}},
			EnqueuedAt: now, Digest: []byte(name), Op: []byte(name), Seen: position,
		}
		c.arrivals = append(c.arrivals, a)
		_, _ = store.Requests(queuelog.Inside{}).PutArrival(context.Background(), a) // it fails only after the context's end
		list = append(list, queuelog.Entry{Key: sortkey.HashOf(a.ID), Count: 1, Seen: uint32(a.Seen)})
	}
	c.tail = queuelog.NewTail(list...)
	all[key] = c
	return c
}
