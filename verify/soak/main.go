// Command soak puts the whole stack under load and faults on this machine, for
// as long as TIME says, and checks all that comes out against all that went
// in. `make soak` runs it; TIME, RATE and SEED set it up.
//
//	producers ──HTTP──► streamsort.patch.json ──► a function that process calls
//	   200 queues          functions killed,     ──► a FIFO queue
//	   out of order        batches repeated,     ──► a FIFO topic ──► a queue
//	   twice, conflicting  late and dropped,     ──► an event bus ──► a queue
//	                       DynamoDB's answers    ──► a function behind the stream
//	                       lost and refused
//
// One queue is hot, one has a message that no function takes, and one has a gap
// that never fills. The sweep runs every few seconds. When the time is up, the
// soak waits until everything is out of each sink, and ends with a summary; it
// fails where something is lost, out of order, changed, repeated without a
// token that shows it, stuck or not announced.
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
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}
