// Package ministack runs MiniStack 1.5.33 (MIT licence), a server that answers for many services of
// AWS, beside the local stack: for resources of SQS, SNS, EventBridge, S3 and the like, which this
// project does not imitate itself.
//
// Call [Start], [Server.Deploy] with a template of those resources, and [Server.Close].
// [StartStrict] starts one that `cdk deploy` can be tried on. MiniStack needs Python 3.10 or newer;
// the first start makes a Python environment with the pinned packages of requirements.txt, in
// .build/ of the project or in the user's cache folder, which takes some seconds and the network.
// What MiniStack holds is gone when it is closed.
package ministack

import (
	"context"
	_ "embed" // for requirements and program
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/streamsort/streamsort/internal/dev/child"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dev/pyenv"
)

//go:embed requirements.txt
var requirements []byte

// Server is a running MiniStack.
type Server struct {
	Endpoint string // of all its services, as a URL
	// Certificate is the file to trust it by, in PEM; empty where it is not strict.
	Certificate string

	client  *http.Client
	starter *child.Starter
	process *exec.Cmd
	exited  chan struct{}
	folder  string // its files and its log, removed by Close
	closing sync.Once
}

// Start starts MiniStack and waits until it answers. It allows everybody everything.
func Start(ctx context.Context) (*Server, error) { return start(ctx, false) }

// StartStrict starts MiniStack as near to AWS as it comes: it refuses what is not signed and what
// IAM does not allow, and answers over TLS alone, since the bucket that `cdk bootstrap` makes
// refuses anything else. See [Server.Client].
func StartStrict(ctx context.Context) (*Server, error) { return start(ctx, true) }

func start(ctx context.Context, strict bool) (*Server, error) {
	python, err := pyenv.Python(ctx, "ministack", requirements)
	if err != nil {
		return nil, fmt.Errorf("MiniStack: %w", err)
	}
	// Another process may take the port in between: try again then.
	for attempt := 0; ; attempt++ {
		s, err := startOnce(ctx, python, strict)
		if err == nil || attempt == 2 || ctx.Err() != nil {
			return s, err
		}
	}
}

// program starts the server.
//
//go:embed start.py
var program string

func startOnce(ctx context.Context, python string, strict bool) (*Server, error) {
	free, held, err := localdb.FreePort()
	if err != nil {
		return nil, err
	}
	port, started := strconv.Itoa(free), false
	defer func() {
		if !started {
			_ = held.Close()
		}
	}()
	folder, err := os.MkdirTemp("", "streamsort-ministack-*")
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	s := &Server{
		Endpoint: "http://127.0.0.1:" + port, starter: child.NewStarter(), exited: make(chan struct{}), folder: folder,
		client:  http.DefaultClient,
		process: exec.Command(python, "-c", program),
	}
	s.process.Dir, s.process.Stdout, s.process.Stderr = folder, log, log
	s.process.Env = append(os.Environ(),
		"GATEWAY_PORT="+port, "BIND_HOST=127.0.0.1", "MINISTACK_HOST=localhost", "MINISTACK_REGION=us-east-1",
		"MINISTACK_ACCOUNT_ID=000000000000", "STATE_DIR="+filepath.Join(folder, "state"),
		"S3_DATA_DIR="+filepath.Join(folder, "s3"), "SFTP_ENABLED=0", "IOT_MTLS_ENABLED=0",
	)
	if strict {
		if err := s.beStrict(port); err != nil {
			_ = os.RemoveAll(folder)
			return nil, err
		}
	}
	s.process.Env = append(s.process.Env, "AWS_ENDPOINT_URL="+s.Endpoint)
	if err := s.starter.Start(s.process); err != nil {
		s.starter.Close()
		_ = os.RemoveAll(folder)
		return nil, err
	}
	started = true
	go func() {
		defer held.Close()
		_ = s.process.Wait() // it is always killed
		close(s.exited)
	}()
	if err := s.await(ctx); err != nil {
		s.end()
		said, _ := os.ReadFile(log.Name())
		s.Close()
		return nil, fmt.Errorf("MiniStack: %w\n%s", err, said[max(0, len(said)-4096):])
	}
	return s, nil
}

// await waits until the server answers, for 2,000 polls and not by the clock.
func (s *Server) await(ctx context.Context) error {
	for polls := 1; ; polls++ {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Endpoint+"/_ministack/health", nil)
		if err != nil {
			return err
		}
		if response, err := s.client.Do(request); err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		if polls == 2000 {
			return fmt.Errorf("no answer in %d polls", polls)
		}
		select {
		case <-s.exited:
			return errors.New("it ended before it answered")
		case <-ctx.Done():
			return fmt.Errorf("no answer: %w", ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (s *Server) end() {
	child.Signal(s.process, syscall.SIGKILL)
	<-s.exited
}

// Close ends the server and waits until it is gone. Calling it again does nothing.
func (s *Server) Close() {
	s.closing.Do(func() {
		s.end()
		s.starter.Close()
		_ = os.RemoveAll(s.folder)
	})
}
