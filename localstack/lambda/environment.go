package lambda

import (
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// environment is one process and its Runtime API. Between requests it is frozen and belongs to the
// function's idle list; during one it belongs to the goroutine that serves it. mu guards what the
// Runtime API's handlers read.
type environment struct {
	function *function
	program  int // of the function, when this was started
	process  *process
	server   *http.Server
	polls    chan poll    // the runtime asks for work
	answers  chan *answer // the runtime has an answer, or its initialisation failed
	poll     poll         // the runtime's open question, nil while it works or is dead

	mu      sync.Mutex
	current *invocation // what the runtime may answer now
	ready   bool        // the runtime has asked for work once
}

// poll is one open request for work. The handler that holds it is given the invocation. It is
// buffered: giving never waits.
type poll chan *invocation

func newEnvironment(f *function) (*environment, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	e := &environment{
		function: f,
		polls:    make(chan poll), answers: make(chan *answer, 1),
	}
	stream := time.Now().UTC().Format("2006/01/02") + "/[$LATEST]" + rand.Text()
	api := listener.Addr().String()
	e.process, err = startProcess(f.service.starter, f.Program, f.variables(api, stream),
		func(line string) {
			f.service.config.Log(f.Name, line)
		})
	if err != nil {
		_ = listener.Close()
		return nil, err
	}
	e.server = &http.Server{Handler: e.runtimeAPI(), ReadHeaderTimeout: time.Minute}
	f.service.work.Go(func() { _ = e.server.Serve(listener) })
	return e, nil
}

// close kills the process and waits until nothing of the environment is left.
func (e *environment) close() {
	e.process.kill()
	_ = e.server.Close()
}

// initialise waits until the runtime asks for work the first time. It returns what the request is
// answered with where that does not happen.
func (e *environment) initialise(inv *invocation) *answer {
	limit := initLimit + e.function.Timeout
	select {
	case e.poll = <-e.polls:
		e.mu.Lock()
		e.ready = true
		e.mu.Unlock()
		return nil
	case a := <-e.answers:
		return a
	case <-e.process.exited:
		select { // an error reported before the end says more than the end
		case a := <-e.answers:
			return a
		default:
			return exited(inv.id, e.process.state)
		}
	case <-time.After(limit):
		return timedOut(inv.id, limit)
	case <-e.function.service.ctx.Done():
		return exited(inv.id, "stopped")
	}
}

// run hands a request to the runtime, waits for the answer and then until the runtime asks for work
// again; the environment then is frozen. e.poll is nil afterwards where the environment can serve
// no more.
func (e *environment) run(inv *invocation) answer {
	inv.deadline = time.Now().Add(e.function.Timeout)
	over, killed := time.After(e.function.Timeout), e.function.plan()
	e.setCurrent(inv)
	e.process.output.clearTail()
	e.process.resume()
	e.poll <- inv
	e.poll = nil
	got, final := e.await(inv, over, killed)
	e.setCurrent(nil)
	switch {
	case final:
		e.process.kill()
		e.poll = nil
	case e.poll == nil:
		e.awaitPoll(over)
	}
	if e.poll != nil {
		e.process.freeze()
	}
	e.process.output.sync()
	return *got
}

// await waits for the answer, until the time is over, and reports whether it is a final one, with
// which the environment ends. Where killed is not nil, the process is killed when it says so, or
// else when it has answered.
func (e *environment) await(inv *invocation, over, killed <-chan time.Time) (*answer, bool) {
	for {
		select {
		case a := <-e.answers:
			if killed != nil {
				return e.killed(inv), true
			}
			return a, false
		case p := <-e.polls:
			if e.answered() { // and asks for more before the answer was taken
				e.poll = p
			} else { // its connection broke before it had the request
				p <- inv
			}
		case <-killed:
			return e.killed(inv), true
		case <-e.process.exited:
			return exited(inv.id, e.process.state), true
		case <-over:
			e.function.service.config.Log(e.function.Name,
				fmt.Sprintf("%s %s Task timed out after %.2f seconds",
					time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), inv.id, e.function.Timeout.Seconds()))
			return timedOut(inv.id, e.function.Timeout), true
		case <-e.function.service.ctx.Done():
			return exited(inv.id, "stopped"), true
		}
	}
}

// killed is the answer when chaos takes the process, whatever it had answered.
func (e *environment) killed(inv *invocation) *answer {
	e.process.kill()
	e.function.count(func(s *Stats) { s.Killed++ })
	a := exited(inv.id, "signal: killed")
	a.chaos = true
	return a
}

// awaitPoll waits until the runtime, which has answered, asks for work again.
func (e *environment) awaitPoll(over <-chan time.Time) {
	select {
	case e.poll = <-e.polls:
		return
	case <-e.process.exited:
	case <-over:
	case <-e.function.service.ctx.Done():
	}
	e.process.kill()
}

func (e *environment) setCurrent(inv *invocation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.current = inv
}

// answered reports whether the current request has its answer.
func (e *environment) answered() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.current == nil
}

// claim takes the right to answer: the first answer of the current request.
func (e *environment) claim(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.current == nil || e.current.id != id {
		return false
	}
	e.current = nil
	return true
}
