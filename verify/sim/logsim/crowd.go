package logsim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim/simdb"
	"github.com/streamsort/streamsort/verify/sim/world"
)

// crowd is what others have stored in one step, and its places.
type crowd struct {
	items  []ddb.Item
	stored []stored
	tail   queuelog.Tail
}

// crowds are those that were made, by all that they depend on: each is made once for all runs of a
// scenario, of which most begin with one.
type crowds map[string]*crowd

// get is a crowd that comes at a time to a queue with this position: messages of one id each, which
// are a name with the numbers from one on, and these are the keys in a keyed queue.
func (all crowds) get(now time.Time, keyed bool, position int64, name string, from int64,
	entries int) *crowd {
	key := fmt.Sprint(now.UnixMilli(), position, name, from, entries)
	if c := all[key]; c != nil {
		return c
	}
	c := &crowd{}
	tables := ddb.NewMemory(arrivalsTable).Remember()
	tables.OnChange(func(stored ddb.Change) { c.items = append(c.items, stored.After) })
	store := simdb.Queues(tables)
	var list []queuelog.Entry
	for n := from; n < from+int64(entries); n++ {
		id := fmt.Sprint(name, n)
		a := cursor.Arrival{
			Queue: queue, ID: id, Messages: together(id, "", 1).messages,
			EnqueuedAt: now, Digest: []byte(name), Op: []byte(name + id), Seen: position,
		}
		e := queuelog.Entry{Key: sortkey.HashOf(id), Count: 1, Seen: queuelog.ShortSeen(position)}
		if keyed {
			a.Key, _ = keyType.Key(n) // every whole number is one
			a.Messages = one(n, id, "").messages
			e.Key, e.Mark = sortKeyOf(n, id), queuelog.MarkKeyed
		}
		// it fails only after the context's end
		_, _ = store.Requests(queuelog.Inside{}).PutArrival(context.Background(), a)
		c.stored = append(c.stored, stored{
			key: e.Key, id: id, op: string(a.Op), bodies: []string{string(a.Messages[0].Body)},
			seen: position, stored: now, arrived: now, others: true,
		})
		list = append(list, e)
	}
	c.tail = queuelog.NewTail(list...)
	all[key] = c
	return c
}

// storeCrowd has others store messages of the keys from one on, in one step.
func (m *model) storeCrowd(from int64, entries int) *crowd {
	return m.storeNamed("crowd", from, entries)
}

// storeNamed has others store messages, in one step. These do not expire: keeping each would be
// points of the run.
func (m *model) storeNamed(name string, from int64, entries int) *crowd {
	c := m.crowds.get(m.Now, m.keyed(), m.cursor().Position, name, from, entries)
	m.crowding = true
	for _, it := range c.items {
		_, _ = m.Tables.Do(context.Background(),
			ddb.Put{Op: ddb.Op{Op: "put arrival", Table: &arrivalsTable}, Item: it})
	}
	for i, all := 0, slices.Clone(c.stored); i < len(all); i++ {
		all[i].owed = all[i].key > m.cursor().High
		m.stored[all[i].key] = &all[i]
	}
	m.crowding, m.Changed = false, true
	return c
}

// crowd has others store messages of the keys from one on, and place them at once, by a settler
// that saw no others: as if their clocks had been a day behind.
func (m *model) crowd(from int64, entries int) {
	c := m.storeCrowd(from, entries)
	for _, a := range m.stored {
		if a.seq == 0 && a.others {
			a.arrived = world.Start.AddDate(0, 0, -1)
		}
	}
	seen := m.cursor()
	_, _, _ = simdb.Queues(m.view(nil)).Requests(queuelog.Inside{}).GivePlaces(context.Background(),
		seen, queuelog.Placing{
			Entries: c.tail, High: c.tail.Last(), Low: seen.Low, LateSoFar: seen.LateSoFar,
			LateSeq: seen.LateSeq,
		}, m.Now)
	m.note()
}

// append has others append messages in arrival order.
func (m *model) append(name string, entries int) {
	c, at := m.storeNamed(name, 0, entries), m.cursor().Position
	_, _, _ = simdb.Queues(m.view(nil)).Requests(queuelog.Inside{}).Allocate(context.Background(),
		queue, c.tail, cursor.Range{From: at, To: at}, m.Now)
	m.note()
}

// flushed has an order item made outside the run.
func (m *model) flushed() {
	ctx, c := context.Background(), m.cursor()
	first, _ := c.Tail.First(queuelog.OrderItemEntries)
	o := queuelog.OrderItem{Queue: queue, Last: c.TailFrom + first.Seqs(), Entries: first}
	// they fail only after the context's end
	_, _ = m.store.Requests(queuelog.Inside{}).PutOrderItem(ctx, o)
	_, _, _ = m.store.Requests(queuelog.Inside{}).TrimTail(ctx, c, queuelog.OrderItemEntries)
	m.note()
}
