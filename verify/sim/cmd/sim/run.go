package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamsort/streamsort/verify/sim"
)

// command runs the command and returns its exit code: 1 where something is not as it must be, 2
// where a variable is wrong.
func command(suites []sim.Suite, getenv func(string) string, out, problems io.Writer) int {
	o, err := parse(suites, getenv)
	if err != nil {
		fmt.Fprintln(problems, err)
		return 2
	}
	if err := o.run(out); err != nil {
		fmt.Fprintln(problems, err)
		return 1
	}
	return 0
}

// options are what the environment says.
type options struct {
	full   bool
	suites []sim.Suite
	// seed, if not 0, is the random run to repeat.
	seed, runs uint64
}

// parse reads FULL=1, SUITE=name, SEED=n and RUNS=n.
func parse(suites []sim.Suite, getenv func(string) string) (options, error) {
	o := options{full: getenv("FULL") != "", suites: suites, runs: 1_000_000}
	if name := getenv("SUITE"); name != "" {
		names := make([]string, len(suites))
		for i, suite := range suites {
			names[i] = suite.Name
		}
		i := slices.Index(names, name)
		if i < 0 {
			return o, fmt.Errorf("SUITE=%s must be one of %s", name, strings.Join(names, ", "))
		}
		o.suites = suites[i : i+1]
	}
	for name, to := range map[string]*uint64{"SEED": &o.seed, "RUNS": &o.runs} {
		text := getenv(name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || n == 0 {
			return o, fmt.Errorf("%s=%s must be a whole number of at least 1", name, text)
		}
		*to = n
	}
	return o, nil
}

func (o options) run(out io.Writer) error {
	if o.seed != 0 {
		return repeat(o.suites, o.seed, out)
	}
	for _, suite := range o.suites {
		scenarios := suite.Small
		if o.full {
			scenarios = slices.Concat(scenarios, suite.Large)
		}
		if err := explore(suite.Name, scenarios, out); err != nil {
			return err
		}
		if err := random(suite, o.runs, out); err != nil {
			return err
		}
	}
	return nil
}

// repeat walks the schedule of one seed in every suite.
func repeat(suites []sim.Suite, seed uint64, out io.Writer) error {
	for _, suite := range suites {
		if failure := suite.Random(seed).Random(seed); failure != nil {
			return failure
		}
		fmt.Fprintf(out, "%s: seed %d ends well\n", suite.Name, seed)
	}
	return nil
}

// progressEvery is the time between two lines.
const progressEvery = 3 * time.Second

func explore(suite string, scenarios []sim.Scenario, out io.Writer) error {
	total, began := 0, time.Now()
	for _, scenario := range scenarios {
		started, reported := time.Now(), time.Now()
		states, failure := scenario.Explore(func(states int) bool {
			if states%50_000 == 0 && time.Since(reported) >= progressEvery {
				reported = time.Now()
				fmt.Fprintf(out, "%s: %s: %d states so far\n", suite, scenario.Name, states)
			}
			return true
		})
		if failure != nil {
			return failure
		}
		total += states
		fmt.Fprintf(out, "%s: %s: %d states, %s\n", suite, scenario.Name, states, time.Since(started).Round(time.Millisecond))
	}
	fmt.Fprintf(out, "%s: every schedule of %d scenarios: %d states, %s\n",
		suite, len(scenarios), total, time.Since(began).Round(time.Millisecond))
	return nil
}

// random walks random schedules, on all processors, from a seed that no earlier run is likely to
// have begun with.
func random(suite sim.Suite, runs uint64, out io.Writer) error {
	first := rand.Uint64N(1<<40) + 1
	began := time.Now()
	var (
		next, done atomic.Uint64
		ended      atomic.Bool
		once       sync.Once
		found      error
		workers    sync.WaitGroup
	)
	stop := make(chan struct{})
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for !ended.Load() {
				n := next.Add(1) - 1
				if n >= runs {
					return
				}
				if failure := suite.Random(first + n).Random(first + n); failure != nil {
					once.Do(func() { found = failure })
					ended.Store(true)
				}
				done.Add(1)
			}
		})
	}
	go func() { workers.Wait(); close(stop) }()
	for ticker := time.NewTicker(progressEvery); ; {
		select {
		case <-ticker.C:
			fmt.Fprintf(out, "%s: %d random schedules so far\n", suite.Name, done.Load())
		case <-stop:
			ticker.Stop()
			took := time.Since(began)
			fmt.Fprintf(out, "%s: %d random schedules from seed %d on, %s, %.0f a second\n",
				suite.Name, done.Load(), first, took.Round(time.Millisecond), float64(done.Load())/took.Seconds())
			return found
		}
	}
}
