package sim

import (
	"errors"
	"fmt"
	"slices"
)

// walk is how far all schedules of a scenario are walked.
type walk struct {
	visited map[Digest]*state
	// found are the states by the lengths of their schedules; of those below shortest, no way is left.
	found    [][]*state
	shortest int
	ways     *graph
	more     func(states int) bool
	stopped  bool
	// tracing: each state keeps the trace by which it was found, unlike is that of two that differ.
	tracing bool
	unlike  []string
}

type state struct {
	key Digest
	// from is the state from which it was found, by its choice; nil for that in which all begins.
	from *state
	by   int
	// walked is how many of the options were taken from here, in their order.
	walked, options int
	trace           []string
}

// choices is the schedule by which the state was found.
func (s *state) choices() []int {
	if s == nil || s.from == nil {
		return nil
	}
	return append(s.from.choices(), s.by)
}

// take is the next way from here.
func (s *state) take() int {
	s.walked++
	return s.walked - 1
}

// errUnlike is the failure of a scenario whose actors know more than they say: see [Proc.Knows] and
// [Model.Snapshot]. Schedules are missed where two states are taken for one.
var errUnlike = errors.New("two states have one digest, and are not alike")

// next is a state from which ways are left; false after the last one.
func (w *walk) next() (*state, bool) {
	for ; w.shortest < len(w.found); w.shortest++ {
		for here := &w.found[w.shortest]; len(*here) > 0; *here = (*here)[1:] {
			if first := (*here)[0]; first.walked < first.options {
				return first, true
			}
		}
	}
	return nil, false
}

// along chooses the steps of a run: to a state, and from there on what is not walked yet.
func (w *walk) along(from *state) func(r *Run, step, options int) (int, bool) {
	prefix, at := from.choices(), from
	return func(r *Run, step, options int) (int, bool) {
		switch {
		case step < len(prefix) && prefix[step] < options:
			return prefix[step], true
		case step > len(prefix) || at == nil:
			if at = w.come(r, at, step, options); at == nil {
				return 0, false
			}
		case step < len(prefix) || options != at.options || r.key() != at.key:
			w.differs(r, from)
			return 0, false
		}
		return at.take(), true
	}
}

// come notes that a run came from one state to another, which it returns; nil where it is to end.
func (w *walk) come(r *Run, from *state, step, options int) *state {
	key := r.key()
	if from != nil {
		w.ways.add(from.key, from.walked-1, key)
	}
	at, seen := w.visited[key]
	switch {
	case !seen:
		at = &state{key: key, from: from, options: options, trace: r.standing()}
		if from != nil {
			at.by = from.walked - 1
		}
		w.visited[key] = at
		w.found[step] = append(w.found[step], at)
		if w.stopped = w.more != nil && !w.more(len(w.visited)); w.stopped {
			return nil
		}
	case at.options != options:
		w.differs(r, at)
		return nil
	// Where actors have changed places, their options have too.
	case at.walked == options || slices.ContainsFunc(r.procs, func(p *Proc) bool {
		return p.alike != nil
	}):
		return nil
	}
	return at
}

// differs ends a run in a state that is not as it was found.
func (w *walk) differs(r *Run, found *state) {
	r.err, w.unlike = errUnlike, slices.Concat(found.trace, []string{"-- and"}, r.standing())
}

// standing is the trace, and what may come next; nil where nobody traces.
func (r *Run) standing() []string {
	if !r.tracing {
		return nil
	}
	trace := slices.Clone(r.trace)
	for _, o := range r.open {
		trace = append(trace, fmt.Sprintf("next %s: %s %s", o.proc.name, o.proc.at.label(),
			o.proc.at.ways[o.way].name))
	}
	return trace
}
