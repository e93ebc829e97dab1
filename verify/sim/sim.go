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
	"iter"
	"runtime"
	"slices"

	"github.com/streamsort/streamsort/internal/digest"
)

// Digest distinguishes states.
type Digest = digest.Digest

// Hasher is an answer that feeds itself to a Digest: all of it that an actor can act on, and no
// more.
type Hasher interface{ Hash(*Digest) }

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

// Proc is an actor. A nil Proc is who sets a run up before it begins, and who looks after it has
// ended: nobody runs in between, nothing fails, and what it gets to know is no part of any state.
type Proc struct {
	run  *Run
	name string
	body func(*Proc)
	// restarts: after a death another of its kind takes its place.
	restarts bool

	yield func(point) bool
	next  func() (point, bool)
	stop  func()
	// at is the point the actor stands at; alive is false after its end.
	at     point
	alive  bool
	dead   bool
	choice int
	// invoked is set when the actor's requests count against the budget, spent how many it has made
	// of it.
	invoked bool
	spent   int
	// seen identifies the answers that the actor has got, as far as they matter.
	seen Digest
	// alike, where it is not nil, feeds what the model knows of this actor, which may change places
	// with every other one that has it.
	alike func(*Digest)
}

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

// begin runs the actor up to its first point.
func (p *Proc) begin() {
	p.dead, p.seen, p.invoked, p.spent = false, Digest{}, false, 0
	p.next, p.stop = iter.Pull(func(yield func(point) bool) {
		p.yield = yield
		growStack()
		p.body(p)
	})
	p.at, p.alive = p.next()
}

// growStack makes an actor's stack as large as it will be, at once: otherwise each of the many
// actors that are begun grows its own in several steps, which takes a tenth of all time and more.
//
//go:noinline
func growStack() {
	var frame [56 << 10]byte
	frame[0] = 1
	runtime.KeepAlive(&frame)
}

// Name is the actor's name.
func (p *Proc) Name() string {
	if p == nil {
		return "nobody"
	}
	return p.name
}

// Dead reports whether the actor has died: what it says then must be ignored.
func (p *Proc) Dead() bool { return p != nil && p.dead }

// Forget says that from here on nothing matters of what the actor was answered so far, but for what
// is fed to the Digest that is returned: where it stands, and what it keeps. An actor that says so
// although it is not so makes Explore miss schedules.
func (p *Proc) Forget() *Digest {
	p.seen = Digest{}
	return &p.seen
}

// Invoke says that an invocation begins here, which may make as many requests as the scenario's
// budget has. One that would make another is killed instead.
func (p *Proc) Invoke() { p.invoked, p.spent = true, 0 }

// spend takes a request from the invocation's budget; false where the actor was killed because
// nothing is left of it.
func (p *Proc) spend() bool {
	if !p.invoked || p.run.budget == 0 {
		return true
	}
	p.spent++
	if p.spent > p.run.budget {
		p.reach(point{label: Labelf("the invocation's time is up:"), ways: timeIsUp})
		return false
	}
	return true
}

// Alike says that the actor may change places with every other one that says so: they do the same,
// and neither what they have seen nor the Snapshot tells one from another. known feeds what the
// model knows of this one: what it owns. Explore walks only one of the schedules that differ in who
// is who.
func (p *Proc) Alike(known func(*Digest)) { p.alike = known }

// Knows is what the actor is known to know: feed it what the actor found out by other ways than a
// request.
func (p *Proc) Knows() *Digest {
	if p == nil {
		return &Digest{}
	}
	return &p.seen
}

// reach waits at a point and returns the way that was chosen, or false after the actor's death.
func (p *Proc) reach(at point) (int, bool) {
	if p.dead || !p.yield(at) {
		p.dead = true
		return 0, false
	}
	return p.choice, true
}

// Do is one request of an actor: a point where anybody else may run first, and where the request
// may fail. label says what is asked, for the trace; write is whether it can change anything.
func Do[T any](p *Proc, label Label, write bool, request func() (T, error)) (T, error) {
	if p == nil {
		return request()
	}
	var zero T
	ways := readWays
	switch {
	case write && p.run.network:
		ways = lateWays
	case write:
		ways = writeWays
	}
	for {
		if !p.spend() {
			return zero, ErrDead
		}
		chosen, alive := p.reach(point{label: label, ways: ways})
		if !alive {
			return zero, ErrDead
		}
		switch chosen {
		case wayFailedBefore:
			p.saw("failed")
			return zero, ErrFault
		case wayLost:
			_, _ = request()
			p.saw("lost")
			continue // the SDK repeats the very same request
		case wayFailedAfter:
			_, _ = request()
			p.saw("failed")
			return zero, ErrFault
		case wayLate:
			// What an actor was answered until here makes the request what it is.
			p.run.late = append(p.run.late, stray{label, p.name, p.seen, func() { _, _ = request() }})
		}
		answer, err := request()
		p.saw(answer, err)
		return answer, err
	}
}

// Read is a request that changes nothing and need not be strong: beside what stands there when it
// is answered, each of the older states may be answered. Nil says that there are none.
func Read[T any](p *Proc, label Label, request func() (T, error), older func() []func() (T, error)) (T, error) {
	if p == nil {
		return request()
	}
	var zero T
	if !p.spend() {
		return zero, ErrDead
	}
	at, stale := point{label: label, ways: readWays}, []func() (T, error)(nil)
	if older != nil {
		at.now = func() []way {
			stale = older()
			return staleWays[:len(readWays)+len(stale)]
		}
	}
	chosen, alive := p.reach(at)
	switch {
	case !alive:
		return zero, ErrDead
	case chosen == wayFailedBefore:
		p.saw("failed")
		return zero, ErrFault
	case chosen >= len(readWays):
		request = stale[chosen-len(readWays)]
	}
	answer, err := request()
	p.saw(answer, err)
	return answer, err
}

// Choose is a point at which one of several things happens: names[0] without a fault, the others as
// faults. It waits until ready. The result is -1 after the actor's death.
func (p *Proc) Choose(label Label, ready func() bool, names ...string) int {
	if p == nil {
		return 0
	}
	ways := make([]way, len(names))
	for i, name := range names {
		ways[i] = way{name: name, fault: i > 0}
	}
	chosen, alive := p.reach(point{label: label, ready: ready, ways: ways})
	if !alive {
		return -1
	}
	p.saw(chosen)
	return chosen
}

// saw notes what the actor was answered.
func (p *Proc) saw(answers ...any) {
	for _, answer := range answers {
		switch answer := answer.(type) {
		case Hasher:
			answer.Hash(&p.seen)
		case string:
			p.seen.Text(answer)
		case bool:
			p.seen.Bool(answer)
		case int:
			p.seen.Int(int64(answer))
		case nil:
			p.seen.Int(0)
		default:
			p.seen.Text(fmt.Sprint(answer))
		}
	}
	if p.run.tracing {
		p.run.trace = append(p.run.trace, fmt.Sprintf("    %s got %v", p.name, answers))
	}
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

// die ends an actor where it stands, and starts its successor if it has one.
func (p *Proc) die() {
	p.dead, p.alive = true, false
	p.stop()
	if p.restarts {
		p.begin()
	}
}

// close ends all actors.
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

// ballast is memory that nobody touches. A run keeps next to nothing, so that the garbage collector
// would come every 4 MB, look through the stacks of all actors, and take a third of all time: it
// comes when as much as this was allocated.
var ballast = make([]byte, 64<<20)

// begin starts a run of the scenario.
func (s Scenario) begin(tracing bool) *Run {
	runtime.KeepAlive(ballast)
	r := &Run{faults: s.Faults, budget: s.Budget, tracing: tracing}
	r.model = s.New(r)
	return r
}
