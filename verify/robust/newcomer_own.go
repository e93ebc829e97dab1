package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/modproxy"
	"github.com/streamsort/streamsort/internal/dev/sources"
)

// python has the command line write a consumer in Python, which runs behind the stack. Its
// functions and a server are there since the tutorial.
func (n *newcomer) python(ctx context.Context) { n.own(ctx, "python", n.environ) }

// golang does it in Go.
func (n *newcomer) golang(ctx context.Context) { n.own(ctx, "go", n.environ) }

// node does it in Node, and has no Go toolchain: the functions are a release's zips.
func (n *newcomer) node(ctx context.Context) {
	folder := n.zipFunctions()
	tools := filepath.Join(n.dir, "tools") // all that there is on the PATH
	check.Must(os.Mkdir(tools, 0o755))
	for _, tool := range []string{"node", "npm", "java"} {
		path, err := exec.LookPath(tool)
		if errors.Is(err, exec.ErrNotFound) {
			continue // java, where the server does not need it
		}
		check.Must(err)
		check.Must(os.Symlink(path, filepath.Join(tools, tool)))
	}
	n.own(ctx, "node", append(n.environ, "PATH="+tools), "--zips", folder)
}

// own has the command line write a project, does what it says is next, starts the project's stack,
// puts its two messages, the second first, and waits until its function has them.
func (n *newcomer) own(ctx context.Context, language string, environ []string, more ...string) {
	said := n.streamsort(ctx, "init", language, language)
	_, after, found := strings.Cut(said, "streamsort local --watch --consumer ")
	consumer, _, _ := strings.Cut(after, "\n")
	if !found {
		check.Must(fmt.Errorf("init says %q", said))
	}
	folder := filepath.Join(n.dir, language)
	check.Get(n.command(ctx, folder, "sh", "-c", lastLine(said)))
	defer n.stop()
	more = append(more, "--ui=", "--watch", "--consumer", consumer)
	check.Must(n.start(ctx, environ, folder, more...))
	n.streamsort(ctx, "put", filepath.Join(language, "messages.ndjson"), "--url", n.url)
	var lines []string
	check.Must(n.wait(2, "messages are in the function").Until(ctx,
		func(ctx context.Context) (int, string, error) {
			lines = n.log(ctx, "orders")
			return len(lines), "", nil
		}))
	if want := []string{"orders 1: 1200 cents", "orders 2: 250 cents"}; !slices.Equal(lines, want) {
		check.Must(fmt.Errorf("it logs %q, want %q", lines, want))
	}
}

// zipFunctions puts the functions that the stack has built into zips as a release names them.
func (n *newcomer) zipFunctions() string {
	built := filepath.Join(n.dir, "cache", "streamsort", "build", n.release.Version, runtime.GOARCH,
		filepath.FromSlash(modproxy.Root), "functions", "_", "[a-z]*")
	programs, err := filepath.Glob(built)
	if err != nil || len(programs) == 0 {
		check.Must(fmt.Errorf("no functions at %s: %w", built, err))
	}
	folder := filepath.Join(n.dir, "zips")
	check.Must(os.Mkdir(folder, 0o755))
	for _, program := range programs {
		if info, err := os.Stat(program); err != nil || info.IsDir() {
			continue // a program with files beside it
		}
		name := fmt.Sprintf("%s_%s_%s.zip", filepath.Base(program),
			strings.TrimPrefix(n.release.Version, "v"), processor())
		check.Must(sources.Zip(program, filepath.Join(folder, name)))
	}
	return folder
}
