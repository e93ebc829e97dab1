package main

import (
	"bytes"
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

// counting is a scenario of two actors that count, in one request each or, if broken, in two: then
// one of them can be lost.
func counting(name string, broken bool) sim.Scenario {
	return sim.Scenario{Name: name, New: func(r *sim.Run) sim.Model {
		count := &tally{}
		for _, actor := range []string{"A", "B"} {
			r.Go(actor, func(p *sim.Proc) {
				seen := 0
				if broken {
					seen, _ = sim.Do(p, sim.Labelf("read"), false, func() (int, error) { return count.value, nil })
				}
				_, _ = sim.Do(p, sim.Labelf("write"), true, func() (int, error) {
					if !broken {
						seen = count.value
					}
					count.value = seen + 1
					return 0, nil
				})
			})
		}
		return count
	}}
}

// counters is a suite of which some part may be broken.
func counters(small, large, random bool) []sim.Suite {
	return []sim.Suite{{
		Name:   "counters",
		Small:  []sim.Scenario{counting("small", small)},
		Large:  []sim.Scenario{counting("large", large)},
		Random: func(seed uint64) sim.Scenario { return counting(fmt.Sprint("shuffled ", seed), random) },
	}}
}

// shortest is the trace of the least that goes wrong: four steps, and what each was answered.
var shortest = regexp.MustCompile(`(?s)counted 1\n(\S: (read|write) \n    \S got \[.*?\]\n){4}$`)

// variables is an environment, given as a command line gives it.
func variables(text string) func(string) string {
	return func(name string) string {
		for _, one := range strings.Fields(text) {
			if value, found := strings.CutPrefix(one, name+"="); found {
				return value
			}
		}
		return ""
	}
}

func TestExitCodeAndWords(t *testing.T) {
	sound := counters(false, false, false)
	for name, c := range map[string]struct {
		suites []sim.Suite
		env    string
		code   int
		// said and problem are in what is printed, on standard output and on standard error; unsaid
		// is not.
		said, unsaid, problem string
	}{
		"all is well":         {sound, "RUNS=10", 0, "10 random schedules from seed", "large", ""},
		"another suite":       {sound, "SUITE=clocks", 2, "", "random", "SUITE=clocks must be one of counters"},
		"one suite":           {sound, "SUITE=counters RUNS=10", 0, "10 random schedules from seed", "large", ""},
		"small is broken":     {counters(true, false, false), "", 1, "", "random", "small: counted 1"},
		"large is not walked": {counters(false, true, false), "RUNS=1", 0, "schedule of 1 scenarios", "large", ""},
		"large is broken":     {counters(false, true, false), "FULL=1", 1, "small: ", "random", "large: counted 1"},
		"random is broken":    {counters(false, false, true), "RUNS=1000", 1, "small: ", "ends well", "(SEED="},
		"one seed":            {counters(true, true, false), "SEED=7", 0, "counters: seed 7 ends well\n", "small", ""},
		"no number":           {sound, "SEED=x", 2, "", "small", "SEED=x must be a whole number"},
		"no run":              {sound, "RUNS=0", 2, "", "small", "RUNS=0 must be a whole number"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, problems bytes.Buffer
			code := command(c.suites, variables(c.env), &out, &problems)
			if code != c.code || !strings.Contains(out.String(), c.said) || !strings.Contains(problems.String(), c.problem) {
				t.Errorf("exit code %d, want %d with %q and %q; said:\n%s%s", code, c.code, c.said, c.problem, &out, &problems)
			}
			check.That(t, c.unsaid == "" || !strings.Contains(out.String(), c.unsaid),
				"said %q:\n%s", c.unsaid, &out)
			check.That(t, code != 1 || shortest.MatchString(problems.String()), "%s", &problems)
		})
	}
}

func TestSeedRepeatsTheScheduleAndItsTrace(t *testing.T) {
	broken := counters(false, false, true)
	var out, first bytes.Buffer
	if code := command(broken, variables("RUNS=1000"), &out, &first); code != 1 {
		t.Fatalf("exit code %d, want 1", code)
	}
	seed := regexp.MustCompile(`SEED=(\d+)`).FindStringSubmatch(first.String())
	check.Need(t, seed != nil, "no seed in:\n%s", &first)
	for range 2 {
		var again bytes.Buffer
		code := command(broken, variables("SEED="+seed[1]), &out, &again)
		check.Need(t, code == 1, "exit code %d, want 1", code)
		check.Is(t, again.String(), first.String(), &first, &again)
	}
}

// TestEverySuiteCanBeRepeated: what the command runs is there, and a seed of it ends well.
func TestEverySuiteCanBeRepeated(t *testing.T) {
	var out, problems bytes.Buffer
	code := command(suites(), variables("SEED=1"), &out, &problems)
	check.Need(t, code == 0, "exit code %d: %s", code, &problems)
	for _, suite := range suites() {
		if len(suite.Small) == 0 || !strings.Contains(out.String(), suite.Name+": seed 1 ends well") {
			t.Errorf("suite %s: %d small scenarios; said %s", suite.Name, len(suite.Small), &out)
		}
	}
}
