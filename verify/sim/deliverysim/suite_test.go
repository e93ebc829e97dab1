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
	"github.com/streamsort/streamsort/verify/sim/simtest"
	"github.com/streamsort/streamsort/verify/sim/world"
)

func TestEverySmallSchedule(t *testing.T) { simtest.Small(t, Suite()) }

func TestRandomSchedules(t *testing.T) { simtest.Random(t, Suite(), 10_000) }

// T5: see the scenarios.
func TestTraceT5NoLeaseIsShorterThanClocksAreApart(t *testing.T) {
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

// TestLimitT8AZombieReachesASinkThatDoesNotFence shows the limit that the documentation states: a
// sink that takes any token may get an old batch once more after newer ones.
func TestLimitT8AZombieReachesASinkThatDoesNotFence(t *testing.T) {
	_, failure := scenario("T8", 0, 1,
		func(m *model) { m.careless = true }, producer(2), process("P", "Q"), clock(1),
		(*model).hinted).Explore(nil)
	check.That(t, failure != nil && strings.Contains(failure.Error(), ", after one under token "),
		"%v; want a batch under an older token after one under a newer", failure)
}
