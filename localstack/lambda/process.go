package lambda

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

// process is a function's process, the leader of a process group of its own.
type process struct {
	cmd    *exec.Cmd
	output *output
	exited chan struct{} // closed when it has ended and all it wrote is read
	state  string        // how it ended; read after exited
}

// spawner starts processes from one operating system thread that lives as long
// as they do: on Linux a child asks to be killed when its parent *thread* dies.
type spawner struct {
	requests chan func()
	done     chan struct{}
}

func newSpawner() *spawner {
	s := &spawner{requests: make(chan func()), done: make(chan struct{})}
	go func() {
		runtime.LockOSThread()
		for start := range s.requests {
			start()
		}
		close(s.done)
	}()
	return s
}

// close ends the thread. All processes must be gone.
func (s *spawner) close() {
	close(s.requests)
	<-s.done
}

// start starts an executable in its own folder. Each line that it writes goes
// to log.
func (s *spawner) start(path string, env []string, log func(string)) (*process, error) {
	out, err := newOutput(log)
	if err != nil {
		return nil, err
	}
	p := &process{output: out, exited: make(chan struct{})}
	p.cmd = &exec.Cmd{
		Path: path, Args: []string{path}, Dir: filepath.Dir(path), Env: env,
		Stdout: out.writer, Stderr: out.writer, SysProcAttr: processAttributes(),
	}
	started := make(chan error)
	s.requests <- func() { started <- p.cmd.Start() }
	if err := <-started; err != nil {
		out.close()
		return nil, err
	}
	go p.wait()
	return p, nil
}

func (p *process) wait() {
	_ = p.cmd.Wait() // the state says how it ended
	p.state = p.cmd.ProcessState.String()
	p.signal(syscall.SIGKILL) // what it started itself
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
		p.signal(syscall.SIGKILL)
		<-p.exited
	}
}

// freeze stops the process group, as Lambda freezes an environment that has
// no work; resume lets it go on.
func (p *process) freeze() { p.signal(syscall.SIGSTOP) }
func (p *process) resume() { p.signal(syscall.SIGCONT) }

// signal sends a signal to the process group. A group that has ended is no
// mistake: whoever waits for it learns of it from exited.
func (p *process) signal(signal syscall.Signal) {
	err := syscall.Kill(-p.cmd.Process.Pid, signal)
	if err != nil && !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH) {
		_ = p.cmd.Process.Signal(signal)
	}
}
