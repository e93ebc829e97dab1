// Command outage shows what a consumer's circuit is for, on the local stack with the real functions:
// process delivers thousands of queues to a sink that is away, and then is back. `make outage` runs it;
// QUEUES and MINUTES set it up.
//
// The consumer's times are the defaults, shortened by one factor, so that the minutes of an outage
// take seconds. The program is the sink: process calls it where Lambda would be, and so each call is
// counted. While it is away each call fails as one of a function does whose database is gone: the
// kind of failure that counts against the message. One queue has a message that is never taken.
//
// It fails where the outage blocks a queue, a message is lost, changed, out of order or repeated without a
// token that shows it, the dead sink is called more often than by one probe an interval, or where the
// message that is never taken does not block its own queue, and that alone.
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
		fmt.Fprintln(os.Stderr, "outage:", err)
		os.Exit(1)
	}
}
