package logsim

import (
	"fmt"
	"slices"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim"
)

// nearly is how many entries a tail has that the next allocation takes to where it is flushed.
const nearly = queuelog.OrderItemEntries - 1

var arrivalOrder = func() cursor.Settings {
	s := cursor.DefaultSettings()
	s.Kind = cursor.KindArrival
	return s
}()

// inOrder makes a scenario of a set of actors on a queue in arrival order with so many entries;
// there is no queue before the run where these are less than 0.
func inOrder(name string, faults, entries int, actors ...func(*model)) sim.Scenario {
	begins := func(m *model) {
		if entries >= 0 {
			m.create()
			m.append("before", entries)
		}
	}
	return fresh("arrival: "+name, faults, arrivalOrder, slices.Insert(actors, 0, begins)...)
}

// smallArrivals are the small scenarios of queues in arrival order. R1 to R9 are ways in which
// other designs went wrong; each has its planted bug in verify/mutant.
func smallArrivals() []sim.Scenario {
	return append(expected(), []sim.Scenario{
		inOrder("a new queue", 1, -1, producers(arrivals("a"), arrivals("b"))),
		inOrder("one message from two producers", 2, 0, producers(arrivals("a"), arrivals("a"))),
		inOrder("two messages under one id", 1, 0,
			producers(arrivals("a"), []call{{together("a", "other", 1)}})),
		inOrder("groups that share a message", 1, 0,
			producers([]call{{together("a", "", 1), together("b", "", 2)}},
				[]call{{together("b", "", 2), together("c", "", 1)}})),
		inOrder("two flush", 2, nearly-1, producers(arrivals("a"), arrivals("b"))),
		// R4: two flush at once, each all that it sees: they see different tails.
		inOrder("full", 1, queuelog.MaxTail-1, producers(arrivals("a", "b"), arrivals("c"))),
		// R1: A's allocation takes effect and its response is lost. Others get places until A's is
		// flushed to an order item. If the repeat does not ask that the tail begins where A had looked,
		// A gets a second place.
		inOrder("a lost allocation goes into an order item", 1, nearly,
			producers(arrivals("a"), arrivals("b", "c")), others(1, nearly-1, 0)),
		// R2: a repeat by another process takes the position that it sees itself, which is behind the
		// place that the first one got: it never looks there.
		inOrder("a repeat after its order item", 1, nearly,
			producers(arrivals("a", "b"), arrivals("a")), others(1, nearly-1, 0)),
		// R9: others get places until A's has left the fingerprints too. If these claim to be of all
		// before the tail that was ever flushed, A gets a second place.
		inOrder("a lost allocation leaves the prints", 1, 0, func(m *model) {
			m.producer("A", arrivals("a")...)
			m.turnover(3)
		}),
		// R3: the tail is trimmed, and its writer dies before the order item is stored: the places are
		// nowhere.
		inOrder("read while it is flushed", 1, nearly, producers(arrivals("a")), reader(1)),
		inOrder("read two order items", 1, queuelog.OrderItemEntries, func(m *model) {
			m.flushed()
			m.append("more", queuelog.OrderItemEntries)
			m.flushed()
			m.producer("A", arrivals("a")...)
			m.reader(1)
		}),
		// R5: the place is given first, and the writer dies before it stores the message: a gap that
		// nobody can fill.
		inOrder("read what came together", 1, 0,
			producers([]call{{together("a", "", 2)}, {together("b", "", 1)}}), reader(2)),
		// R6: an id is used again while its first place is in the tail still. If places have the id
		// only, the later message gets no place, and gets that of the first.
		inOrder("an id is used again after it has expired", 0, 0, expires,
			producers([]call{{together("a", "", 1)}, {together("a", "later", 1)},
				{together("a", "later", 1)}}),
			reader(2), keeper(5)),
		// R7: A stores a message and gives up. B repeats it when it is about to expire: unless it is
		// kept, it has a place and is gone when it is read.
		inOrder("a repeat shortly before it expires", 1, 0, expires,
			producers(arrivals("a"), arrivals("a")), keeper(5)),
		// R8: an undelivered message is kept, and the order item that has its place is not: nobody
		// finds the message, and a repeat gets a second place.
		keptInAnOrderItem(0),
	}...)
}

func keptInAnOrderItem(faults int) sim.Scenario {
	return inOrder(fmt.Sprintf("kept in an order item, %d faults", faults), faults, nearly-1, expires,
		func(m *model) {
			m.early("a")
			m.producer("A", arrivals("b", "a")...)
			m.keeper(6)
		})
}

func largeArrivals() []sim.Scenario {
	return append(expectedLarge(), []sim.Scenario{
		keptInAnOrderItem(1),
		inOrder("three producers, 2 faults", 2, 0,
			producers(arrivals("a"), arrivals("b"), arrivals("a"))),
		inOrder("three flush, 2 faults", 2, nearly-1,
			producers(arrivals("a"), arrivals("b"), arrivals("c"))),
		inOrder("a lost allocation goes into an order item, 2 faults", 2, nearly,
			producers(arrivals("a"), arrivals("b", "c")), others(1, nearly-1, 0), reader(1)),
	}...)
}

// together is a request of n messages of one id. The payload distinguishes two under one id.
func together(id, payload string, n int) request {
	r := request{}
	for i := range n {
		r.messages = append(r.messages, cursor.Message{Queue: queue, Seq: cursor.NoSeq, PutID: id,
			Body: fmt.Appendf(nil, "%s%d%s", id, i, payload)})
	}
	return r
}

func arrivals(ids ...string) []call {
	list := make([]call, len(ids))
	for i, id := range ids {
		list[i] = call{together(id, "", 1)}
	}
	return list
}

// at is a call of messages that are to be at these seqs. The payload distinguishes two under one.
func at(payload string, seqs ...int64) call {
	c := make(call, len(seqs))
	for i, seq := range seqs {
		c[i].messages = []cursor.Message{{
			Queue: queue, Seq: seq, Kind: cursor.KindArrival,
			Body: fmt.Appendf(nil, "at %d%s", seq, payload),
		}}
	}
	return c
}

func expected() []sim.Scenario {
	return []sim.Scenario{
		inOrder("at: a new queue", 1, -1, producers([]call{at("", 1)}, arrivals("b"))),
		inOrder("at: one batch from two producers", 2, 0,
			producers([]call{at("", 1, 2)}, []call{at("", 1, 2)})),
		inOrder("at: two messages at one seq", 2, 0,
			producers([]call{at("", 1)}, []call{at("other", 1, 2)})),
		inOrder("at: a repeat that is cut in another way", 1, 0,
			producers([]call{at("", 1, 2), at("", 3)}, []call{at("", 1), at("", 2, 3)})),
		inOrder("at: a plain append between two", 1, 0,
			producers([]call{at("", 1), at("", 2)}, arrivals("b"))),
		inOrder("at: a hole, and what fills it", 1, 0,
			producers([]call{at("", 1, 3), at("", 3)}, []call{at("", 2)})),
		inOrder("at: two flush", 1, nearly-1,
			producers([]call{at("", nearly), at("", nearly+1)}, arrivals("b"))),
		inOrder("at: a lost allocation goes into an order item", 1, nearly,
			producers([]call{at("", nearly+1, nearly+2)}, arrivals("b")), others(1, nearly-1, 0)),
		inOrder("at: full", 1, queuelog.MaxTail,
			producers([]call{at("", queuelog.MaxTail+1)},
				[]call{at("", queuelog.MaxTail+1, queuelog.MaxTail+2)})),
		inOrder("at: read", 1, 0, producers([]call{at("", 1, 2), at("", 3)}), reader(2)),
		expectedKept(0),
	}
}

// expectedKept is a row that got no place, and is given one when it is about to expire, or has.
func expectedKept(more int) sim.Scenario {
	return inOrder(fmt.Sprintf("at: expires without a place, %d faults", 1+more), 1+more, 0, expires,
		producers([]call{at("", 1)}, []call{at("", 1)}), keeper(5))
}

func expectedLarge() []sim.Scenario {
	return []sim.Scenario{
		expectedKept(1),
		inOrder("at: three producers, 2 faults", 2, 0,
			producers([]call{at("", 1, 2)}, []call{at("other", 1), at("", 2)}, arrivals("c"))),
	}
}
