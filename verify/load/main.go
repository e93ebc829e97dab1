// Command load puts the stack under a load on this machine, and says what it took: how many messages a
// second, how long they were under way, and what they cost. `make load` runs it; RATE, QUEUES,
// BATCH, DISORDER, TOGETHER and TIME set it up.
//
//	producers ──HTTP──► examples/demo/streamsort.patch.json ──► a function that process calls
//
// Nothing goes wrong on purpose: verify/soak is for that. It fails where a message is lost, out of
// order or changed, and where one comes again that its token does not tell. Times are those of this machine and its server, and say nothing of
// AWS; requests and units are charged by AWS's rules, and dollars by the prices of `make cost`.
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
	options, err := fromEnvironment(os.Getenv)
	if err == nil {
		err = run(ctx, options, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}
