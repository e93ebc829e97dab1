package lambda

import (
	"os/exec"
	"syscall"

	"github.com/streamsort/streamsort/internal/dev/child"
)

// process is a function's process, the leader of a process group of its own.
type process struct {
	cmd    *exec.Cmd
	output *output
	exited chan struct{} // closed when it has ended and all it wrote is read
	state  string        // how it ended; read after exited
}

// startProcess starts a function's executable in the folder of its code. Each line that it writes
// goes to log.
func startProcess(starter *child.Starter, p Program, env []string,
	log func(string)) (*process, error) {
	out, err := newOutput(log)
	if err != nil {
		return nil, err
	}
	made := &process{output: out, exited: make(chan struct{})}
	made.cmd = &exec.Cmd{
		Path: p.Bootstrap, Args: append([]string{p.Bootstrap}, p.Arguments...), Dir: p.Root, Env: env,
		Stdout: out.writer, Stderr: out.writer,
	}
	if err := starter.Start(made.cmd); err != nil {
		out.close()
		return nil, err
	}
	go made.wait()
	return made, nil
}

func (p *process) wait() {
	_ = p.cmd.Wait() // the state says how it ended
	p.state = p.cmd.ProcessState.String()
	child.Signal(p.cmd, syscall.SIGKILL) // what it started itself
	p.output.close()
	close(p.exited)
}

func (p *process) gone() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// kill ends the process and all that it started, and waits for the end.
func (p *process) kill() {
	if !p.gone() {
		child.Signal(p.cmd, syscall.SIGKILL)
		<-p.exited
	}
}

// freeze stops the process group, as Lambda freezes an environment that has no work; resume
// continues it.
func (p *process) freeze() { child.Signal(p.cmd, syscall.SIGSTOP) }
func (p *process) resume() { child.Signal(p.cmd, syscall.SIGCONT) }
