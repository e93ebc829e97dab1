package main

import (
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dev/modproxy"
)

// programs are what the new user writes.
//
//go:embed testdata
var programs embed.FS

// newcomer is a new user: an empty folder, an own home, and an environment in which the go command
// takes this repository's modules from the release.
type newcomer struct {
	root    string // of the repository
	dir     string
	environ []string
	release *modproxy.Proxy

	stack *exec.Cmd // that runs the app
	url   string    // of its API
}

func begin() (*newcomer, error) {
	root, err := localdb.Root()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "newcomer-")
	if err != nil {
		return nil, err
	}
	n := &newcomer{root: root, dir: dir}
	if n.release, err = modproxy.Write(filepath.Join(dir, "proxy"), root); err != nil {
		n.end()
		return nil, err
	}
	environ, err := n.release.Environ()
	if err != nil {
		n.end()
		return nil, err
	}
	// The folder of caches is the user's own; the go command keeps its own ones, but where COLD is
	// set.
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		n.end()
		return nil, err
	}
	if os.Getenv("COLD") != "" {
		environ, cache = append(environ, "GOMODCACHE="+filepath.Join(dir, "modules")), []byte(filepath.Join(dir, "builds"))
	}
	n.environ = append(os.Environ(), append(environ,
		"GOCACHE="+strings.TrimSpace(string(cache)), "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "GOBIN="+filepath.Join(dir, "bin"))...)
	return n, nil
}

// end stops the stack, and removes all that the new user made, and what the go command has kept of
// the release.
func (n *newcomer) end() {
	n.stop()
	if n.release != nil {
		if err := n.release.Forget(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	if err := os.RemoveAll(n.dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// command runs a program in a folder, and returns what it printed, without the last line's end.
func (n *newcomer) command(ctx context.Context, folder, name string, arguments ...string) (string, error) {
	c := exec.CommandContext(ctx, name, arguments...)
	c.Dir, c.Env = folder, n.environ
	var errs strings.Builder
	c.Stderr = &errs
	said, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(arguments, " "), err, said, &errs)
	}
	return strings.TrimSuffix(string(said), "\n"), nil
}

// module writes a program of the new user's into a module of its own, which requires the release of
// some of this repository's.
func (n *newcomer) module(ctx context.Context, name string, requires ...string) (string, error) {
	folder := filepath.Join(n.dir, name)
	if err := os.Mkdir(folder, 0o755); err != nil {
		return "", err
	}
	text, err := programs.ReadFile("testdata/" + name + "/main.go")
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(folder, "main.go"), text, 0o600); err != nil {
		return "", err
	}
	if _, err := n.command(ctx, folder, "go", "mod", "init", "example.com/"+name); err != nil {
		return "", err
	}
	get := []string{"get"}
	for _, path := range requires {
		get = append(get, path+"@"+n.release.Version)
	}
	if _, err := n.command(ctx, folder, "go", get...); err != nil {
		return "", err
	}
	_, err = n.command(ctx, folder, "go", "mod", "tidy")
	return folder, err
}
