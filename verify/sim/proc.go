package sim

import (
	"fmt"
	"iter"
	"runtime"
)

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

// ballast is memory that nobody touches. A run keeps next to nothing, so that the garbage collector
// would come every 4 MB, look through the stacks of all actors, and take a third of all time: it
// comes when as much as this was allocated.
var ballast = make([]byte, 64<<20)

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
	ways := readWays
	switch {
	case write && p.run.network:
		ways = lateWays
	case write:
		ways = writeWays
	}
	return ask(p, point{label: label, ways: ways}, request)
}

// Read is a request that changes nothing and need not be strong: beside what stands there when it
// is answered, each of the older states may be answered. Nil says that there are none.
func Read[T any](p *Proc, label Label, request func() (T, error),
	older func() []func() (T, error)) (T, error) {
	if p == nil || older == nil {
		return Do(p, label, false, request)
	}
	var stale []func() (T, error)
	return ask(p, point{label: label, ways: readWays, now: func() []way {
		stale = older()
		return staleWays[:len(readWays)+len(stale)]
	}}, func() (T, error) {
		if p.choice >= len(readWays) {
			return stale[p.choice-len(readWays)]()
		}
		return request()
	})
}

func ask[T any](p *Proc, at point, request func() (T, error)) (answer T, err error) {
	for {
		if !p.spend() {
			return answer, ErrDead
		}
		chosen, alive := p.reach(at)
		switch {
		case !alive:
			return answer, ErrDead
		case chosen == wayFailedBefore:
			p.saw("failed")
			return answer, ErrFault
		case at.now != nil: // a read, and no way of a write
		case chosen == wayLost:
			_, _ = request()
			p.saw("lost")
			continue // the SDK repeats the very same request
		case chosen == wayFailedAfter:
			_, _ = request()
			p.saw("failed")
			return answer, ErrFault
		case chosen == wayLate:
			// What an actor was answered until here makes the request what it is.
			p.run.late = append(p.run.late, stray{at.label, p.name, p.seen, func() { _, _ = request() }})
		}
		answer, err = request()
		p.saw(answer, err)
		return answer, err
	}
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
	Feed(&p.seen, answers...)
	if p.run.tracing {
		p.run.trace = append(p.run.trace, fmt.Sprintf("    %s got %v", p.name, answers))
	}
}

// die ends an actor where it stands, and starts its successor if it has one.
func (p *Proc) die() {
	p.dead, p.alive = true, false
	p.stop()
	if p.restarts {
		p.begin()
	}
}
