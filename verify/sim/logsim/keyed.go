package logsim

import (
	"fmt"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/world"
)

// Suite is what there is to run.
func Suite() sim.Suite {
	return sim.Suite{
		Name: "log", Small: slices.Concat(smallArrivals(), keyedTraces(), smallKeyed()),
		Large: slices.Concat(largeArrivals(), largeKeyed()),
		Random: func(seed uint64) sim.Scenario {
			return []func(uint64) sim.Scenario{shuffledArrivals, shuffledKeyed}[seed%2](seed / 2)
		},
	}
}

const (
	// window is the settle window, where there is one.
	window = 10 * time.Second
	// retention is short, for scenarios in which things expire.
	retention = cursor.MinRetention
	// anOrderItem is how many entries a tail has of which the next move makes an order item.
	anOrderItem = queuelog.OrderItemEntries
)

func with(settle time.Duration, late cursor.LatePolicy) cursor.Settings {
	s := cursor.DefaultSettings()
	s.Kind, s.KeyType, s.Settle, s.Late = cursor.KindKeyed, keyType, settle, late
	return s
}

var (
	atOnce  = with(0, cursor.LateDeliver)
	newest  = with(0, cursor.LateDrop)
	settled = with(window, cursor.LateDeliver)
)

// fresh makes a scenario of a set of actors, before there is a queue.
func fresh(name string, faults int, settings cursor.Settings, actors ...func(*model)) sim.Scenario {
	made := crowds{}
	set := func(run *sim.Run) *model { return newModel(run, made, settings) }
	return sim.Cast(name, faults, set, actors...)
}

// scenario makes one on a keyed queue with these settings.
func scenario(name string, faults int, settings cursor.Settings,
	actors ...func(*model)) sim.Scenario {
	return fresh("keyed: "+name, faults, settings, slices.Insert(actors, 0, (*model).begin)...)
}

func expires(m *model) { m.keep = retention }

// producers are processes, each with its calls.
func producers(all ...[]call) func(*model) {
	return func(m *model) {
		for i, own := range all {
			m.producer(string(rune('A'+i)), own...)
		}
	}
}

func sweeper(times int) func(*model)            { return func(m *model) { m.sweeper(times) } }
func restarter(name string) func(*model)        { return func(m *model) { m.restarter(name) } }
func reader(times int) func(*model)             { return func(m *model) { m.reader(times) } }
func keeper(times int) func(*model)             { return func(m *model) { m.keeper(times) } }
func clock(steps ...time.Duration) func(*model) { return func(m *model) { m.Ticks(steps...) } }

func others(steps, entries int, from int64) func(*model) {
	return func(m *model) { m.others(steps, entries, from) }
}

// placed is a crowd that has its places.
func placed(from int64, entries int) func(*model) {
	return func(m *model) { m.crowd(from, entries) }
}

func storeCrowd(from int64, entries int) func(*model) {
	return func(m *model) { m.storeCrowd(from, entries) }
}

// killed makes one whose invocations are killed after so many requests.
func killed(budget int, s sim.Scenario) sim.Scenario {
	s.Name, s.Budget = fmt.Sprintf("%s, killed after %d requests", s.Name, budget), budget
	return s
}

// keyedTraces are ways in which other designs went wrong, as are those whose comments begin with
// K4 and K13; each has its planted bug in verify/mutant.
func keyedTraces() []sim.Scenario {
	return []sim.Scenario{
		// A settler reads what waits, and 2 is all. 1 is stored before its move, and answered as
		// waiting. A settler that looks only beyond the watermark never sees it.
		scenario("K1", 0, atOnce, storeCrowd(2, 1), producers(calls(1)), sweeper(1)),
		// 1 is stored when 2 has its place and Low is closed: unless its writer looks again, it is
		// answered as waiting, and no settler looks for it. A look that is late is no look.
		scenario("K2", 1, atOnce, placed(2, 1), producers(calls(1)), sweeper(1)),
		// 1 is stored between a settler's query and its move; the settler whose wake-up it is has a
		// clock that is behind, and leaves it. If the move raises Low to what it places, nobody finds it.
		scenario("K3", 0, settled, func(m *model) {
			m.Clocks["late0"] = -time.Second
			m.storeCrowd(2, 1)
			m.producer("A", calls(1)...)
			m.sweeper(1)
			m.settler("late", 1, sortKeyOf(1, "z"))
			m.Ticks(window)
		}),
		// The later moves of one read: what came in meanwhile below what they place was not read.
		scenario("K3, a chain", 0, atOnce,
			storeCrowd(2, 260), func(m *model) { m.latecomer(1) }, sweeper(1)),
		// A writer that places its own late message has read nothing that Low could be raised for.
		scenario("K3, a writer", 0, atOnce, storeCrowd(3, 1), producers(calls(2), calls(1)), sweeper(1)),
		// The process that moved died before the flush, and so did the next: without a flush before each
		// move the tail grows until no update can trim it.
		scenario("K4", 1, atOnce, placed(10, mostTail), storeCrowd(2000, 1), sweeper(1)),
		// A put is under way for long. Its message is late by what was stored, and its stamp is of when
		// it was sent: no earlier.
		scenario("K5", 0, settled, producers(calls(2, 3), calls(1)), sweeper(1), clock(window)),
		// A settler reads the clock after what waits: what came in between finds itself late, before
		// the window is over.
		scenario("K6", 0, settled, func(m *model) {
			m.Slow["sweep0"] = true
			m.storeCrowd(2, 1)
			m.producer("A", calls(1)...)
			m.sweeper(1)
			m.Ticks(window-1, 1)
		}),
		// In a quiet queue an id is used again under its key after it has expired, while its first place
		// is in the tail still (K7); by a process that remembers the queue from before (K8).
		scenario("K7, K8", 0, atOnce, expires,
			producers([]call{{one(1, "a", "")}, {one(1, "a", "later")}}), reader(1), sweeper(1),
			keeper(5)),
		// The cursor is set back behind what a message has seen: no place is given before that, where a
		// look does not find it.
		scenario("K9", 0, atOnce, func(m *model) {
			m.crowd(1, 2)
			m.restored()
			m.crowd(10, 2)
			m.producer("A", calls(20, 20)...)
			m.others(1, 1, 30)
			m.sweeper(1)
		}),
		// The order item that has a message's place is gone: nobody can say whether it has one.
		scenario("K10", 0, atOnce, func(m *model) {
			m.crowd(10, anOrderItem-1)
			m.producer("A", calls(1, 1)...)
			m.others(1, 2, 100)
			m.flusher()
			m.loser()
		}),
		// Which of two equal keys comes first is a matter of the hashes of their ids: the other one is
		// late, and not dropped.
		scenario("K11", 0, newest,
			producers([]call{{one(1, "a", "")}}, []call{{one(1, "f", "")}}), sweeper(1)),
		// A message whose clock is ahead by far would wait for it.
		scenario("K12", 0, settled, func(m *model) {
			m.Clocks["A"] = 2 * world.WrongClock
			m.producer("A", calls(2)...)
			m.producer("B", calls(1)...)
			m.sweeper(1)
		}),
		// A settler reads the clock, and is held up for longer than clocks may be wrong: what came since
		// is not far ahead, and not due.
		scenario("K14", 0, settled,
			storeCrowd(1, 1), producers(calls(1, 2)), sweeper(1), clock(6*time.Minute)),
	}
}

func smallKeyed() []sim.Scenario {
	return []sim.Scenario{
		fresh("keyed: a new queue", 1, atOnce, producers(calls(1), calls(2))),
		scenario("one message from two producers", 1, atOnce,
			producers(calls(1), calls(1)), sweeper(1)),
		scenario("two messages under one key and id", 1, atOnce,
			producers(calls(1), []call{{one(1, "m1", "other")}}), sweeper(1)),
		scenario("a group, a twin in it, and one behind another", 1, atOnce,
			producers(
				[]call{{one(2, "b", ""), one(1, "a", ""), one(2, "b", ""), behind("a", one(3, "c", ""))}}),
			sweeper(1)),
		receiptTwice(),
		scenario("two settle", 0, atOnce, producers(calls(1), calls(2)), sweeper(2)),
		scenario("a wake-up and the sweep", 0, atOnce, func(m *model) {
			m.producer("A", calls(2)...)
			m.settler("wake-up", 1, sortKeyOf(1, "x"))
			m.sweeper(1)
			m.producer("B", calls(1)...)
		}),
		scenario("the same late one twice", 1, atOnce,
			placed(2, 1), producers(calls(1), calls(1))),
		scenario("late ones are dropped, equal ones not", 1, newest,
			placed(2, 1),
			producers([]call{{one(1, "a", ""), one(2, "b", ""), one(2, "f", ""), one(3, "c", "")}}),
			sweeper(1)),
		scenario("a late one while another settles", 0, atOnce,
			producers(calls(3), calls(1)), sweeper(2)),
		scenario("a window", 0, settled,
			producers(calls(2), calls(1)), sweeper(1), clock(window-1, 1)),
		scenario("a window by clocks that are apart", 0, settled, func(m *model) {
			m.Clocks["A"], m.Clocks["sweep0"] = time.Second, -time.Second
			m.producer("A", calls(2)...)
			m.producer("B", calls(1)...)
			m.sweeper(1)
			m.Ticks(window)
		}),
		scenario("pages of one", 1, atOnce, func(m *model) {
			m.Page = 1
			m.storeCrowd(1, 2)
			m.sweeper(1)
			m.producer("A", call{one(0, "a", ""), one(0, "b", "")})
		}),
		scenario("a page that ends with the wake-up's message", 1, atOnce, func(m *model) {
			m.Page = 1
			m.producer("A", calls(2)...)
			m.settler("wake-up", 1, sortKeyOf(2, "m2"))
		}),
		scenario("two flush", 1, atOnce, placed(1, anOrderItem), storeCrowd(100, 1), sweeper(2)),
		scenario("a repeat after its order item", 1, atOnce,
			placed(10, anOrderItem-1), producers(calls(1, 1)), others(1, 2, 100), (*model).flusher),
		// K4: a settler's flush fails, or (below) another flushes and moves first, and it moves on.
		scenario("more than a move", 1, atOnce, storeCrowd(1, 260), sweeper(1)),
		scenario("overtaken by a flush and a move", 0, atOnce, func(m *model) {
			m.crowd(1, anOrderItem+1)
			m.storeCrowd(2000, 128)
			m.overtaker(1000, 128)
			m.sweeper(1)
		}),
		scenario("more late ones than a move", 0, atOnce,
			storeCrowd(1, 130), placed(1000, 1), sweeper(2)),
		scenario("read while it is flushed", 1, atOnce,
			placed(1, anOrderItem), producers(calls(0)), reader(1)),
		scenario("read what is late, dropped and in order", 1, newest,
			placed(4, 2), producers([]call{{one(4, "e", ""), one(1, "a", ""), one(7, "g", "")}}),
			sweeper(1), reader(1)),
		scenario("the keys begin anew beside a writer", 1, atOnce,
			producers(calls(2, 1)), restarter("restart")),
		scenario("the keys begin anew beside a settler, and late ones are dropped", 0, newest,
			storeCrowd(2, 1), producers(calls(1)), restarter("restart"), sweeper(1)),
		scenario("the keys begin anew twice", 0, atOnce,
			producers(calls(1)), restarter("one"), restarter("two")),
		scenario("the keys begin anew before a window is over", 0, settled,
			producers(calls(2, 1)), restarter("restart"), clock(window)),
		killed(4, scenario("settlers", 0, atOnce,
			placed(10, anOrderItem+1), storeCrowd(100, 3), sweeper(1), producers(calls(1)))),
		// K13: a message gets its place shortly before it expires, and is gone when it is read.
		scenario("a place shortly before it expires", 0, atOnce, expires,
			producers(calls(1), calls(1)), sweeper(1), keeper(4)),
	}
}

// receiptTwice: two writers bring one message, and repeat it, at other times.
func receiptTwice() sim.Scenario {
	byTime := atOnce
	byTime.KeyType = "time"
	return scenario("one message by its receipt, from two", 1, byTime, func(m *model) {
		m.byReceipt = []string{"m"}
		m.producer("A", call{byReceipt("m")})
		m.producer("B", call{byReceipt("m")})
		m.Ticks(time.Second)
	})
}

func largeKeyed() []sim.Scenario {
	return []sim.Scenario{
		scenario("two move what is more than a move", 0, atOnce,
			placed(1, mostTail), storeCrowd(1000, 256), sweeper(2)),
		scenario("two settle, 1 fault", 1, atOnce, producers(calls(1), calls(2)), sweeper(2)),
		scenario("a late one while another settles, 1 fault", 1, atOnce,
			producers(calls(3), calls(1)), sweeper(2)),
		scenario("one message from two producers, 2 faults", 2, atOnce,
			producers(calls(1), calls(1)), sweeper(1)),
	}
}

const keyType = sortkey.KeyType("number")

// one is a message of a keyed queue. The payload distinguishes two under one key and id.
func one(key int64, id, payload string) request {
	return request{messages: []cursor.Message{{
		KeyParts: []any{key}, KeyType: keyType,
		Queue: queue, ID: id, Body: fmt.Appendf(nil, "%d%s%s", key, id, payload),
	}}}
}

// byReceipt is a message for a queue of times whose key is when it comes.
func byReceipt(id string) request {
	k := one(0, id, "")
	k.messages[0].KeyType, k.received = "time", true
	return k
}

// behind is a message that names the one which should stand before it.
func behind(prev string, k request) request {
	k.messages[0].Prev = prev
	return k
}

// sortKey is the key under which it is stored.
func (r request) sortKey() sortkey.SortKey {
	m := r.messages[0]
	return sortKeyOf(m.KeyParts[0].(int64), m.ID)
}

// sortKey is the same of any message, once it is stored.
func (m *model) sortKey(r request) sortkey.SortKey {
	if r.received {
		id := r.messages[0].ID
		return receivedKey(m.receipts[id], id)
	}
	return r.sortKey()
}

// receivedKey is the key of a message that first came at a time.
func receivedKey(at time.Time, id string) sortkey.SortKey {
	key := sim.Must(sortkey.KeyType("time").Key(at))
	return sortkey.Era("").SortKey(key, id)
}

func sortKeyOf(n int64, id string) sortkey.SortKey {
	key := sim.Must(keyType.Key(n))
	return sortkey.Era("").SortKey(key, id)
}

// calls are puts of one message each, of these keys, by one id each.
func calls(keys ...int64) []call {
	list := make([]call, len(keys))
	for i, key := range keys {
		list[i] = call{one(key, fmt.Sprint("m", key), "")}
	}
	return list
}
