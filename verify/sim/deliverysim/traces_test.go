package deliverysim

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/simtest"
	"github.com/streamsort/streamsort/verify/sim/world"
)

// The traces T4 to T12 are ways in which a design of delivery goes wrong, or what its limits are.
// Each is a scenario just large enough for it, of which every schedule is walked. (T1 to T3 are of
// the delivery in two phases.)

// T4: P has a claim in flight on 1 when 2 arrives; the record of 2 finds it, notes that 2 is there,
// and is dropped. P must go on when it has committed 1.
func TestTraceT4GoOnAfterTheCommit(t *testing.T) {
	simtest.EverySchedule(t, scenario("T4", 0, 0, producer(1, 2), process("P", "Q")))
}

// T5: Q's clock is ahead by more than a lease, so to Q each claim of P's is over when it is made.
// Nothing is lost or out of order for that, only done twice; a claim must just be longer than the
// clocks are apart for P's work to count.
func TestTraceT5ClocksFartherApartThanALease(t *testing.T) {
	simtest.EverySchedule(t, scenario("T5", 0, 1,
		producer(2), process("P"), apart("Q", 3*lease), (*model).hinted))
	// Apart by less: no claim is taken over but after its own clock's lease.
	simtest.EverySchedule(t, scenario("T5, less", 0, 1,
		func(m *model) { m.bound.MaxAttempts, m.never = 100, delivery.Cancelled },
		producer(2), process("P"), apart("Q", lease-time.Second), (*model).hinted))
	_, err := delivery.New(delivery.NewMemory(), nil, &delivery.Options{Lease: lease - 1})
	check.That(t, err != nil, "a lease shorter than 30 seconds is taken")
}

// T6: a message kills each process that gets it. No failure is ever written, so that the attempts
// must be counted by the claims: else it is tried for ever.
func TestTraceT6AMessageThatKills(t *testing.T) {
	now := world.Start
	clock := func() time.Time { return now }
	queues := cursor.NewMemory()
	sorter := check.Get(cursor.New(queues, &cursor.Options{Now: clock}))
	store := delivery.NewMemory()
	d := check.Get(delivery.New(store, sorter, &delivery.Options{Lease: lease, Now: clock}))
	check.OK(t, sorter.Put(t.Context(), cursor.Message{Queue: "q", Seq: 1})[0].Err)
	killed := 0
	killer := delivery.Reader{Name: "c", MaxAttempts: 3,
		Handle: func(context.Context, delivery.Batch) error {
			killed++
			runtime.Goexit()
			return nil
		}}
	for range 10 {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			d.Deliver(t.Context(), "q", killer, -1)
		}()
		<-ended
		now = now.Add(overLease)
	}
	c, err := store.Requests(request.Inside{}).Consumer(t.Context(), "q", "c")
	check.That(t, err == nil && c.State == delivery.Blocked && killed == 3,
		"killed %d times, and it is %s (%v); want 3 times, and BLOCKED", killed, c.State, err)
}

// T7: 1 and 2 go out together, and no sink takes 2. From the second attempt on they go out alone:
// then the one that blocks is the one behind Delivered, and 1 is not given up with it.
func TestTraceT7TheBadOneStandsAlone(t *testing.T) {
	simtest.EverySchedule(t, scenario("T7", 0, 2, func(m *model) {
		m.poison = 2
	}, process("P"), clock(2), (*model).hinted))
}

// zombies is a scenario in which P may sleep over its lease and wake up after Q went on.
func zombies(careless bool) sim.Scenario {
	return scenario("T8", 0, 1,
		func(m *model) { m.careless = careless }, producer(2), process("P", "Q"), clock(1),
		(*model).hinted)
}

// T8: P sleeps between its claim and its handing over until its lease is over; Q takes over, hands
// 1 and 2 on, and commits; P wakes up and hands 1 on. A sink that remembers the highest token, and
// refuses lower ones, gets each queue in order.
func TestTraceT8ASinkThatFencesIsSafeFromAZombie(t *testing.T) {
	simtest.EverySchedule(t, zombies(false))
}

// T9: d begins at the first message, and sleeps; meanwhile the sweep finds that all the others are
// past it, raises the floor, and deletes. It must not delete what one that is beginning may still
// start at, and who begins must look at the floor and at what is stored when it says where it
// starts.
func TestTraceT9BeginsWhileThePastIsDeleted(t *testing.T) {
	simtest.EverySchedule(t, scenario("T9", 0, 1,
		func(m *model) { m.slow = true }, (*model).caughtUp, sweeper(2, true),
		slowClock(2, cursor.DeleteAfter), creator(delivery.First)))
}

// T10: d begins at a message that is about to expire. It must be kept before d says that it starts
// there.
func TestTraceT10BeginsWhileMessagesExpire(t *testing.T) {
	simtest.EverySchedule(t, onNew("T10", 0, 0, expiring(1), keeper(5), creator(delivery.First)))
}

// T11: d begins, and sleeps for hours, in which the sweep sees a queue whose cursor has not moved,
// and looks no more. Then d is there, and what it is to have waits: the process that ends a start
// wakes somebody up.
func TestTraceT11BeginsSlowly(t *testing.T) {
	simtest.EverySchedule(t, onNew("T11", 0, 1, func(m *model) {
		m.certain = false // nobody reads for it
		m.sweeper(1, false)
		m.slowClock(2, time.Hour)
		m.creator(delivery.First)
	}))
}

// T12: nothing has happened in a queue for long when its consumer is rewound, and the operator dies
// behind it: only the sweep of moved queues would look, and to it this one is quiet, unless the
// rewind wakes it up first.
func TestTraceT12RewoundAfterAQuietTime(t *testing.T) {
	simtest.EverySchedule(t, scenario("T12", 1, 1,
		(*model).caughtUp, (*model).quiet,
		operator("O", operation{kind: "rewind", start: delivery.At(1)})))
}

// TestLimitT8AZombieReachesASinkThatDoesNotFence shows the limit that the documentation states: a
// sink that takes any token may get an old batch once more after newer ones.
func TestLimitT8AZombieReachesASinkThatDoesNotFence(t *testing.T) {
	_, failure := zombies(true).Explore(nil)
	check.That(t, failure != nil && strings.Contains(failure.Error(), ", after one under token "),
		"%v; want a batch under an older token after one under a newer", failure)
}

// TestTraceEndOfAnEarlierConsumersChain: the record of a chain's end is handed out twice. In
// between its consumer is removed and recreated, and claims under the same number: the second time
// it must end nothing. A chain has the whole token for its tag, and the code that ends a claim asks
// for the whole token.
func TestTraceEndOfAnEarlierConsumersChain(t *testing.T) {
	simtest.EverySchedule(t, deferring("recreated", 1, 1, 1, (*model).remaker))
}
