package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Failure is a schedule that ends in what must not be.
type Failure struct {
	Scenario string
	// Seed repeats the random run that found it, 0 after Explore.
	Seed uint64
	// Err is what was found.
	Err error
	// Trace is the shortest schedule found that ends so.
	Trace []string
}

func (f *Failure) Error() string {
	seed := ""
	if f.Seed != 0 {
		seed = fmt.Sprintf(" (SEED=%d)", f.Seed)
	}
	return fmt.Sprintf("%s%s: %v\n%s", f.Scenario, seed, f.Err, strings.Join(f.Trace, "\n"))
}

// maxSteps ends a run that would never end: actors that wait for each other by asking again and
// again.
const maxSteps = 2000

// maxShrinkSteps ends the search for a shorter trace.
const maxShrinkSteps = 300_000

// follow runs the scenario: step i takes the option choose(i, n) of n. It returns the choices that
// were made and what was found.
func (s Scenario) follow(tracing bool,
	choose func(r *Run, step, options int) (int, bool)) (choices []int, trace []string, err error) {
	r := s.begin(tracing)
	defer r.close()
	for step := 0; ; step++ {
		options := r.options()
		if len(options) == 0 {
			return choices, r.trace, r.model.Final()
		}
		if step == maxSteps {
			return choices, r.trace, fmt.Errorf("no end after %d steps", maxSteps)
		}
		chosen, goOn := choose(r, step, len(options))
		if !goOn {
			return choices, r.trace, r.err
		}
		choices = append(choices, chosen)
		if err := r.take(options[chosen]); err != nil {
			return choices, r.trace, err
		}
	}
}

// Explore walks every schedule of the scenario, and returns how many different states there are.
// more, if not nil, gets their number after each, and says whether to walk on.
//
// A run cannot be taken back: another way from a state begins with a walk to it. So a run that
// reaches a known state takes a way that is not walked yet, and ends only where none is left. The
// ways from the states with the shortest schedules come first, so that those behind them are still
// there for the runs that get so far.
func (s Scenario) Explore(more func(states int) bool) (int, *Failure) {
	states, failure := s.walk(&walk{more: more})
	if failure != nil && errors.Is(failure.Err, errUnlike) {
		return s.walk(&walk{tracing: true}) // once more, for the texts
	}
	return states, failure
}

func (s Scenario) walk(w *walk) (int, *Failure) {
	w.visited, w.found = map[Digest]*state{}, make([][]*state, maxSteps)
	if s.Budget > 0 {
		w.ways = newGraph()
	}
	for from, ok := (*state)(nil), true; ok && !w.stopped; from, ok = w.next() {
		choices, _, err := s.follow(w.tracing, w.along(from))
		switch {
		case errors.Is(err, errUnlike):
			return len(w.visited), &Failure{Scenario: s.Name, Err: err, Trace: w.unlike}
		case err != nil:
			return len(w.visited), s.failure(choices, 0, err)
		}
	}
	if choices := w.ways.cycle(); choices != nil {
		return len(w.visited), s.endless(choices)
	}
	return len(w.visited), nil
}

// endless is the failure of a schedule that comes to a state for the second time.
func (s Scenario) endless(choices []int) *Failure {
	_, trace, _ := s.follow(true, func(_ *Run, step, _ int) (int, bool) {
		if step < len(choices) {
			return choices[step], true
		}
		return 0, false
	})
	return &Failure{Scenario: s.Name, Err: errEndless, Trace: trace}
}

var errEndless = errors.New("no end: this schedule comes to a state where it was before")

// Random walks one random schedule. The same seed walks the same one.
func (s Scenario) Random(seed uint64) *Failure {
	random := rand.New(rand.NewPCG(seed, 0))
	choices, _, err := s.follow(false, func(r *Run, _, n int) (int, bool) {
		// Faults are many of the ways, and come early where each way is as likely: take one in four
		// of those drawn.
		for {
			chosen := random.IntN(n)
			o := r.open[chosen]
			if !o.proc.at.ways[o.way].fault || random.IntN(4) == 0 {
				return chosen, true
			}
		}
	})
	if err == nil {
		return nil
	}
	return s.failure(choices, seed, err)
}

// failure makes the schedule as short as it can and writes it down.
func (s Scenario) failure(choices []int, seed uint64, err error) *Failure {
	choices = s.shrink(choices)
	_, trace, shrunk := s.replay(choices, true)
	if shrunk != nil {
		err = shrunk
	}
	return &Failure{Scenario: s.Name, Seed: seed, Err: err, Trace: trace}
}

// replay follows the choices, each taken modulo the options there are, and the first option after
// their end.
func (s Scenario) replay(choices []int, tracing bool) ([]int, []string, error) {
	return s.follow(tracing, func(_ *Run, step, options int) (int, bool) {
		if step < len(choices) {
			return choices[step] % options, true
		}
		return 0, true
	})
}

// shrink makes a failing schedule shorter and plainer while it still fails: it leaves out runs of
// choices, and replaces single ones by the first.
func (s Scenario) shrink(choices []int) []int {
	steps := maxShrinkSteps
	weight := func(c []int) int {
		sum := len(c) * 1000
		for _, n := range c {
			sum += n
		}
		return sum
	}
	improves := func(candidate []int) bool {
		if steps <= 0 {
			return false
		}
		made, _, err := s.replay(candidate, false)
		steps -= len(made)
		if err == nil || len(made) > len(choices) || weight(made) >= weight(choices) {
			return false
		}
		choices = made
		return true
	}
	for improved := true; improved; {
		improved = false
		for size := max(len(choices)/2, 1); size > 0; size /= 2 {
			for at := 0; at+size <= len(choices); at++ {
				improved = improves(slices.Concat(choices[:at], choices[at+size:])) || improved
			}
		}
		for at := 0; at < len(choices); at++ {
			for lower := range choices[at] {
				candidate := slices.Clone(choices)
				candidate[at] = lower
				if improves(candidate) {
					improved = true
					break
				}
			}
		}
	}
	return choices
}
