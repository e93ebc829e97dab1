// Command ledger shows the two-phase delivery on this machine: it starts the
// stack's own template on the local stack, sends messages out of order over HTTP,
// and lets two copies of a consumer book them in one SQLite database, each once
// and in order, while the copies and the stack's functions are killed at random.
// Then it audits the books. `make ledger` runs it; INPUT says where the messages
// come from.
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
	var err error
	if len(os.Args) > 1 && os.Args[1] == "consume" {
		err = consume(ctx, os.Args[2:])
	} else {
		err = run(ctx, options{input: os.Getenv("INPUT"), count: 1500, kills: 4}, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ledger:", err)
		os.Exit(1)
	}
}
