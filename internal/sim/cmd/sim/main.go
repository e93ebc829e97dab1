// Command sim walks the schedules of all suites: every one of the small
// scenarios, with -full of the large ones as well, and then random ones. It
// ends with 1 where one of them leads to what must not be, and prints its seed
// and the shortest trace that it finds. SEED=N, or -seed N, repeats one.
package main

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamsort/streamsort/internal/sim"
	"github.com/streamsort/streamsort/internal/sim/cursorsim"
)

// suites are those of all packages that have one.
func suites() []sim.Suite { return []sim.Suite{cursorsim.Suite()} }

func main() {
	if err := run(os.Args[1:], os.Getenv, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string, getenv func(string) string, out io.Writer) error {
	flags := flag.NewFlagSet("sim", flag.ContinueOnError)
	full := flags.Bool("full", getenv("FULL") != "", "walk the large scenarios too (FULL=1)")
	seed := flags.String("seed", getenv("SEED"), "repeat the random run of this seed only (SEED=N)")
	runs := flags.Uint64("runs", 1_000_000, "how many random runs a suite")
	seconds := flags.Int("seconds", 0, "end the random runs of a suite after so many seconds; 0 means after all")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if *seed != "" {
		return repeat(*seed, out)
	}
	for _, suite := range suites() {
		scenarios := suite.Small
		if *full {
			scenarios = append(scenarios, suite.Large...)
		}
		if err := explore(suite.Name, scenarios, out); err != nil {
			return err
		}
		if err := random(suite, *runs, time.Duration(*seconds)*time.Second, out); err != nil {
			return err
		}
	}
	return nil
}

// repeat walks the schedule of one seed in every suite.
func repeat(text string, out io.Writer) error {
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return fmt.Errorf("seed %q: must be a whole number", text)
	}
	for _, suite := range suites() {
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
		started, told := time.Now(), time.Now()
		states, failure := scenario.Explore(func(states int) {
			if time.Since(told) >= progressEvery {
				told = time.Now()
				fmt.Fprintf(out, "%s: %s: %d states so far\n", suite, scenario.Name, states)
			}
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

// random walks random schedules, on all processors, from a seed that no
// earlier run is likely to have begun with.
func random(suite sim.Suite, runs uint64, limit time.Duration, out io.Writer) error {
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
				if n >= runs || limit > 0 && time.Since(began) > limit {
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
