package sim_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/verify/sim"
)

// counter is a store of one number that actors raise.
type counter struct {
	value, done int
	strict      bool
}

func (c *counter) Check() error { return nil }
func (c *counter) Final() error {
	if c.strict && c.value != c.done || c.value < c.done {
		return fmt.Errorf("counted %d, done %d", c.value, c.done)
	}
	return nil
}

func (c *counter) Snapshot(d *sim.Digest) {
	d.Int(int64(c.value))
	d.Int(int64(c.done))
}

// look and write are requests of an actor.
func look(p *sim.Proc, value *int) (int, error) {
	return sim.Do(p, sim.Labelf("read"), false, func() (int, error) { return *value, nil })
}

func write(p *sim.Proc, does func()) error {
	_, err := sim.Do(p, sim.Labelf("write"), true, func() (bool, error) { does(); return true, nil })
	return err
}

// both has two actors that do the same with a counter.
func both(name string, faults int, strict bool, body func(*sim.Proc, *counter) error) sim.Scenario {
	return sim.Scenario{Name: name, Faults: faults, New: func(r *sim.Run) sim.Model {
		c := &counter{strict: strict}
		for i := range 2 {
			r.Go(fmt.Sprint("actor ", i), func(p *sim.Proc) {
				if body(p, c) == nil {
					c.done++
				}
			})
		}
		return c
	}}
}

// racy has two actors that read, add one and write: an update can get lost.
func racy(faults int) sim.Scenario {
	return both("racy", faults, false, func(p *sim.Proc, c *counter) error {
		value, err := look(p, &c.value)
		if err != nil {
			return err
		}
		return write(p, func() { c.value = value + 1 })
	})
}

// atomic has two actors that add one in one request.
func atomic(faults int, strict bool) sim.Scenario {
	return both("atomic", faults, strict, func(p *sim.Proc, c *counter) error {
		return write(p, func() { c.value++ })
	})
}

func TestExploreFindsALostUpdate(t *testing.T) {
	_, failure := racy(0).Explore(nil)
	check.Need(t, failure != nil, "no failure found")
	steps := 0
	for _, line := range failure.Trace {
		if !strings.HasPrefix(line, " ") {
			steps++
		}
	}
	check.Is(t, steps, 4, failure)
}

func TestRandomFindsALostUpdateAndRepeatsIt(t *testing.T) {
	for seed := uint64(1); seed < 100; seed++ {
		failure := racy(0).Random(seed)
		if failure == nil {
			continue
		}
		again := racy(0).Random(seed)
		check.Need(t, again != nil && again.Error() == failure.Error(), "%v %v", failure, again)
		check.That(t, strings.Contains(failure.Error(), fmt.Sprintf("SEED=%d", seed)), "%v", failure)
		return
	}
	t.Fatal("no failure found")
}

func TestFaults(t *testing.T) {
	if states, failure := atomic(0, true).Explore(nil); failure != nil || states < 3 {
		t.Errorf("without faults: %d states, %v", states, failure)
	}
	if _, failure := atomic(1, false).Explore(nil); failure != nil {
		t.Errorf("an addition that was answered is there: %v", failure)
	}
	_, failure := atomic(1, true).Explore(nil)
	check.Need(t, failure != nil, "a lost response counts twice: that was not found")
	if !strings.Contains(failure.Error(), "lost") &&
		!strings.Contains(failure.Error(), "after its effect") {
		t.Errorf("the trace shows no fault: %v", failure)
	}
}

type nothing struct{}

func (nothing) Check() error         { return nil }
func (nothing) Final() error         { return nil }
func (nothing) Snapshot(*sim.Digest) {}

func TestDaemonIsFollowedByAnother(t *testing.T) {
	starts, deaths := map[int]bool{}, 0
	scenario := sim.Scenario{Name: "daemon", Faults: 2, New: func(r *sim.Run) sim.Model {
		started := 0
		r.Daemon("daemon", func(p *sim.Proc) {
			started++
			starts[started] = true
			if err := write(p, func() {}); errors.Is(err, sim.ErrDead) && p.Dead() {
				deaths++
			}
		})
		return nothing{}
	}}
	_, failure := scenario.Explore(nil)
	check.Need(t, failure == nil, "%v", failure)
	check.That(t, starts[3] && !starts[4] && deaths != 0, "starts %v, deaths %d", starts, deaths)
}

func TestChooseWaits(t *testing.T) {
	scenario := sim.Scenario{Name: "choose", Faults: 1, New: func(r *sim.Run) sim.Model {
		open := false
		r.Go("waiter", func(p *sim.Proc) {
			if p.Choose(sim.Labelf("pass"), func() bool { return open }, "", "dropped") == 0 && !open {
				r.Violation("passed a closed door")
			}
		})
		r.Go("opener", func(p *sim.Proc) {
			_ = write(p, func() { open = true })
		})
		return nothing{}
	}}
	_, failure := scenario.Explore(nil)
	check.Need(t, failure == nil, "%v", failure)
}

func TestEndlessRunIsAFailure(t *testing.T) {
	scenario := sim.Scenario{Name: "endless", New: func(r *sim.Run) sim.Model {
		r.Go("actor", func(p *sim.Proc) {
			for !p.Dead() {
				_, _ = look(p, new(int))
			}
		})
		return nothing{}
	}}
	check.That(t, scenario.Random(1) != nil, "no failure")
}

// An actor that goes by what it does not say it knows makes two states look like one.
func TestStatesThatAreUnlike(t *testing.T) {
	secret := func(says bool) sim.Scenario {
		return sim.Scenario{Name: "secret", New: func(r *sim.Run) sim.Model {
			c := &counter{}
			r.Go("reader", func(p *sim.Proc) {
				p.Choose(sim.Labelf("look"), nil, "")
				seen := c.value
				if says {
					p.Knows().Int(int64(seen))
				}
				p.Choose(sim.Labelf("wait"), nil, "")
				_ = write(p, func() { c.done = seen })
			})
			for _, name := range []string{"writer", "another", "a third"} {
				r.Go(name, func(p *sim.Proc) {
					for range 2 {
						_ = write(p, func() { c.value++ })
					}
				})
			}
			return c
		}}
	}
	_, failure := secret(true).Explore(nil)
	check.That(t, failure == nil, "%v", failure)
	_, failure = secret(false).Explore(nil)
	check.That(t, failure != nil && slices.Contains(failure.Trace, "-- and"),
		"%v, want two schedules", failure)
}

// TestNobody: what is asked before a run and after it is just done.
func TestNobody(t *testing.T) {
	var nobody *sim.Proc
	answer, err := sim.Do(nobody, sim.Labelf("write"), true, func() (int, error) { return 7, nil })
	check.That(t, answer == 7 && err == nil, "a write: %d, %v", answer, err)
	stale := func() []func() (int, error) {
		return []func() (int, error){func() (int, error) { return 6, nil }}
	}
	answer, err = sim.Read(nobody, sim.Labelf("read"), func() (int, error) { return 7, nil }, stale)
	check.That(t, answer == 7 && err == nil, "a read: %d, %v", answer, err)
	check.Is(t, nobody.Choose(sim.Labelf("go on"), nil, "", "fails"), 0)
	nobody.Knows().Int(1)
	check.That(t, *nobody.Knows() == (sim.Digest{}) && !nobody.Dead() && nobody.Name() != "",
		"it knows %v, is dead %v, is called %q", *nobody.Knows(), nobody.Dead(), nobody.Name())
}
