// Command show runs the payments example on this machine: it starts the stack's
// template with the example's on it and a bank, sends orders out of order, kills
// the example's process again and again, and ends when all orders are paid, with
// what the bank saw. `make payments` runs it.
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
	if err := run(ctx, 20, 15, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "payments:", err)
		os.Exit(1)
	}
}
