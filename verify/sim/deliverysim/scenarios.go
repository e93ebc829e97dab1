package deliverysim

import (
	"slices"
	"time"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/verify/sim"
)

// Suite is what there is to run.
func Suite() sim.Suite {
	return sim.Suite{Name: "delivery", Small: small(), Large: large(), Random: shuffled}
}

// scenario makes a Scenario of a queue, its messages, a consumer and a set of actors.
func scenario(name string, faults int, messages int64, actors ...func(*model)) sim.Scenario {
	consumer := func(m *model) { m.consumer(defaultQueue, defaultConsumer) }
	return onNew(name, faults, messages, slices.Insert(actors, 0, consumer)...)
}

// onNew is a scenario that begins before the queue has a consumer.
func onNew(name string, faults int, messages int64, actors ...func(*model)) sim.Scenario {
	return sim.Cast(name, faults, func(run *sim.Run) *model {
		m := newModel(run)
		m.certain = faults == 0
		stored := make([]cursor.Message, messages)
		for i := range stored {
			stored[i] = cursor.Message{Queue: defaultQueue, Seq: int64(i) + 1}
		}
		m.open(defaultQueue, stored...)
		return m
	}, actors...)
}

// Actors of scenarios: the methods of their names, where the queue and its consumer are the default
// ones, and clocks are right.

func producer(seqs ...int64) func(*model) {
	return func(m *model) { m.producer("A", defaultQueue, seqs...) }
}

func process(names ...string) func(*model) {
	return func(m *model) { m.process(names...) }
}

func warm(name string) func(*model) {
	return func(m *model) {
		m.Warm[name] = true
		m.process(name)
	}
}

func apart(name string, ahead time.Duration) func(*model) {
	return func(m *model) {
		m.Clocks[name] = ahead
		m.process(name)
	}
}

func caller(names ...string) func(*model) {
	return func(m *model) {
		for _, name := range names {
			m.caller(name)
		}
	}
}

// clock lets leases end, a number of times: a process with a claim may find it taken over.
func clock(times int) func(*model) {
	return ticks(slices.Repeat([]time.Duration{overLease}, times)...)
}

func ticks(steps ...time.Duration) func(*model) { return func(m *model) { m.Ticks(steps...) } }

func slowClock(times int, step time.Duration) func(*model) {
	return func(m *model) { m.slowClock(times, step) }
}

func sweeper(times int, deleting bool) func(*model) {
	return func(m *model) { m.sweeper(times, deleting) }
}

func timer(consumers ...string) func(*model) { return func(m *model) { m.timer(consumers...) } }

func keeper(periods int) func(*model) { return func(m *model) { m.keeper(periods) } }

func operator(name string, operations ...operation) func(*model) {
	return func(m *model) { m.operator(name, operations...) }
}

func goesAway(times int, queues ...string) func(*model) {
	return func(m *model) { m.goesAway(times, queues...) }
}

func stale(m *model) { m.tables.Stale() }

// overLease is a tick after which a claim may be taken over.
const overLease = lease + time.Second

// small are the small scenarios. T4 to T12 are ways in which a design of delivery goes wrong, or
// its limits. (T1 to T3 are of the delivery in two phases, and T6 is a test of pkg/delivery.)
func small() []sim.Scenario {
	return append(slices.Concat(budgets(), outages(), asides(), deferrals(), eager()), []sim.Scenario{
		scenario("one process", 2, 1, producer(2, 3), process("P")),
		// T4: P has a claim in flight on 1 when 2 arrives; the record of 2 finds it, notes that 2 is
		// there, and is dropped. P must go on when it has committed 1.
		scenario("two processes", 0, 0, producer(1, 2, 3), process("P", "Q")),
		scenario("two warm processes", 0, 0, producer(1, 2, 3), warm("P"), warm("Q")),
		scenario("a warm process, 1 fault", 1, 0, producer(1, 2), warm("P"), process("Q")),
		scenario("rewound under a warm process", 0, 0, producer(1, 2), warm("P"),
			operator("O", operation{kind: "rewind", start: delivery.First})),
		scenario("two processes, 1 fault", 1, 0, producer(1, 2), process("P", "Q")),
		// T8: P sleeps between its claim and its handing over until its lease is over; Q takes over,
		// hands 1 and 2 on, and commits; P wakes up and hands 1 on. A sink that remembers the highest
		// token, and refuses lower ones, gets each queue in order.
		scenario("a zombie", 0, 1, producer(2, 3), process("P", "Q"), clock(1)),
		scenario("a zombie, 1 fault", 1, 1, producer(2), process("P", "Q"), clock(1)),
		scenario("clocks apart", 0, 0, producer(1, 2), process("P"), apart("Q", 2*overLease)),
		// T5: to Q, whose clock is ahead by more than a lease, each claim of P's is over when it is made.
		// Nothing is lost or out of order for that, only done twice; a claim must just be longer than
		// the clocks are apart for P's work to count.
		scenario("T5", 0, 1, producer(2), process("P"), apart("Q", 3*lease), (*model).hinted),
		// Apart by less: no claim is taken over but after its own clock's lease.
		scenario("T5, less", 0, 1,
			func(m *model) { m.bound.MaxAttempts, m.never = 100, delivery.Cancelled },
			producer(2), process("P"), apart("Q", lease-time.Second), (*model).hinted),
		scenario("stale reads", 1, 0,
			stale, func(m *model) { m.certain = true }, // whatever a read shows
			producer(1, 2), process("P", "Q")),
		scenario("stale reads of a claim of one's own", 2, 0, stale, producer(1, 2), process("P")),
		scenario("a first copy comes late", 1, 0,
			func(m *model) { m.Run.Network() }, producer(1, 2), process("P")),
		scenario("one process and the sweep", 1, 0,
			producer(1), process("P"), sweeper(1, false), clock(1)),
		scenario("one process and the timer", 1, 0,
			producer(1), process("P"), timer(defaultConsumer, "nobody", defaultConsumer), clock(1)),
		scenario("one process and the timer alone", 1, 0,
			timed, producer(1), process("P"), timer(defaultConsumer), clock(1)),
		scenario("a message that no sink takes, and the timer alone", 0, 0, timed, func(m *model) {
			m.poison, m.bound.MaxAttempts = 2, attempts+2 // the first retry is the mapping's
		}, producer(1, 2, 3), process("P"), clock(2)),
		scenario("a message that no sink takes, and the timer", 0, 0,
			func(m *model) { m.poison = 1 }, producer(1), process("P"),
			timer(defaultConsumer), clock(2),
			operator("op", operation{kind: "skip", seq: 1})),
		// T7: 1 and 2 go out together, and no sink takes 2. From the second attempt on they go out alone:
		// then the one that blocks is the one behind Delivered, and 1 is not given up with it.
		scenario("T7", 0, 2,
			func(m *model) { m.poison = 2 }, process("P"), clock(2), (*model).hinted),
		scenario("a message that no sink takes", 0, 0,
			func(m *model) { m.poison = 2 }, producer(1, 2, 3), process("P"), clock(2),
			operator("op", operation{kind: "skip", seq: 2})),
		scenario("skipped while it is tried again", 1, 1,
			func(m *model) { m.poison, m.bound.MaxMessages = 1, 1 }, producer(2), process("P"), clock(1),
			operator("O", operation{kind: "skip", seq: 1})),
		scenario("failed with others, redriven and skipped", 0, 2,
			func(m *model) { m.poison, m.bound.MaxMessages = 2, 2 }, producer(3), process("P"), clock(1),
			operator("O", operation{kind: "redrive", seq: 1}, operation{kind: "skip", seq: 1},
				operation{kind: "skip", seq: 2})),
		scenario("a message that no sink ever takes", 1, 3,
			func(m *model) { m.poison, m.permanent = 2, true }, producer(4), process("P"),
			operator("op", operation{kind: "redrive", seq: 2}, operation{kind: "skip", seq: 2})),
		scenario("a message that no sink takes, by halves", 0, 4,
			func(m *model) { m.poison, m.bound.MaxMessages, m.bound.MaxAttempts = 3, 4, 3 }, process("P"),
			clock(3), (*model).hinted),
		scenario("a part is taken", 2, 3,
			func(m *model) { m.poison, m.parts, m.bound.MaxMessages = 3, true, 3 }, process("P"),
			(*model).hinted),
		scenario("a part is taken, and the process sleeps", 0, 3,
			func(m *model) { m.poison, m.parts, m.permanent, m.bound.MaxMessages = 2, true, true, 3 },
			process("P", "Q"), clock(2),
			operator("op", operation{kind: "rewind", start: delivery.First},
				operation{kind: "skip", seq: 2})),
		scenario("two operators", 1, 1,
			func(m *model) { m.poison, m.permanent = 1, true }, producer(2), process("P"),
			operator("O", operation{kind: "skip", seq: 1}),
			operator("R", operation{kind: "skip", seq: 1})),
		scenario("paused and resumed", 1, 1,
			producer(2), process("P"), operator("O", operation{kind: "pause"}, operation{kind: "resume"})),
		scenario("rewound", 1, 2,
			producer(3), process("P"), operator("O", operation{kind: "rewind", start: delivery.At(1)})),
		scenario("rewound, kept in pieces", 1, 3,
			func(m *model) { m.Page = 1 }, (*model).caughtUp, process("P"),
			operator("O", operation{kind: "rewind", start: delivery.At(1)})),
		onNew("begins in pieces while messages expire", 0, 0,
			func(m *model) { m.Page = 1 }, expiring(2), keeper(3),
			(*model).creator),
		scenario("rewound under a zombie", 0, 2,
			process("P", "Q"), (*model).hinted,
			operator("O", operation{kind: "rewind", start: delivery.At(1)}), clock(1)),
		scenario("two consumers", 1, 0,
			func(m *model) { m.consumer(defaultQueue, "d") }, producer(1, -2), process("P")),
		onNew("begins while messages arrive", 1, 1, producer(2), process("P", "Q")),
		scenario("read in pages, with a skipped seq", 2, 1,
			func(m *model) { m.Page, m.bound.MaxMessages = 1, 3 }, producer(-2, 3), process("P")),
		// T9: d begins at the first message, and sleeps; meanwhile the sweep finds that all the others
		// are past it, raises the floor, and deletes. It must not delete what one that is beginning may
		// still start at, and d must look at the floor, and at what is stored, before it says where.
		scenario("begins while the past is deleted", 0, 2,
			func(m *model) { m.slow = true }, (*model).caughtUp, sweeper(2, true),
			slowClock(2, cursor.DeleteAfter), (*model).creator),
		scenario("rewound while the past is deleted", 0, 2,
			(*model).caughtUp, sweeper(2, true), slowClock(2, cursor.DeleteAfter),
			operator("O", operation{kind: "rewind", start: delivery.At(1)})),
		// T12: nothing has happened in a queue for long when its consumer is rewound, and the operator
		// dies behind it: only the sweep of moved queues would look, and to it this one is quiet, unless
		// the rewind wakes it up first.
		scenario("rewound after a quiet time", 1, 1,
			(*model).caughtUp, (*model).quiet,
			operator("O", operation{kind: "rewind", start: delivery.At(1)})),
		onNew("begins after a quiet time", 1, 1, (*model).quiet, (*model).creator),
		// T11: d begins, and sleeps for hours, in which the sweep sees a queue whose cursor has not
		// moved, and looks no more. Then d is there, and what it is to have waits: the process that ends
		// a start wakes somebody up.
		onNew("begins slowly", 0, 1,
			func(m *model) { m.certain = false }, // nobody reads for it
			sweeper(1, false), slowClock(2, time.Hour), (*model).creator),
		scenario("the sweep fails", 2, 1, (*model).quiet, sweeper(1, false)),
		// T10: d begins at a message that is about to expire. It must be kept before d says that it
		// starts there.
		onNew("begins while messages expire", 0, 0,
			expiring(2), keeper(5), (*model).creator),
		scenario("kept while it lags", 1, 0,
			expiring(2), keeper(5), process("P"), (*model).hinted),
	}...)
}

func large() []sim.Scenario {
	return append(largeDeferrals(), []sim.Scenario{
		scenario("two processes and the timer", 0, 1,
			producer(2, 3), process("P", "Q"), timer(defaultConsumer, defaultConsumer), clock(1)),
		scenario("a message that no sink takes, and the timer, twice", 0, 0,
			func(m *model) { m.poison = 1 }, producer(1), process("P"),
			timer(defaultConsumer, defaultConsumer), clock(2),
			operator("op", operation{kind: "skip", seq: 1})),
		scenario("two processes, 2 faults", 2, 0, producer(1, 2), process("P", "Q")),
		scenario("two processes and the sweep at once", 1, 0,
			producer(1), process("P", "Q"), sweeper(1, false), clock(1)),
		scenario("begins while the past is deleted, 1 fault", 1, 2,
			func(m *model) { m.slow = true }, (*model).caughtUp, sweeper(2, true),
			slowClock(2, cursor.DeleteAfter), (*model).creator),
		scenario("begins and is kept while messages expire, 1 fault", 1, 0,
			expiring(3), keeper(5), (*model).creator),
		scenario("clocks apart, 1 fault", 1, 0,
			producer(1, 2), process("P"), apart("Q", 2*overLease), clock(1)),
	}...)
}
