// Package sim runs real code against simulated stores under a scheduler that decides everything
// that chance decides elsewhere: who runs next, whether a request fails before or after it took
// effect, whether its response is lost and the SDK repeats it, who dies, what a stream repeats or
// drops.
//
// A package plugs in a [Scenario]: actors, which are ordinary functions whose every request goes
// through [Do]; what must hold after every step; and what must hold in the end. [Explore] walks
// every schedule of a small scenario, [Random] walks seeded random ones. Both stop at the first
// [Failure], which bears the shortest trace that was found for it, and can be replayed. Where a
// scenario has a budget, Explore also looks for schedules that never end: those that come to a
// state again.
//
// Between two requests an actor runs alone: what it does there touches nothing but its own state.
// So an actor's state is known from the answers it has got, and two schedules that led to the same
// stores and the same answers go on alike; Explore walks only one of them, and of those that differ
// only in which of several actors that do the same did what ([Proc.Alike]). Therefore an actor must
// take time and randomness from the run, and must not start goroutines. An actor that knows less
// than all its answers (between two operations it knows only what it keeps in memory) says so with
// [Proc.Forget]: more states are then alike. An actor that has ended knows nothing.
package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/digest"
)

// Digest distinguishes states.
type Digest = digest.Digest

// Hasher is an answer that feeds itself to a Digest: all of it that an actor can act on, and no
// more.
type Hasher interface{ Hash(*Digest) }

// Feed feeds values to a Digest, each by its kind; a time is fed in milliseconds.
func Feed(d *Digest, values ...any) {
	for _, value := range values {
		switch value := value.(type) {
		case Hasher:
			value.Hash(d)
		case Digest:
			d.Digest(value)
		case string:
			d.Text(value)
		case bool:
			d.Bool(value)
		case int:
			d.Int(int64(value))
		case int64:
			d.Int(value)
		case time.Time:
			d.Int(value.UnixMilli())
		case nil:
			d.Int(0)
		default:
			d.Text(fmt.Sprint(value))
		}
	}
}

// Scenario is one set of actors on fresh stores.
type Scenario struct {
	Name string
	// Faults is how many faults may happen in one run.
	Faults int
	// Budget, where it is not 0, is how many requests an invocation makes before it is killed,
	// which is no fault: see [Proc.Invoke]. Every schedule has to come to an end all the same.
	Budget int
	// New sets a run up. It is called for every run, and must do the same each time.
	New func(*Run) Model
}

// Cast is a scenario of actors on a model. Each of them is called once in a run, before it starts:
// it adds actors of its kind, or changes the model.
func Cast[M Model](name string, faults int, set func(*Run) M, actors ...func(M)) Scenario {
	return Scenario{Name: name, Faults: faults, New: func(run *Run) Model {
		m := set(run)
		for _, join := range actors {
			join(m)
		}
		return m
	}}
}

// Shuffled is the scenario of a seed: what it draws, with up to six faults.
func Shuffled(seed uint64, set func(*Run, *rand.Rand) Model) Scenario {
	return Scenario{
		Name: fmt.Sprint("shuffled ", seed), Faults: int(seed % 7), New: func(run *Run) Model {
			return set(run, rand.New(rand.NewPCG(seed, 1)))
		},
	}
}

// Suite is the scenarios of a package.
type Suite struct {
	Name string
	// Small are walked whole in seconds, Large in minutes.
	Small, Large []Scenario
	// Random is the scenario of a seed.
	Random func(seed uint64) Scenario
}

// Must is what nothing keeps from being: options that a scenario has in their bounds, and what is
// done where no [Proc] is, so that nothing goes wrong. Where it is not, the suite is wrong.
func Must[T any](made T, err error) T {
	if err != nil {
		panic(err)
	}
	return made
}

// Model is what a Scenario knows of its stores.
type Model interface {
	// Check reports what must never be, after any step.
	Check() error
	// Final reports what must not be once every actor is done and no fault comes any more.
	Final() error
	// Snapshot feeds everything by which two states differ.
	Snapshot(*Digest)
}

// Run is one run of a scenario.
type Run struct {
	model  Model
	procs  []*Proc
	faults int
	budget int
	trace  []string
	// tracing is off in the first pass: texts are made only for failures.
	tracing bool
	// failed is set once a fault has come that is more than a stale read.
	failed bool
	// network is set where a request may arrive twice, late are the copies under way.
	network bool
	late    []stray
	// err is a violation that an actor itself saw.
	err error
	// open is what options returned last, kept for its memory.
	open []option
}

// Label says what an actor is about to do. It is asked only for a trace.
type Label func() string

// Labelf is a Label as fmt.Sprintf makes it.
func Labelf(format string, arguments ...any) Label {
	return func() string { return fmt.Sprintf(format, arguments...) }
}

// Violation ends the run: an actor was answered what it must not be.
func (r *Run) Violation(format string, arguments ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, arguments...)
	}
}

// Failed reports whether something went wrong so far. A read that was answered an older state is a
// fault, and counts as one of the scenario's; but nothing went wrong by it, and nobody comes to
// make up for it.
func (r *Run) Failed() bool { return r.failed }

// Err is the violation that was seen, if any.
func (r *Run) Err() error { return r.err }

// point is a place where the scheduler decides.
type point struct {
	label Label
	// ready is false while the actor waits; nil means always ready.
	ready func() bool
	ways  []way
	// now, where it is not nil, are the ways as the stores are.
	now func() []way
}

// way is one of the things that can happen at a point.
type way struct {
	name  string
	fault bool
	death bool
	stale bool
}

// The ways of a request, in the order of their indexes.
const (
	wayDone = iota
	wayFailedBefore
	wayDeath
	wayLost
	wayFailedAfter
	wayLate
)

var (
	// No actor dies before a read: others cannot distinguish that from a death before the write
	// that follows it, and where none follows, not from an end.
	readWays = []way{{}, {name: "fails", fault: true}}
	// A write that took effect can fail in two ways more.
	writeWays = append(slices.Clone(readWays),
		way{name: "dies before", fault: true, death: true},
		way{name: "response lost, repeated", fault: true},
		way{name: "fails after its effect", fault: true})
	// A read that is not strong can be answered by so many older states.
	staleWays = slices.Concat(readWays, stale(16))
	lateWays  = append(slices.Clone(writeWays),
		way{name: "was repeated, and the first copy is still under way", fault: true})
	// An actor without time left can do nothing else.
	timeIsUp = []way{{name: "dies", death: true}}
)

func stale(n int) []way {
	ways := make([]way, n)
	for i := range ways {
		ways[i] = way{name: fmt.Sprintf("stale %d", i+1), fault: true, stale: true}
	}
	return ways
}

// ErrFault is what a request fails with.
var ErrFault = errors.New("simulated fault")

// ErrDead is what an actor gets after its death. Nothing that it does then counts.
var ErrDead = errors.New("dead")

// Go starts an actor.
func (r *Run) Go(name string, body func(*Proc)) { r.start(&Proc{name: name, body: body}) }

// Daemon starts an actor that, when it dies, is followed by another one.
func (r *Run) Daemon(name string, body func(*Proc)) {
	r.start(&Proc{name: name, body: body, restarts: true})
}

func (r *Run) start(p *Proc) {
	p.run = r
	r.procs = append(r.procs, p)
	p.begin()
}

// option is a step that the scheduler can take.
type option struct {
	proc *Proc
	way  int
}

// options are the steps that can be taken now, always in the same order. They are good until the
// next call.
func (r *Run) options() []option {
	options := r.open[:0]
	for _, p := range r.procs {
		if !p.alive || p.at.ready != nil && !p.at.ready() {
			continue
		}
		if p.at.now != nil && r.faults > 0 {
			p.at.ways = p.at.now()
		}
		for i, w := range p.at.ways {
			if !w.fault || r.faults > 0 {
				options = append(options, option{p, i})
			}
		}
	}
	r.open = options
	return options
}

// take takes a step and checks what must hold after it.
func (r *Run) take(o option) error {
	p, w := o.proc, o.proc.at.ways[o.way]
	if r.tracing {
		r.trace = append(r.trace, fmt.Sprintf("%s: %s %s", p.name, p.at.label(), w.name))
	}
	if w.fault {
		r.faults--
		r.failed = r.failed || !w.stale
	}
	if w.death {
		p.die()
	} else {
		p.choice = o.way
		p.at, p.alive = p.next()
	}
	if r.err != nil {
		return r.err
	}
	return r.model.Check()
}

func (r *Run) close() {
	for _, p := range r.procs {
		p.dead = true
		p.stop()
	}
}

// key identifies the state of the run. The points at which the actors stand need not be fed: what
// they have seen led them there.
func (r *Run) key() Digest {
	var state Digest
	state.Int(int64(r.faults))
	var alike []Digest
	for _, p := range r.procs {
		var own Digest
		own.Bool(p.alive)
		if p.alive {
			own.Digest(p.seen)
		}
		if r.budget > 0 {
			own.Int(int64(p.spent))
		}
		if p.alike == nil {
			state.Digest(own)
			continue
		}
		p.alike(&own)
		alike = append(alike, own)
	}
	for _, s := range r.late {
		state.Text(s.from)
		state.Digest(s.seen)
	}
	slices.SortFunc(alike, Digest.Compare)
	for _, own := range alike {
		state.Digest(own)
	}
	r.model.Snapshot(&state)
	return state
}

// begin starts a run of the scenario.
func (s Scenario) begin(tracing bool) *Run {
	runtime.KeepAlive(ballast)
	r := &Run{faults: s.Faults, budget: s.Budget, tracing: tracing}
	r.model = s.New(r)
	return r
}
