package keyedsim

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

// crowd is what others have stored in one step, with their places.
type crowd struct {
	items []ddb.Item
	tail  queuelog.Tail
	high  sortkey.SortKey
}

// crowds are those that were made, by all that they depend on: each is made once for all
// runs of a scenario, of which most begin with one.
type crowds map[string]*crowd

// get is a crowd of the keys from one on, that comes at a time to a queue with this position.
func (all crowds) get(now time.Time, position, from int64, entries int) *crowd {
	name := fmt.Sprint(now.UnixMilli(), position, from, entries)
	if c := all[name]; c != nil {
		return c
	}
	c := &crowd{}
	tables := ddb.NewMemory(cursor.Names{}.ArrivalsTable()).Remember()
	tables.OnChange(func(stored ddb.Change) { c.items = append(c.items, stored.After) })
	store := simdb.Queues(tables)
	var list []queuelog.Entry
	for i := range int64(entries) {
		k := one(from+i, fmt.Sprint("crowd", from+i), "")
		key, _ := keyType.Key(from + i) // every whole number is one
		_, _ = store.Requests(queuelog.Inside{}).PutArrival(context.Background(), cursor.Arrival{
			Queue: queue, ID: k.ID, Key: key, Messages: []cursor.Message{k.Message},
			EnqueuedAt: now, Digest: []byte(name), Op: []byte(name + k.ID), Seen: position,
		}) // it fails only after the context's end
		c.high = k.sortKey()
		list = append(list, queuelog.Entry{Key: c.high, Count: 1, Seen: uint32(position), Mark: queuelog.MarkKeyed})
	}
	c.tail = queuelog.NewTail(list...)
	all[name] = c
	return c
}

// storeCrowd has others store messages of the keys from one on, in one step. These do not
// expire: keeping each would be points of the run.
func (m *model) storeCrowd(from int64, entries int) *crowd {
	at := m.cursor().Position
	c := m.crowds.get(m.now, at, from, entries)
	table := cursor.Names{}.ArrivalsTable()
	for _, it := range c.items {
		_, _ = m.tables.Do(context.Background(), ddb.Put{Op: ddb.Op{Op: "put arrival", Table: &table}, Item: it})
	}
	m.changed = true
	return c
}

// crowd has others store messages, and place them at once, by a settler that saw no others: as
// if their clocks had been a day behind.
func (m *model) crowd(from int64, entries int) {
	c := m.storeCrowd(from, entries)
	for _, e := range m.stored {
		if e.seq == 0 && m.sent[bare(e.key)].IsZero() {
			e.arrived = start.AddDate(0, 0, -1)
		}
	}
	seen := m.cursor()
	_, _, _ = simdb.Queues(m.view(nil)).Requests(queuelog.Inside{}).GivePlaces(context.Background(), seen, queuelog.Placing{
		Entries: c.tail, High: c.high, Low: seen.Low, LateSoFar: seen.LateSoFar, LateSeq: seen.LateSeq,
	}, m.now)
	_ = m.Check() // notes the cursor
}

// flushed has an order item made outside the run.
func (m *model) flushed() {
	ctx, c := context.Background(), m.cursor()
	first, _ := c.Tail.First(queuelog.OrderItemEntries)
	o := queuelog.OrderItem{Queue: queue, Last: c.TailFrom + first.Seqs(), Entries: first}
	_, _ = m.store.Requests(queuelog.Inside{}).PutOrderItem(ctx, o) // they fail only after the context's end
	_, _, _ = m.store.Requests(queuelog.Inside{}).TrimTail(ctx, c, queuelog.OrderItemEntries)
	m.changed = true
	_ = m.Check() // notes the cursor
}
