package sim_test

import (
	"errors"
	"fmt"
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

// atomic has two actors that add one in one request.
func atomic(faults int, strict bool) sim.Scenario {
	return sim.Scenario{Name: "atomic", Faults: faults, New: func(r *sim.Run) sim.Model {
		c := &counter{strict: strict}
		for i := range 2 {
			r.Go(fmt.Sprint("actor ", i), func(p *sim.Proc) {
				if _, err := sim.Do(p, sim.Labelf("add"), true, func() (int, error) { c.value++; return c.value, nil }); err == nil {
					c.done++
				}
			})
		}
		return c
	}}
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
	if !strings.Contains(failure.Error(), "lost") && !strings.Contains(failure.Error(), "after its effect") {
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
			if _, err := sim.Do(p, sim.Labelf("write"), true, func() (int, error) { return 0, nil }); errors.Is(err, sim.ErrDead) && p.Dead() {
				deaths++
			}
		})
		return nothing{}
	}}
	_, failure := scenario.Explore(nil)
	check.Need(t, failure == nil, "%v", failure)
	check.That(t, starts[3] && !starts[4] && deaths != 0, "starts %v, deaths %d", starts, deaths)
}
