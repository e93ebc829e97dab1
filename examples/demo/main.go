// Command demo shows the main job on this machine: it starts the stack's own
// template on the local stack, sends messages out of order over HTTP, watches a
// consumer get them in order, checks that nothing was lost, repeated or out of
// order, and ends. `make demo` runs it; INPUT, MODE, CHAOS, ORDER and
// TRACKED say how.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/streamsort/streamsort/internal/dev/localdb"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := show(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// kept is where the tables are, in the project's folder, when it has ended.
const kept = ".build/demo"

// show runs the demo, and says how to look at what it leaves.
func show(ctx context.Context) error {
	options, err := fromEnvironment()
	if err != nil {
		return err
	}
	root, err := localdb.Root()
	if err != nil {
		return err
	}
	options.data = filepath.Join(root, kept)
	if err := errors.Join(os.RemoveAll(options.data), os.MkdirAll(options.data, 0o755)); err != nil {
		return err
	}
	if err := run(ctx, options, os.Stdout); err != nil {
		return err
	}
	fmt.Printf("==> look at it in a browser: make local ARGS='--data %s', then http://127.0.0.1:4001\n", kept)
	return nil
}
