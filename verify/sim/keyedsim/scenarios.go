package keyedsim

import (
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim"
)

// Suite is what there is to run.
func Suite() sim.Suite {
	return sim.Suite{Name: "keyed", Small: Small(), Large: Large(), Random: Shuffled}
}

const (
	// window is the settle window, where there is one.
	window = 10 * time.Second
	// retention is short, for scenarios in which things expire.
	retention = cursor.MinRetention
	// anOrderItem is how many entries a tail has of which the next move makes an order item.
	anOrderItem = queuelog.OrderItemEntries
)

// with are the settings of a queue.
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

// scenario makes a Scenario of a set of actors on a queue with these settings.
func scenario(name string, faults int, settings cursor.Settings, actors func(*model)) sim.Scenario {
	made := crowds{}
	return sim.Scenario{Name: name, Faults: faults, New: func(run *sim.Run) sim.Model {
		m := newModel(run, made, settings)
		m.create()
		actors(m)
		return m
	}}
}

// killed makes one whose invocations are killed after so many requests.
func killed(budget int, s sim.Scenario) sim.Scenario {
	s.Name, s.Budget = fmt.Sprintf("%s, killed after %d requests", s.Name, budget), budget
	return s
}

// Small are scenarios of which every schedule is walked in seconds.
func Small() []sim.Scenario {
	return []sim.Scenario{
		newQueue(),
		scenario("one message from two producers", 1, atOnce, func(m *model) {
			m.producer("A", calls(1)...)
			m.producer("B", calls(1)...)
			m.sweeper(1)
		}),
		scenario("two messages under one key and id", 1, atOnce, func(m *model) {
			m.producer("A", calls(1)...)
			m.producer("B", call{one(1, "m1", "other")})
			m.sweeper(1)
		}),
		scenario("a group, a twin in it, and one behind another", 1, atOnce, func(m *model) {
			m.producer("A", call{one(2, "b", ""), one(1, "a", ""), one(2, "b", ""), behind("a", one(3, "c", ""))})
			m.sweeper(1)
		}),
		receiptTwice(),
		scenario("two settle", 0, atOnce, func(m *model) {
			m.producer("A", calls(1)...)
			m.producer("B", calls(2)...)
			m.sweeper(2)
		}),
		scenario("a wake-up and the sweep", 0, atOnce, func(m *model) {
			m.producer("A", calls(2)...)
			m.settler("wake-up", 1, sortKeyOf(1, "x"))
			m.sweeper(1)
			m.producer("B", calls(1)...)
		}),
		scenario("the same late one twice", 1, atOnce, func(m *model) {
			m.crowd(2, 1)
			m.producer("A", calls(1)...)
			m.producer("B", calls(1)...)
		}),
		scenario("late ones are dropped, equal ones not", 1, newest, func(m *model) {
			m.crowd(2, 1)
			m.producer("A", call{one(1, "a", ""), one(2, "b", ""), one(2, "f", ""), one(3, "c", "")})
			m.sweeper(1)
		}),
		scenario("a late one while another settles", 0, atOnce, func(m *model) {
			m.producer("A", calls(3)...)
			m.producer("B", calls(1)...)
			m.sweeper(2)
		}),
		scenario("a window", 0, settled, func(m *model) {
			m.producer("A", calls(2)...)
			m.producer("B", calls(1)...)
			m.sweeper(1)
			m.clock(window-1, 1)
		}),
		scenario("a window by clocks that are apart", 0, settled, func(m *model) {
			m.clocks["A"], m.clocks["sweep0"] = time.Second, -time.Second
			m.producer("A", calls(2)...)
			m.producer("B", calls(1)...)
			m.sweeper(1)
			m.clock(window)
		}),
		scenario("pages of one", 1, atOnce, func(m *model) {
			m.page = 1
			m.storeCrowd(1, 2)
			m.sweeper(1)
			m.producer("A", call{one(0, "a", ""), one(0, "b", "")})
		}),
		scenario("a page that ends with the wake-up's message", 1, atOnce, func(m *model) {
			m.page = 1
			m.producer("A", calls(2)...)
			m.settler("wake-up", 1, sortKeyOf(2, "m2"))
		}),
		scenario("two flush", 1, atOnce, func(m *model) {
			m.crowd(1, anOrderItem)
			m.storeCrowd(100, 1)
			m.sweeper(2)
		}),
		scenario("a repeat after its order item", 1, atOnce, func(m *model) {
			m.crowd(10, anOrderItem-1)
			m.producer("A", calls(1, 1)...)
			m.others(1, 2, 100)
			m.flusher()
		}),
		scenario("more than a move", 1, atOnce, func(m *model) {
			m.storeCrowd(1, 260)
			m.sweeper(1)
		}),
		scenario("overtaken by a flush and a move", 0, atOnce, func(m *model) {
			m.crowd(1, anOrderItem+1)
			m.storeCrowd(2000, 128)
			m.overtaker(1000, 128)
			m.sweeper(1)
		}),
		scenario("more late ones than a move", 0, atOnce, func(m *model) {
			m.storeCrowd(1, 130)
			m.crowd(1000, 1)
			m.sweeper(2)
		}),
		scenario("read while it is flushed", 1, atOnce, func(m *model) {
			m.crowd(1, anOrderItem)
			m.producer("A", calls(0)...)
			m.reader(1)
		}),
		scenario("read what is late, dropped and in order", 1, newest, func(m *model) {
			m.crowd(4, 2)
			m.producer("A", call{one(4, "e", ""), one(1, "a", ""), one(7, "g", "")})
			m.sweeper(1)
			m.reader(1)
		}),
		scenario("the keys begin anew beside a writer", 1, atOnce, func(m *model) {
			m.producer("A", calls(2, 1)...)
			m.restarter("restart")
		}),
		scenario("the keys begin anew beside a settler, and late ones are dropped", 0, newest, func(m *model) {
			m.storeCrowd(2, 1)
			m.producer("A", calls(1)...)
			m.restarter("restart")
			m.sweeper(1)
		}),
		scenario("the keys begin anew twice", 0, atOnce, func(m *model) {
			m.producer("A", calls(1)...)
			m.restarter("one")
			m.restarter("two")
		}),
		scenario("the keys begin anew before a window is over", 0, settled, func(m *model) {
			m.producer("A", calls(2, 1)...)
			m.restarter("restart")
			m.clock(window)
		}),
		killed(4, scenario("settlers", 0, atOnce, func(m *model) {
			m.crowd(10, anOrderItem+1)
			m.storeCrowd(100, 3)
			m.sweeper(1)
			m.producer("A", calls(1)...)
		})),
		kept("a place shortly before it expires", 0, func(m *model) {
			m.producer("A", calls(1)...)
			m.producer("B", calls(1)...)
			m.sweeper(1)
			m.keeper(4, retention/4)
		}),
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
		m.clock(time.Second)
	})
}

func newQueue() sim.Scenario {
	made := crowds{}
	return sim.Scenario{Name: "a new queue", Faults: 1, New: func(run *sim.Run) sim.Model {
		m := newModel(run, made, atOnce)
		m.producer("A", calls(1)...)
		m.producer("B", calls(2)...)
		return m
	}}
}

func kept(name string, faults int, actors func(*model)) sim.Scenario {
	return scenario(name, faults, atOnce, func(m *model) {
		m.keep = retention
		actors(m)
	})
}

// Large are scenarios of which every schedule is walked in minutes.
func Large() []sim.Scenario {
	return []sim.Scenario{
		scenario("two move what is more than a move", 0, atOnce, func(m *model) {
			m.crowd(1, mostTail)
			m.storeCrowd(1000, 256)
			m.sweeper(2)
		}),
		scenario("two settle, 1 fault", 1, atOnce, func(m *model) {
			m.producer("A", calls(1)...)
			m.producer("B", calls(2)...)
			m.sweeper(2)
		}),
		scenario("a late one while another settles, 1 fault", 1, atOnce, func(m *model) {
			m.producer("A", calls(3)...)
			m.producer("B", calls(1)...)
			m.sweeper(2)
		}),
		scenario("one message from two producers, 2 faults", 2, atOnce, func(m *model) {
			m.producer("A", calls(1)...)
			m.producer("B", calls(1)...)
			m.sweeper(1)
		}),
	}
}
