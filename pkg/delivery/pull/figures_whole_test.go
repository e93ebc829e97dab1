//go:build whole

package pull_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dev/meter"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// TestPullFigures pins what the two phases cost.
func TestPullFigures(t *testing.T) {
	type figure struct {
		writes, reads         int
		writeUnits, readUnits float64
	}
	m := meter.New(dynamo.Transport())
	store, queues := freshTables(t, localdb.Choose(), dynamo.Options{Transport: m})
	env, _ := pullEnv(t, store, queues)
	ctx := t.Context()
	must := func(want delivery.Outcome) func(delivery.Answer, error) delivery.Answer {
		return func(a delivery.Answer, err error) delivery.Answer {
			t.Helper()
			check.Need(t, err == nil && a.Outcome == want, "%+v, %v; want %s", a, err, want)
			return a
		}
	}
	claim := func(id string, want delivery.Outcome) delivery.Answer {
		t.Helper()
		return must(want)(env.Claims.Claim(ctx, delivery.Request{Queue: "q", Consumer: "c", ID: id}))
	}
	cost := func(name string, want figure, do func()) {
		t.Helper()
		before := m.Counts()
		do()
		counts := m.Counts().Sub(before)
		total := counts.Total()
		writes := counts["PutItem"].Requests + counts["UpdateItem"].Requests
		got := figure{writes, total.Requests - writes, total.Writes, total.Reads}
		t.Logf("%-40s %d writes, %d reads, %.0f write units, %.1f read units", name, got.writes, got.reads, got.writeUnits, got.readUnits)
		check.That(t, got.writes == want.writes && got.writeUnits == want.writeUnits && got.reads <= want.reads && got.readUnits <= want.readUnits,
			"%s: %+v, want %+v (reads at most): %v", name, got, want, counts)
	}
	batch := func(id string) {
		a := claim(id, delivery.OK)
		must(delivery.OK)(env.Claims.Prepare(ctx, a.Held()))
		must(delivery.OK)(env.Claims.Commit(ctx, a.Held()))
	}
	env.Put(10)
	// The range is 10 small messages: 1 read of 1 unit.
	cost("claim, prepare, commit of 10", figure{3, 3, 3, 3}, func() { batch("r1") })
	env.Put(100)
	cost("claim, prepare, commit of 100", figure{3, 4, 3, 7}, func() { batch("r2") })
	env.Put(20)
	a := must(delivery.OK)(env.Claims.Claim(ctx, delivery.Request{Queue: "q", Consumer: "c", ID: "r10", MaxMessages: 10}))
	must(delivery.OK)(env.Claims.Prepare(ctx, a.Held()))
	cost("commit, and claim the next 10", figure{1, 3, 1, 2.5}, func() {
		done, next, err := env.Claims.CommitAndClaim(ctx, a.Held(), delivery.Request{Queue: "q", Consumer: "c", ID: "r11"})
		must(delivery.OK)(done, err)
		a = must(delivery.OK)(next, err)
	})
	must(delivery.OK)(env.Claims.Prepare(ctx, a.Held()))
	cost("commit, and nothing waits", figure{1, 2, 1, 1.5}, func() {
		done, next, err := env.Claims.CommitAndClaim(ctx, a.Held(), delivery.Request{Queue: "q", Consumer: "c", ID: "r12"})
		must(delivery.OK)(done, err)
		must("")(next, err)
	})
	cost("nothing ready", figure{0, 2, 0, 2}, func() { claim("r3", delivery.Empty) })
	env.Put(1)
	cost("list", figure{0, 3, 0, 3}, func() { must(delivery.OK)(env.Claims.List(ctx, delivery.Request{Queue: "q", Consumer: "c"})) })
	// The queue was not seen in the last seconds: half a unit to look at it.
	replies := slices.Repeat([]delivery.Reply{{Queue: "x", Body: fmt.Appendf(nil, "%100d", 1)}}, 3)
	answered := func(id string, n int) func() {
		a := claim(id, delivery.OK)
		must(delivery.OK)(env.Claims.Prepare(ctx, a.Held()))
		return func() { must(delivery.OK)(env.Claims.Commit(ctx, a.Held(), replies[:n]...)) }
	}
	cost("commit with 3 replies to a new queue", figure{4, 2, 4, 1.5}, answered("r4", 3))
	env.Put(1)
	cost("commit with 3 replies to one queue", figure{3, 1, 3, 1}, answered("r5", 3))
	env.Put(1)
	cost("commit without replies", figure{1, 0, 1, 0}, answered("r6", 0))
	env.Put(1)
	for _, outcome := range []delivery.TokenOutcome{delivery.Committed, delivery.Aborted} {
		a := claim("r-"+string(outcome), delivery.OK)
		must(delivery.OK)(env.Claims.Prepare(ctx, a.Held()))
		env.Pass(2 * time.Minute)
		cost("busy or in doubt", figure{0, 1, 0, 1}, func() { claim("other", delivery.InDoubt) })
		cost("settle as "+string(outcome), figure{1, 1, 1, 1}, func() {
			must(delivery.OK)(env.Claims.Settle(ctx, a.Held(), outcome, "silent"))
		})
		env.Put(1)
	}
}
