// Command demo shows the main job on this machine: it starts the stack's own template on the local
// stack, shows a gap, a crash and a retry with five messages, sends thousands out of order over
// HTTP, watches a consumer get them in order, checks that nothing was lost, repeated or out of
// order, and ends. `make demo` runs it; INPUT, MODE, CHAOS and STAY say how.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/streamsort/streamsort/internal/dev/check"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := show(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// show runs the demo.
func show(ctx context.Context) error {
	options, err := fromEnvironment()
	if err == nil && options.input == "" {
		err = check.Try(func() { story(ctx, os.Stdout) })
	}
	if err != nil {
		return err
	}
	return run(ctx, options, os.Stdout)
}
