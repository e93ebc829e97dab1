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
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/streamsort/streamsort/internal/dev/child"
	"github.com/streamsort/streamsort/internal/dev/pyenv"
	"github.com/streamsort/streamsort/internal/dynamo"
)

//go:embed requirements.txt
var requirements []byte

// Server is a running MiniStack.
type Server struct {
	Endpoint string // of all its services, as a URL
	// Certificate is the file to trust it by, in PEM; empty where it is not strict.
	Certificate string

	client  *http.Client
	process *child.Server
	folder  string // its files, removed by Close
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
	folder, err := os.MkdirTemp("", "streamsort-ministack-*")
	if err != nil {
		return nil, err
	}
	// No request is made again, so none may fail by the SDK's early close of its body.
	s := &Server{client: &http.Client{Transport: dynamo.HTTPClient(nil).Transport}, folder: folder}
	s.process, err = child.Serve(ctx, func(port int) (*exec.Cmd, error) {
		return s.command(python, strconv.Itoa(port), strict)
	}, s.healthy)
	if err != nil {
		_ = os.RemoveAll(folder)
		return nil, fmt.Errorf("MiniStack: %w", err)
	}
	return s, nil
}

// program starts the server.
//
//go:embed start.py
var program string

func (s *Server) command(python, port string, strict bool) (*exec.Cmd, error) {
	s.Endpoint = "http://127.0.0.1:" + port
	command := exec.Command(python, "-c", program)
	command.Dir = s.folder
	command.Env = append(os.Environ(),
		"GATEWAY_PORT="+port, "BIND_HOST=127.0.0.1", "MINISTACK_HOST=localhost",
		"MINISTACK_REGION=us-east-1",
		"MINISTACK_ACCOUNT_ID=000000000000", "STATE_DIR="+filepath.Join(s.folder, "state"),
		"S3_DATA_DIR="+filepath.Join(s.folder, "s3"), "SFTP_ENABLED=0", "IOT_MTLS_ENABLED=0",
	)
	if strict {
		more, err := s.beStrict(port)
		if err != nil {
			return nil, err
		}
		command.Env = append(command.Env, more...)
	}
	command.Env = append(command.Env, "AWS_ENDPOINT_URL="+s.Endpoint)
	return command, nil
}

func (s *Server) healthy(ctx context.Context) error {
	_, err := s.Request(ctx, "health", http.MethodGet, "/_ministack/health", nil)
	return err
}

// Close ends the server and waits until it is gone. Calling it again does nothing.
func (s *Server) Close() {
	s.process.Close()
	_ = os.RemoveAll(s.folder)
}
