// Package child starts processes that do not outlive this one.
//
// Call [NewStarter], [Starter.Start] for each process, [Signal] to reach a process with all that it
// started itself, and [Starter.Close] when all are gone. [Serve] does it for a server. On Linux the
// kernel kills a child when this process dies; elsewhere a child is only in a group of its own.
package child

import (
	"os/exec"
	"runtime"
	"syscall"
)

// Starter starts processes from one operating system thread that lives as long as they do: on Linux
// a child is killed when the *thread* that started it ends, and Go's threads come and go.
type Starter struct {
	requests chan func()
	done     chan struct{}
}

// NewStarter starts the thread.
func NewStarter() *Starter {
	s := &Starter{requests: make(chan func()), done: make(chan struct{})}
	go func() {
		runtime.LockOSThread()
		for start := range s.requests {
			start()
		}
		close(s.done)
	}()
	return s
}

// Start is command.Start, with a process group of its own; of the attributes that the command has,
// the credential is kept. It must not be called after Close.
func (s *Starter) Start(command *exec.Cmd) error {
	given := command.SysProcAttr
	command.SysProcAttr = attributes()
	if given != nil {
		command.SysProcAttr.Credential = given.Credential
	}
	started := make(chan error)
	s.requests <- func() { started <- command.Start() }
	return <-started
}

// Close ends the thread, and on Linux with it every process that still runs.
func (s *Starter) Close() {
	close(s.requests)
	<-s.done
}

// Signal sends a signal to the process group of a command that was started. A group that is gone
// already is no mistake: the caller that waits for the command learns of its end.
func Signal(command *exec.Cmd, signal syscall.Signal) {
	_ = syscall.Kill(-command.Process.Pid, signal)
}
