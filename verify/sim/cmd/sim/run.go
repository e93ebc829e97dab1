package main

import (
	"errors"
	"flag"
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

// command runs the command and returns its exit code: 1 where something is not
// as it must be, 2 where the arguments are wrong.
func command(suites []sim.Suite, arguments []string, getenv func(string) string, out, problems io.Writer) int {
	o, err := parse(arguments, getenv, problems)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if suites, err = o.chosen(suites, problems); err != nil {
		return 2
	}
	if err := o.run(suites, out); err != nil {
		fmt.Fprintln(problems, err)
		return 1
	}
	return 0
}

// chosen is the one suite that is asked for, or all.
func (o options) chosen(suites []sim.Suite, problems io.Writer) ([]sim.Suite, error) {
	if o.suite == "" {
		return suites, nil
	}
	var names []string
	for i, suite := range suites {
		if suite.Name == o.suite {
			return suites[i : i+1], nil
		}
		names = append(names, suite.Name)
	}
	return nil, complain(problems, "suite %q: there are %s", o.suite, strings.Join(names, ", "))
}

// options are what the arguments and the environment say.
type options struct {
	full bool
	// suite, if not empty, is the name of the only suite.
	suite string
	// seed, if not nil, is the random run to repeat.
	seed *uint64
	runs uint64
	// limit ends the random runs of a suite; 0 means no limit.
	limit time.Duration
}

// parse reads them, and says on problems what is wrong with them.
func parse(arguments []string, getenv func(string) string, problems io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("sim", flag.ContinueOnError)
	flags.SetOutput(problems)
	flags.BoolVar(&o.full, "full", getenv("FULL") != "", "walk the large scenarios too (FULL=1)")
	flags.StringVar(&o.suite, "suite", getenv("SUITE"), "only this suite (SUITE=name)")
	seed := flags.String("seed", getenv("SEED"), "repeat the random run of this seed only (SEED=N)")
	flags.Uint64Var(&o.runs, "runs", 1_000_000, "how many random runs a suite")
	seconds := flags.Uint("seconds", 0, "end the random runs of a suite after so many seconds; 0 means after all")
	if err := flags.Parse(arguments); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, complain(problems, "argument %q: there are only flags", flags.Arg(0))
	}
	o.limit = time.Duration(*seconds) * time.Second
	if *seed == "" {
		return o, nil
	}
	n, err := strconv.ParseUint(*seed, 10, 64)
	if err != nil {
		return o, complain(problems, "seed %q: must be a whole number", *seed)
	}
	o.seed = &n
	return o, nil
}

// complain makes an error and says it, as the flag package does with its own.
func complain(problems io.Writer, format string, arguments ...any) error {
	err := fmt.Errorf(format, arguments...)
	fmt.Fprintln(problems, err)
	return err
}

func (o options) run(suites []sim.Suite, out io.Writer) error {
	if o.seed != nil {
		return repeat(suites, *o.seed, out)
	}
	for _, suite := range suites {
		scenarios := suite.Small
		if o.full {
			scenarios = slices.Concat(scenarios, suite.Large)
		}
		if err := explore(suite.Name, scenarios, out); err != nil {
			return err
		}
		if err := random(suite, o.runs, o.limit, out); err != nil {
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
