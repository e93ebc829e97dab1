// Package simtest has the tests that every suite of the simulator has: [Small] and [Random].
package simtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/streamsort/streamsort/internal/dev/whole"
	"github.com/streamsort/streamsort/verify/sim"
)

// fewStates is how many states of a scenario are walked without the tag whole.
const fewStates = 500

// Small walks each small scenario in a test of its own, one per processor at a time: its first
// states, with the tag whole all of them. One in which nothing happens fails too. With FULL=1, it
// walks the large ones too.
func Small(t *testing.T, suite sim.Suite) {
	for _, s := range ask(t).scenarios(suite) {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			states, failure := s.Explore(func(states int) bool { return whole.Tests || states < fewStates })
			if failure != nil {
				t.Fatal(failure)
			}
			if states < 2 {
				t.Errorf("%d states: nothing happens here", states)
			}
			t.Logf("%d states", states)
		})
	}
}

// Random walks random schedules: of a tenth of the seeds from 1 on, with the tag whole of all of
// them; of RUNS seeds that no earlier run is likely to have had; or of SEED alone.
func Random(t *testing.T, suite sim.Suite, runs uint64) {
	t.Helper()
	t.Parallel()
	first, n := ask(t).seeds(suite, runs)
	if err := walk(suite, first, n); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d random schedules from seed %d on", n, first)
}

// walk walks the schedules of n seeds, on all processors.
func walk(suite sim.Suite, first, n uint64) error {
	all, ctx := errgroup.WithContext(context.Background())
	all.SetLimit(runtime.GOMAXPROCS(0))
	for seed := first; seed < first+n && ctx.Err() == nil; seed++ {
		all.Go(func() error {
			if failure := suite.Random(seed).Random(seed); failure != nil {
				return failure
			}
			return nil
		})
	}
	return all.Wait()
}

// suites are the names of all suites.
var suites = strings.Fields("cursor log delivery twophase replies dedup xorack source")

// asked is what the environment asks for: FULL=1, SUITE=name, SEED=n and RUNS=n.
type asked struct {
	full       bool
	suite      string
	seed, runs uint64 // 0 where they are not set
}

func ask(t *testing.T) asked {
	t.Helper()
	a, err := read(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func read(getenv func(string) string) (asked, error) {
	a := asked{full: getenv("FULL") != "", suite: getenv("SUITE")}
	if a.suite != "" && !slices.Contains(suites, a.suite) {
		return a, fmt.Errorf("SUITE=%s must be one of %s", a.suite, strings.Join(suites, ", "))
	}
	for name, to := range map[string]*uint64{"SEED": &a.seed, "RUNS": &a.runs} {
		text := getenv(name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || n == 0 {
			return a, fmt.Errorf("%s=%s must be a whole number of at least 1", name, text)
		}
		*to = n
	}
	return a, nil
}

func (a asked) leavesOut(suite sim.Suite) bool { return a.suite != "" && a.suite != suite.Name }

// scenarios are those of a suite to walk whole: none where a seed is to be repeated.
func (a asked) scenarios(suite sim.Suite) []sim.Scenario {
	switch {
	case a.leavesOut(suite) || a.seed != 0:
		return nil
	case a.full:
		return slices.Concat(suite.Small, suite.Large)
	}
	return suite.Small
}

// seeds are the first seed of a suite to walk, and how many there are.
func (a asked) seeds(suite sim.Suite, runs uint64) (first, n uint64) {
	switch {
	case a.leavesOut(suite):
		return 1, 0
	case a.seed != 0:
		return a.seed, 1
	case a.runs != 0:
		return rand.Uint64N(1<<40) + 1, a.runs
	case !whole.Tests:
		runs /= 10
	}
	return 1, runs
}
