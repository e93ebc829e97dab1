package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Server is a process that answers on a port of this machine. A nil one is somebody else's, which
// has not ended as far as is known here, and goes on after Close.
type Server struct {
	process *exec.Cmd
	exited  chan struct{}
	closing sync.Once
	said    Tail
}

// Serve starts a server and waits until it answers: command makes it for a free port, and ask asks
// it once. Close it afterwards; it also ends with this process. Another process may take the port
// in between: Serve tries again then, twice.
func Serve(
	ctx context.Context, command func(port int) (*exec.Cmd, error), ask func(context.Context) error,
) (*Server, error) {
	for attempt := 1; ; attempt++ {
		port, held, err := freePort()
		if err != nil {
			return nil, err
		}
		process, err := command(port)
		if err != nil {
			return nil, errors.Join(err, held.Close())
		}
		s := &Server{process: process, exited: make(chan struct{}), said: Tail{Size: 4096}}
		if err := s.start(held); err != nil {
			return nil, err
		}
		if err = Await(ctx, s.exited, ask); err == nil {
			return s, nil
		}
		s.Close()
		if attempt == 3 || ctx.Err() != nil {
			return nil, fmt.Errorf("%w\n%s", err, &s.said)
		}
	}
}

// start starts the process, which holds its port until it ends.
func (s *Server) start(held io.Closer) error {
	s.process.Stdout, s.process.Stderr = &s.said, &s.said
	// A process that it has started may print when it is gone.
	s.process.WaitDelay = time.Second
	starter := NewStarter()
	if err := starter.Start(s.process); err != nil {
		starter.Close()
		return errors.Join(err, held.Close())
	}
	go func() {
		_ = s.process.Wait() // it is always killed
		starter.Close()
		_ = held.Close()
		close(s.exited)
	}()
	return nil
}

// freePort finds a port for a server, which is another's while that starts. held keeps it from
// others who ask here: it is the UDP port of the same number, on which nobody listens.
func freePort() (port int, held io.Closer, err error) {
	const attempts = 100
	for range attempts {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, nil, err
		}
		address := listener.Addr().(*net.TCPAddr)
		held, err := net.ListenUDP("udp", &net.UDPAddr{IP: address.IP, Port: address.Port})
		if err := listener.Close(); err != nil {
			return 0, nil, err
		}
		if err == nil {
			return address.Port, held, nil
		}
	}
	return 0, nil, fmt.Errorf("no port is free: looked at %d", attempts)
}

// Await asks, 5,000 times and not by the clock, until ask returns no error, or the server has
// exited.
func Await(ctx context.Context, exited <-chan struct{}, ask func(context.Context) error) error {
	for polls := 1; ; polls++ {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		if polls == 5000 {
			return fmt.Errorf("no answer in %d polls: %w", polls, err)
		}
		select {
		case <-exited:
			return errors.New("the server ended before it answered")
		case <-ctx.Done():
			return fmt.Errorf("no answer: %w: %w", ctx.Err(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Close ends the server and waits until it is gone.
func (s *Server) Close() {
	if s != nil {
		s.closing.Do(func() { Signal(s.process, syscall.SIGKILL) })
		<-s.exited
	}
}

// Ended reports whether the process is gone, and how: with the last 4 KB that it printed.
func (s *Server) Ended() (how string, ended bool) {
	if s == nil {
		return "", false
	}
	select {
	case <-s.exited:
		return fmt.Sprintf("%s; the last that it said:\n%s", s.process.ProcessState, &s.said), true
	default:
		return "", false
	}
}

// Tail keeps the last that is written to it, by any number of writers.
type Tail struct {
	Size int

	mu   sync.Mutex
	text []byte
}

func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-t.Size):]
	return len(p), nil
}

func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
