// Package ministack runs MiniStack 1.5.33 (MIT licence), a server that answers
// for many services of AWS, beside the local stack: for resources of SQS, SNS,
// EventBridge, S3 and the like, which this project does not imitate itself.
//
// Call [Start], [Server.Deploy] with a template of those resources, and
// [Server.Close]. MiniStack needs Python 3.10 or newer; the first Start makes
// a Python environment with the pinned packages of requirements.txt, in
// .build/ of the project or in the user's cache folder, which takes some
// seconds and the network. What MiniStack holds is gone when it is closed.
package ministack

import (
	"context"
	"crypto/sha256"
	_ "embed" // for requirements
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/streamsort/streamsort/internal/child"
	"github.com/streamsort/streamsort/internal/localdb"
)

//go:embed requirements.txt
var requirements []byte

// Server is a running MiniStack.
type Server struct {
	Endpoint string // of all its services, as a URL

	starter *child.Starter
	process *exec.Cmd
	exited  chan struct{}
	folder  string // its files and its log, removed by Close
	closing sync.Once
}

// Start starts MiniStack and waits until it answers.
func Start(ctx context.Context) (*Server, error) {
	python, err := environment(ctx)
	if err != nil {
		return nil, fmt.Errorf("MiniStack: %w", err)
	}
	// Another process may take the port in between: try again then.
	for attempt := 0; ; attempt++ {
		s, err := startOnce(ctx, python)
		if err == nil || attempt == 2 || ctx.Err() != nil {
			return s, err
		}
	}
}

// environment is the Python of an environment with the packages; it is made
// where it is missing.
func environment(ctx context.Context) (string, error) {
	parent, err := os.UserCacheDir()
	if root, rootErr := localdb.Root(); rootErr == nil {
		parent, err = filepath.Join(root, ".build"), nil
	}
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(requirements)
	folder := filepath.Join(parent, "ministack-"+hex.EncodeToString(sum[:6]))
	python := filepath.Join(folder, "bin", "python")
	if _, err := os.Stat(python); err == nil {
		return python, nil
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	// Made under another name and moved when it is whole, so that neither a
	// crash nor another process in the middle of it leaves half of one.
	half, err := os.MkdirTemp(parent, "ministack-new-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(half) }()
	if err := install(ctx, half); err != nil {
		return "", err
	}
	if err := os.Rename(half, folder); err != nil {
		if _, err := os.Stat(python); err != nil {
			return "", err
		}
	}
	return python, nil
}

func install(ctx context.Context, folder string) error {
	list := filepath.Join(folder, "requirements.txt")
	if err := os.WriteFile(list, requirements, 0o644); err != nil {
		return err
	}
	for _, command := range [][]string{
		{"python3", "-m", "venv", folder},
		{filepath.Join(folder, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r", list},
	} {
		if out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", filepath.Base(command[0]), err, out)
		}
	}
	return nil
}

func startOnce(ctx context.Context, python string) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	if err := listener.Close(); err != nil {
		return nil, err
	}
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
		process: exec.Command(python, "-c", "from ministack.app import main; main()"),
	}
	s.process.Dir, s.process.Stdout, s.process.Stderr = folder, log, log
	s.process.Env = append(os.Environ(),
		"GATEWAY_PORT="+port, "BIND_HOST=127.0.0.1", "MINISTACK_HOST=localhost", "MINISTACK_REGION=us-east-1",
		"MINISTACK_ACCOUNT_ID=000000000000", "STATE_DIR="+filepath.Join(folder, "state"),
		"S3_DATA_DIR="+filepath.Join(folder, "s3"), "SFTP_ENABLED=0", "IOT_MTLS_ENABLED=0",
		"AWS_ENDPOINT_URL="+s.Endpoint,
	)
	if err := s.starter.Start(s.process); err != nil {
		s.starter.Close()
		_ = os.RemoveAll(folder)
		return nil, err
	}
	go func() {
		_ = s.process.Wait() // it is always killed
		close(s.exited)
	}()
	if err := s.await(ctx); err != nil {
		said, _ := os.ReadFile(log.Name())
		s.Close()
		return nil, fmt.Errorf("MiniStack: %w\n%s", err, said[max(0, len(said)-4096):])
	}
	return s, nil
}

// await waits until the server answers, at most a minute.
func (s *Server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Endpoint+"/_ministack/health", nil)
		if err != nil {
			return err
		}
		if response, err := http.DefaultClient.Do(request); err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
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

// Close ends the server and waits until it is gone. Calling it again does
// nothing.
func (s *Server) Close() {
	s.closing.Do(func() {
		child.Signal(s.process, syscall.SIGKILL)
		<-s.exited
		s.starter.Close()
		_ = os.RemoveAll(s.folder)
	})
}
