// Command demo shows the main job on this machine: it starts the stack's own
// template on the local stack, sends messages out of order over HTTP, watches a
// consumer get them in order, checks that nothing was lost, repeated or out of
// order, and ends. `make demo` runs it; INPUT, MODE, CHAOS, ORDER and
// TRACKED say how.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	options, err := fromEnvironment()
	if err == nil {
		err = run(ctx, options, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}
