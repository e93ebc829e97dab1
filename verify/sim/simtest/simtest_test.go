package simtest

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/verify/sim"
)

// tally is a number that two actors raise; it is to be 2 in the end.
type tally struct{ value int }

func (*tally) Check() error { return nil }

func (t *tally) Final() error {
	if t.value != 2 {
		return fmt.Errorf("counted %d", t.value)
	}
	return nil
}

func (t *tally) Snapshot(d *sim.Digest) { d.Int(int64(t.value)) }

// counting is a scenario of two actors that count, each in two requests: one of them can be lost.
func counting(seed uint64) sim.Scenario {
	return sim.Scenario{Name: fmt.Sprint("shuffled ", seed), New: func(r *sim.Run) sim.Model {
		count := &tally{}
		for _, actor := range []string{"A", "B"} {
			r.Go(actor, func(p *sim.Proc) {
				seen, _ := sim.Do(p, sim.Labelf("read"), false, func() (int, error) { return count.value, nil })
				_, _ = sim.Do(p, sim.Labelf("write"), true, func() (int, error) {
					count.value = seen + 1
					return 0, nil
				})
			})
		}
		return count
	}}
}

var suite = sim.Suite{
	Name: "log", Small: make([]sim.Scenario, 2), Large: make([]sim.Scenario, 3), Random: counting,
}

// shortest is the trace of the least that goes wrong: four steps, and what each was answered.
var shortest = regexp.MustCompile(`(?s)counted 1\n(\S: (read|write) \n    \S got \[.*?\]\n?){4}$`)

func TestSeedRepeatsTheScheduleAndItsTrace(t *testing.T) {
	first, n := asked{runs: 1000}.seeds(suite, 10)
	check.That(t, n == 1000 && first != 1, "%d from %d on", n, first)
	var failure *sim.Failure
	err := walk(suite, first, n)
	check.Need(t, errors.As(err, &failure) && shortest.MatchString(err.Error()), "%v", err)
	a, err := read(func(name string) string {
		return map[string]string{"SEED": fmt.Sprint(failure.Seed)}[name]
	})
	check.OK(t, err)
	check.Is(t, len(a.scenarios(suite)), 0)
	for range 2 {
		again := walk(suite, failure.Seed, 1)
		first, n := a.seeds(suite, 10)
		check.That(t, first == failure.Seed && n == 1, "%d from %d on", n, first)
		check.That(t, again != nil && again.Error() == failure.Error(), "%v\n%v", again, failure)
	}
}

func TestVariables(t *testing.T) {
	type result struct {
		scenarios int
		problem   string
	}
	for text, want := range map[string]result{
		"":             {2, ""},
		"FULL=1":       {5, ""},
		"RUNS=3":       {2, ""},
		"SUITE=log":    {2, ""},
		"SUITE=dedup":  {0, ""},
		"SEED=7":       {0, ""},
		"SUITE=clocks": {0, "SUITE=clocks must be one of cursor, log"},
		"SEED=x":       {0, "SEED=x must be a whole number"},
		"RUNS=0":       {0, "RUNS=0 must be a whole number"},
	} {
		name, value, _ := strings.Cut(text, "=")
		a, err := read(func(variable string) string { return map[string]string{name: value}[variable] })
		if want.problem != "" {
			check.That(t, err != nil && strings.Contains(err.Error(), want.problem), "%s: %v", text, err)
			continue
		}
		check.OK(t, err)
		check.Is(t, len(a.scenarios(suite)), want.scenarios, text)
		_, n := a.seeds(suite, 20)
		check.Is(t, n == 0, value == "dedup", text, n)
	}
}
