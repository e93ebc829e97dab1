package dedupsim

import (
	"math/rand/v2"
	"time"

	"github.com/streamsort/streamsort/verify/sim"
)

// Suite is what there is to run.
func Suite() sim.Suite {
	return sim.Suite{Name: "dedup", Small: small(), Large: large(), Random: shuffled}
}

func scenario(name string, faults int, s settings, actors ...func(*model)) sim.Scenario {
	if s.ttl == 0 {
		s.ttl = 24 * time.Hour
	}
	set := func(run *sim.Run) *model { return newModel(run, s) }
	return sim.Cast(name, faults, set, actors...)
}

// apart are how far the callers' clocks are off.
func apart(clocks ...time.Duration) func(*model) {
	return func(m *model) {
		for i, ahead := range clocks {
			m.Clocks[string(rune('A'+i))] = ahead
		}
	}
}

// callers are processes, each with its calls.
func callers(all ...[]call) func(*model) {
	return func(m *model) {
		for i, own := range all {
			m.caller(string(rune('A'+i)), own...)
		}
	}
}

func passes(steps ...time.Duration) func(*model) { return func(m *model) { m.passes(steps...) } }

func network(copies int) func(*model) { return func(m *model) { m.network(copies) } }

// over is a time after which a lease is over by every clock within the margin.
const over = lease + margin

func small() []sim.Scenario {
	return []sim.Scenario{
		// An operator releases a row by force, and its holder still runs. If its fence and token stay
		// good, it completes the row all the same, and a call with another payload, for which the release
		// made room, is answered with the result of the first.
		scenario("released while it runs", 0, settings{},
			callers([]call{{once, "one"}, {once, "two"}}, calls(force))),
		scenario("two callers", 2, settings{}, callers(calls(once), calls(once))),
		scenario("two callers and time", 1, settings{},
			callers(calls(once), calls(once)), passes(over)),
		scenario("an effect that fails", 1, settings{}, callers(calls(refused, once), calls(once))),
		scenario("an error that is remembered", 1, settings{},
			callers(calls(remembered), calls(once)), passes(over)),
		scenario("payloads", 1, settings{},
			callers([]call{{once, "one"}}, []call{{once, "two"}}), passes(over)),
		scenario("a payload that failed", 1, settings{},
			callers([]call{{refused, "one"}}, []call{{once, "two"}}), passes(over)),
		scenario("a late copy", 1, settings{late: true},
			callers(calls(refused), calls(once)), network(1)),
		scenario("a late copy after a takeover", 1, settings{late: true},
			callers(calls(once), calls(refused)), passes(over), network(1)),
		scenario("extended", 1, settings{}, callers(calls(manual), calls(once)), passes(over)),
		scenario("clocks apart within the margin", 0, settings{}, apart(-margin/2, margin/2),
			callers(calls(once), calls(once)), passes(lease-time.Second, time.Second, margin)),
		scenario("clocks far apart", 1, settings{farApart: true}, apart(-10*time.Minute, 10*time.Minute),
			callers(calls(once), calls(once)), passes(over)),
		scenario("expires", 0, settings{ttl: ttl},
			callers(calls(once, once), calls(once)), passes(ttl, ttl)),
		scenario("expires before its lease would", 0, settings{ttl: time.Second},
			callers(calls(once), calls(once)), passes(2*time.Second, over)),
		scenario("expires before its lease would, clocks apart", 0, settings{ttl: time.Second},
			apart(-margin/2, margin/2), callers(calls(once), calls(once)),
			passes(lease-time.Second, time.Second, margin)),
		scenario("deleted by TTL, clocks far apart", 1, settings{farApart: true, ttl: time.Second},
			apart(10*time.Minute, -10*time.Minute), callers(calls(once), calls(once)),
			func(m *model) { m.expiry(10*time.Minute+2*time.Second, 2*time.Hour) }),
		scenario("invalidated", 1, settings{}, callers(calls(once, invalidate), calls(once))),
		scenario("invalidated by two", 0, settings{},
			callers(calls(once, invalidate), calls(invalidate, once))),
		scenario("released by force", 1, settings{}, callers(calls(once), calls(force, once))),
		scenario("invalidated, and a stale look", 1, settings{},
			callers(calls(once, invalidate, once), calls(once))),
		scenario("quarantined", 1, settings{maxAttempts: 2},
			callers(calls(refused, once), calls(refused)), passes(over)),
		scenario("released", 1, settings{maxAttempts: 1},
			callers(calls(refused, once), calls(release))),
		scenario("a result of its own", 1, settings{large: true},
			callers(calls(once), calls(once)), passes(over)),
		scenario("looks first", 1, settings{looks: true},
			callers(calls(once), calls(once)), passes(over)),
		scenario("looks first, and invalidated", 1, settings{looks: true},
			callers(calls(once, invalidate, once), calls(once))),
		scenario("looks first, expires", 0, settings{looks: true, ttl: ttl},
			callers(calls(once, once), calls(once)), passes(ttl, ttl)),
		scenario("a cache", 1, settings{cache: 2, ttl: ttl},
			callers(calls(once, once), calls(once)), passes(ttl)),
		// The largest one comes last: planted bugs are found sooner so.
		scenario("three callers and time", 0, settings{alike: true},
			callers(calls(once), calls(once), calls(once)), passes(over)),
	}
}

func large() []sim.Scenario {
	return []sim.Scenario{
		scenario("three callers, 2 faults", 2, settings{fewer: 1, alike: true},
			callers(calls(once), calls(once), calls(once))),
		scenario("three callers and time, 1 fault", 1, settings{fewer: 1, alike: true},
			callers(calls(once), calls(once), calls(once)), passes(over)),
		scenario("three callers and time, 2 faults", 2, settings{fewer: 1, alike: true},
			callers(calls(once), calls(once), calls(once)), passes(over)),
		scenario("two callers and time, 2 faults", 2, settings{},
			callers(calls(once), calls(once)), passes(over)),
		scenario("extended, 2 faults", 2, settings{},
			callers(calls(manual), calls(once)), passes(over, over)),
		scenario("three callers, one fails, 2 faults", 2, settings{fewer: 1, alike: true},
			callers(calls(refused), calls(once), calls(once))),
		scenario("two late copies", 2, settings{late: true},
			callers(calls(once), calls(refused)), passes(over), network(2)),
	}
}

// shuffled draws two to four processes, each with up to four calls of any kind.
func shuffled(seed uint64) sim.Scenario {
	return sim.Shuffled(seed, func(run *sim.Run, random *rand.Rand) sim.Model {
		m := newModel(run, settings{
			maxAttempts: []int{0, 0, 2, 3}[random.IntN(4)], looks: random.IntN(2) == 0,
			cache: random.IntN(3) / 2, farApart: random.IntN(3) == 0,
			late: random.IntN(3) == 0, large: random.IntN(4) == 0,
			ttl: []time.Duration{time.Second, ttl, 24 * time.Hour}[random.IntN(3)],
		})
		actions := []action{once, once, once, refused, remembered, manual, invalidate, release}
		for n := range 2 + random.IntN(3) {
			skew := time.Duration(random.Int64N(int64(margin)+1)) - margin/2
			if m.farApart {
				skew = time.Duration(random.Int64N(int64(20*time.Minute))) - 10*time.Minute
			}
			name := string(rune('A' + n))
			m.Clocks[name] = skew.Truncate(time.Millisecond)
			var all []call
			for range 1 + random.IntN(4) {
				c := call{do: actions[random.IntN(len(actions))]}
				if random.IntN(3) == 0 && c.do != manual {
					c.payload = []string{"one", "two"}[random.IntN(2)]
				}
				all = append(all, c)
			}
			m.caller(name, all...)
		}
		steps := []time.Duration{time.Second, lease - time.Second, lease, margin, over, ttl}
		var passes []time.Duration
		for range random.IntN(5) {
			passes = append(passes, steps[random.IntN(len(steps))])
		}
		m.passes(passes...)
		if random.IntN(3) == 0 {
			m.expiry(time.Minute, 2*time.Hour)
		}
		if m.late {
			m.network(2)
		}
		return m
	})
}
