package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/modproxy"
)

// newcomer is a new user: an empty folder, an own home, and an environment in which the go command
// takes this repository's modules from the release.
type newcomer struct {
	*world
	dir     string
	environ []string
	release *modproxy.Proxy

	local *exec.Cmd // the local stack that runs
	url   string    // of its API
}

// install does what a new user does, from an empty folder with Go, Node and a release of this
// repository as a module proxy. With COLD=1 the go command's caches are empty at first, as on a new
// machine.
func install(ctx context.Context, w *world) {
	dir := check.Get(os.MkdirTemp("", "newcomer-")) // no folder of the project's
	w.Later(func() { _ = os.RemoveAll(dir) })
	n := &newcomer{world: w, dir: dir}
	n.release = check.Get(modproxy.Write(filepath.Join(dir, "proxy"), w.Root))
	w.Later(func() { _ = n.release.Forget() })
	environ := check.Get(n.release.Environ())
	// The folder of caches is the user's own; the go command keeps its own ones, but where COLD is
	// set.
	cache := check.Get(execute(ctx, w.Root, nil, "go", "env", "GOCACHE"))
	if w.number("COLD") == 1 {
		environ, cache = append(environ, "GOMODCACHE="+filepath.Join(dir, "modules")),
			filepath.Join(dir, "builds")
	}
	n.environ = append(os.Environ(), append(environ,
		"GOCACHE="+cache, "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+filepath.Join(dir, "cache"),
		"GOBIN="+filepath.Join(dir, "bin"))...)
	w.Later(n.stop)
	w.stages(ctx, []stage{
		{"a program on the library", n.library},
		{"one with traces", n.traced},
		{"the tutorial", n.tutorial},
		{"the version", n.version},
		{"a function in Python", n.python},
		{"a function in Go", n.golang},
		{"a function in Node, by a release's zips and without Go", n.node},
		{"an app of the CDK, synthesised", n.synth},
		{"the app on the local stack", n.app},
		{"messages out of order", n.put},
		{"the queue in order", n.tail},
		{"the consumer in Go", n.booked},
	})
}

// command runs a program of the user's in a folder, and returns what it printed.
func (n *newcomer) command(ctx context.Context, folder, name string,
	arguments ...string) (string, error) {
	return execute(ctx, folder, n.environ, name, arguments...)
}

// all runs programs of the user's in a folder, one after the other.
func (n *newcomer) all(ctx context.Context, folder string, commands ...[]string) {
	for _, c := range commands {
		check.Get(n.command(ctx, folder, c[0], c[1:]...))
	}
}

// streamsort runs the command line that was installed, in the user's folder.
func (n *newcomer) streamsort(ctx context.Context, arguments ...string) string {
	return check.Get(n.command(ctx, n.dir, filepath.Join(n.dir, "bin", "streamsort"), arguments...))
}
