package deliverysim

import (
	"time"

	"github.com/streamsort/streamsort/verify/sim"
)

// chained has batches of one message deferred with chains.
func chained(m *model) {
	m.defers(1)
	m.hinted()
}

func failing(m *model) { m.work.fails = 1 }

func extended(m *model) { m.extender(2 * track) }

func deferrals() []sim.Scenario {
	return []sim.Scenario{
		deferring("deferred, 2 faults", 2, 1, 1),
		deferring("deferred, two messages, one after the other, 1 fault", 1, 2, 1),
		deferring("deferred, two messages in a batch, 1 fault", 1, 2, 1,
			func(m *model) { m.bound.MaxMessages = 2 }),
		deferring("deferred, a tree of two levels, 1 fault", 1, 1, 2),
		deferring("deferred work that fails, 1 fault", 1, 1, 1, failing, ticks(time.Second)),
		deferring("deferred, a lease is over, 1 fault", 1, 1, 1, clock(1)),
		deferring("deferred, two processes and a lease that is over", 0, 1, 1,
			process("Q"), (*model).comes, clock(1)),
		deferring("deferred, a chain is late, 1 fault", 1, 1, 1,
			ticks(overTrack)),
		deferring("deferred, a chain is late, and another process looks", 0, 1, 1,
			process("Q"), (*model).comes, ticks(overTrack)),
		deferring("deferred, a chain is extended", 0, 1, 1,
			(*model).comes, extended, ticks(overLease, overTrack-overLease)),
		scenario("deferred, two processes beside an extension", 0, 1,
			chained, process("P", "Q"), (*model).comes, extended, ticks(overTrack)),
		deferring("deferred, clocks apart", 0, 1, 1,
			apart("Q", overLease), (*model).comes),
		scenario("deferred, the sweep looks", 0, 1, chained, process("P"),
			func(m *model) { m.worker("W") }, sweeper(1, false), ticks(overLease)),
		scenario("deferred, the sweep times out", 0, 1, chained, process("P"),
			func(m *model) { m.ender("E") }, sweeper(1, false), ticks(overTrack)),
		deferring("deferred, stale reads", 1, 1, 1,
			stale, func(m *model) { m.certain = true }, producer(2)),
		deferring("deferred, stale reads, and work that fails", 1, 1, 1, stale, failing),
		deferring("deferred, a message arrives meanwhile, 1 fault", 1, 1, 1, producer(2)),
		// The record of a chain's end is handed out twice. In between its consumer is removed and
		// recreated, and claims under the same number: the second time it must end nothing. A chain has
		// the whole token for its tag, and the code that ends a claim asks for the whole token.
		deferring("deferred, the consumer is recreated", 1, 1, 1, (*model).remaker),
		deferring("deferred, the consumer is recreated after a failure", 0, 1, 1,
			failing, (*model).remaker, ticks(time.Second)),
		deferring("deferred, a message that no sink ever takes", 0, 1, 1,
			func(m *model) { m.poison, m.permanent = 1, true }, (*model).comes),
		twoQueues("deferred, the sink is away", 0, (*model).defersAway),
		deferring("deferred by token, 1 fault", 1, 2, 0),
		deferring("deferred by token, two processes, and it expires", 0, 1, 0,
			process("Q"), (*model).comes, ticks(overTrack)),
		deferring("deferred by token, work that fails, 1 fault", 1, 1, 0, failing, ticks(time.Second)),
	}
}

func largeDeferrals() []sim.Scenario {
	return []sim.Scenario{
		deferring("deferred, two processes, a lease that is over, 1 fault", 1, 1, 1,
			process("Q"), (*model).comes, clock(1)),
		deferring("deferred, two processes and a worker beside an extension", 0, 1, 1,
			process("Q"), (*model).comes, extended, ticks(overTrack)),
		twoQueues("deferred, the sink is away, and a lease is over", 0, (*model).defersAway, clock(1)),
		deferring("deferred, all of it and the sweep", 0, 1, 1, sweeper(1, false), clock(1)),
		deferring("deferred, two messages, a chain is late, 2 faults", 2, 2, 1,
			ticks(overTrack)),
		deferring("deferred by token, two processes, and it expires, 1 fault", 1, 1, 0,
			process("Q"), (*model).comes, ticks(overTrack)),
	}
}
