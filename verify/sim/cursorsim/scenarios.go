package cursorsim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim"
)

// Suite is what there is to run.
func Suite() sim.Suite {
	return sim.Suite{Name: "cursor", Small: small(), Large: large(), Random: shuffled}
}

func scenario(name string, faults int, settings func(*cursor.Settings),
	actors ...func(*model)) sim.Scenario {
	return onNew(name, faults, settings, slices.Insert(actors, 0, (*model).create)...)
}

// onNew is a scenario that begins before the queue has a cursor.
func onNew(name string, faults int, settings func(*cursor.Settings),
	actors ...func(*model)) sim.Scenario {
	s := cursor.DefaultSettings()
	if settings != nil {
		settings(&s)
	}
	set := func(run *sim.Run) *model { return newModel(run, s) }
	return sim.Cast(name, faults, set, actors...)
}

// writers are processes, each with its calls.
func writers(all ...[]put) func(*model) {
	return func(m *model) {
		for i, own := range all {
			m.writer(string(rune('A'+i)), own...)
		}
	}
}

func clock(times int) func(*model) { return func(m *model) { m.clock(times, time.Second) } }

func skipper(times int) func(*model) { return func(m *model) { m.skipper(times) } }

func eraser(queue string) func(*model) { return func(m *model) { m.eraser(queue) } }

func timer(queues ...string) func(*model) { return func(m *model) { m.timer(queues...) } }

func before(onRecord bool, seqs ...int64) func(*model) {
	return func(m *model) { m.before(onRecord, seqs...) }
}

func async(s *cursor.Settings) { s.Mode = cursor.ModeAsync }

// small are the small scenarios. Those called V1 to V13, and those whose comment begins so, are
// ways in which earlier designs went wrong; each has its planted bug in verify/mutant. (The planted
// bug V9 is for a test of pkg/cursor.)
func small() []sim.Scenario {
	return slices.Concat(pieces(), []sim.Scenario{
		// The first message of a queue is stored beyond a gap, and no cursor was made before. The
		// condition of the write that opens the gap is then false for ever, and no sweep finds the queue.
		onNew("V1", 1, nil, writers(puts(2))),
		// A's move to 1 takes effect and its response is lost; meanwhile B has parked 2. The repeat of
		// the move fails. If A takes "the position is where I wanted it" for "somebody else does the
		// rest", nobody looks behind 1.
		scenario("V2", 1, nil, writers(puts(1), puts(2))),
		// B parks 2, A moves to 1 and dies before it looks behind. If the handler, to which the record
		// of 1 comes, stops because the position is at 1 already (V3), or leaves the rest to A because
		// its own move failed (V4), 2 waits for ever.
		scenario("V3, V4", 1, nil, writers(puts(1), puts(2)), (*model).handler),
		// A stores 2 and 4, looks, and parks 4; B has stored 1 and moved to 1 before A's parking, so B
		// saw no gap. If A is done once 4 is parked, 2 waits although it is the next.
		scenario("V5", 0, nil, writers([]put{{seqs: []int64{2, 4}}}, puts(1))),
		// 2 is parked, a while later 4, then 1 comes and the position is 2. If the move does not begin
		// the gap's age anew, 3 is skipped when it has been missing for a tick.
		scenario("V6", 0, skipSettings, func(m *model) {
			m.keep = cursor.MinRetention // time passes between two calls
		}, writers(puts(2, 4, 1)), skipper(1), clock(2)),
		// A dies right after its put, and the stream drops the record. No gap is on record: only a
		// sweep that looks behind every queue's position finds 1.
		scenario("V10", 1, nil, writers(puts(1))),
		// 2 is parked. A stores 1, and looks behind it; then B stores 4, for which the gap on record is
		// enough. A moves to 2, which fills the gap; B stores 3 and moves to it, and knows of no gap. If
		// A stops there, 4 waits for ever.
		scenario("V12", 0, nil, before(true, 2), writers(puts(1), puts(4, 3))),
		// The process that stored 1 and 2 is gone, and the handler moves to 2. If it then looks at 3
		// only, and not beyond, the 4 that B has stored meanwhile is on no record, and B moves over 3.
		scenario("V13", 1, nil, func(m *model) {
			m.before(true, 1, 2)
			m.records = []place{{defaultQueue, 1}}
			m.writer("B", puts(4, 3)...)
			m.handler()
		}),
		onNew("two writers in order", 1, nil, writers(puts(1), puts(2)), (*model).handler),
		onNew("two start a queue, each where it is", 1, nil,
			writers(here(7), here(5, 8)), (*model).handler),
		onNew("one starts a queue, and one is refused", 1, nil, writers(here(0), puts(0))),
		onNew("a refused put makes no queue", 1, nil,
			func(m *model) { m.refused = true },
			writers([]put{{seqs: []int64{0}}}, []put{{seqs: []int64{0}}})),
		scenario("batch without handler", 1, nil, writers([]put{{seqs: []int64{2, 4}}}, puts(1, 3))),
		scenario("one message from two writers", 1, nil, writers(puts(1), puts(1)), (*model).handler),
		scenario("two messages under one seq", 1, nil,
			writers(puts(1), []put{{payload: "other", seqs: []int64{1}}}), (*model).handler),
		scenario("asynchronous", 1, async, writers(puts(1), puts(2)), (*model).handler),
		onNew("left to the sweep", 1, async,
			func(m *model) { m.leaves = true }, writers(puts(1), puts(2)), (*model).handler),
		inPieces("left to the sweep, in pieces", 2, pieceBudget, async,
			func(m *model) { m.leaves = true }, before(true, 2, 3, 4, 5), writers(puts(1)),
			(*model).handler),
		scenario("asynchronous, records in another order", 1, async,
			func(m *model) { m.shards = true }, writers(puts(1, 2), puts(3)), (*model).handler),
		scenario("the timer skips", 1, skipSettings,
			writers(puts(3, 1)), timer(defaultQueue, "nobody", defaultQueue), clock(2)),
		scenario("the timer alone", 0, skipSettings,
			func(m *model) { m.alarms = sim.Alarms{} }, writers(puts(4, 2), puts(6)),
			timer(defaultQueue), clock(2)),
		scenario("the timer and a skip at once", 0, skipSettings,
			writers(puts(3, 2)), skipper(1), timer(defaultQueue), clock(2)),
		scenario("skip", 0, skipSettings, writers(puts(3, 1)), skipper(2), clock(2)),
		scenario("skip behind a second gap", 0, skipSettings,
			before(true, 2, 4), writers(puts(6, 1)), skipper(1), clock(2)),
		scenario("skip of many gaps beside a writer", 0, skipSettings,
			before(true, 2, 4, 6, 8), writers(puts(10, 3)), skipper(1), clock(2)),
		scenario("skip behind a gap that comes meanwhile", 1, skipSettings,
			before(true, 2), writers(puts(4)), skipper(1), func(m *model) { m.clock(1, 2*time.Second) }),
		scenario("skip with a fault", 1, skipSettings,
			writers(puts(3)), skipper(1), func(m *model) { m.clock(1, 2*time.Second) }, (*model).handler),
		// V11: A remembers position 0 while B moves to 2. A queue of two ahead is not full for 3 then:
		// what A remembers is a lower bound, and no reason to refuse.
		scenario("full", 1, func(s *cursor.Settings) { s.MaxAhead = 1 },
			writers(puts(1, 2), puts(1, 3))),
		// V7: 1 is passed, and deleted after its retention. A late repeat of its put must not be
		// accepted: behind the position nobody would deliver it.
		scenario("deleted after it was passed", 0, nil,
			(*model).expiry, writers(puts(2, 1), puts(1, 2))),
		// V8: 2 waits behind a gap longer than the retention. Unless its expiry is pushed forward, it is
		// deleted before it was delivered.
		scenario("kept while it waits", 1, nil, (*model).keeper, writers(puts(3, 2))),
		scenario("a first copy comes late", 1, nil,
			func(m *model) { m.Run.Network() }, writers(puts(2, 1), puts(3))),
		onNew("two queues", 0, nil,
			writers([]put{{queue: "a", seqs: []int64{1}}, {queue: "b", seqs: []int64{2}}},
				[]put{{queue: "b", seqs: []int64{1}}}),
			(*model).handler),
		scenario("erased", 1, nil,
			before(false, 1), writers(puts(2)), eraser(defaultQueue), (*model).handler),
		scenario("erased, and the record is dropped", 1, nil,
			writers(puts(2, 1)), eraser(defaultQueue)),
		scenario("erased, asynchronous", 1, async,
			writers(puts(1, 2)), eraser(defaultQueue), (*model).handler),
		onNew("erased while it is made", 1, nil, writers(puts(1)), eraser(defaultQueue)),
		scenario("delivered", 2, nil, writers(puts(1), puts(2)), (*model).consumer),
		scenario("delivered in pages", 2, nil,
			writers([]put{{seqs: []int64{2, 3}}, {seqs: []int64{1}}}), (*model).consumer),
		onNew("delivered, asynchronous", 2, async,
			writers(puts(2, 1)), (*model).handler, (*model).consumer),
		scenario("delivered with skipped seqs", 2, skipSettings,
			writers(puts(3)), skipper(1), func(m *model) { m.clock(1, 2*time.Second) }, (*model).consumer),
		scenario("deleted before it was delivered", 2, nil,
			(*model).expiry, writers(puts(1, 2)), (*model).consumer),
		// The largest one comes last: planted bugs are found sooner so.
		scenario("two writers, one with a batch around the other's", 1, nil,
			writers([]put{{seqs: []int64{2, 4}}}, puts(1)), (*model).handler),
	})
}

func skipSettings(s *cursor.Settings) {
	s.Policy, s.GapAfter = cursor.PolicySkip, 2*time.Second
}

func large() []sim.Scenario {
	return []sim.Scenario{
		scenario("the timer skips, wake-ups twice, and a fault", 1, skipSettings,
			writers(puts(3, 1)), timer(defaultQueue, "nobody", defaultQueue), clock(2), (*model).handler),
		scenario("two writers in order, 2 faults", 2, nil,
			writers(puts(1), puts(2)), (*model).handler),
		scenario("three writers, reversed, 1 fault", 1, nil,
			writers(puts(3), puts(2), puts(1)), (*model).handler),
		scenario("three writers without handler, 2 faults", 2, nil,
			writers(puts(3), puts(2), puts(1))),
		scenario("batch and writer, 2 faults", 2, nil,
			writers([]put{{seqs: []int64{2, 4}}}, puts(1)), (*model).handler),
		scenario("skip, 2 faults", 2, skipSettings,
			writers(puts(3, 1)), skipper(2), clock(2), (*model).handler),
	}
}

// shuffled draws puts of two queues and all that may go on beside them. In one of five, pages are
// short, and producers' and the handler's invocations are killed after a few requests.
func shuffled(seed uint64) sim.Scenario {
	page, budget := 0, 0
	if seed%5 == 0 {
		page, budget = piecePage, pieceBudget+2
	}
	scenario := sim.Shuffled(seed, func(run *sim.Run, random *rand.Rand) sim.Model {
		s := cursor.DefaultSettings()
		s.First = int64(random.IntN(2))
		s.GapAfter = 2 * time.Second
		s.MaxAhead = 3 + random.Int64N(10)
		switch random.IntN(4) {
		case 0:
			s.Mode = cursor.ModeAsync
		case 1:
			s.Policy = cursor.PolicySkip
		case 2:
			s.Policy = cursor.PolicyAlert
		}
		m := newModel(run, s)
		m.Page = page
		count := 2 + random.IntN(9)
		var calls []put
		for queue := range 1 + random.IntN(2) {
			for _, i := range random.Perm(count) {
				call := put{queue: fmt.Sprint("q", queue), seqs: []int64{s.First + int64(i)}}
				if random.IntN(6) == 0 {
					calls = append(calls, call)
				}
				if random.IntN(10) == 0 {
					call.payload = "other"
				}
				if random.IntN(3) == 0 {
					call.seqs = append(call.seqs, s.First+int64((i+2)%count))
				}
				calls = append(calls, call)
			}
		}
		writers := 1 + random.IntN(4)
		share := make([][]put, writers)
		for _, call := range calls {
			w := random.IntN(writers)
			share[w] = append(share[w], call)
		}
		for i, own := range share {
			m.writer(fmt.Sprintf("writer %d", i), own...)
		}
		if random.IntN(4) > 0 {
			m.handler()
		}
		if random.IntN(2) == 0 {
			m.sweeper(2)
			m.clock(3, time.Second)
		}
		if random.IntN(3) == 0 {
			m.timer("q0", "q1", "q0")
		}
		switch random.IntN(4) {
		case 0, 1:
			m.consumer()
		case 2:
			m.eraser("q0")
		}
		return m
	})
	scenario.Budget = budget
	return scenario
}
