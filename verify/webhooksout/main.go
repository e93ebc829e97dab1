// Command webhooksout shows what slow and failing endpoints of webhooks cost the others, on the local stack with the real
// functions: process delivers each queue to an endpoint of its own, and processes are killed at random. `make webhooks-out`
// runs it; QUEUES, TIME and RATE set it up.
//
// Each endpoint is made by PUT /endpoints. The program is all of them, on this machine's loopback addresses, which are allowed
// for this run. In phases, of which each takes as long, all of them answer at once, then one in twenty turns slow, fails, or
// does not answer at all, and then these stay so. The delays of all others, from the put of a message to the request that
// brings it, are shown for each, with their ratio to the first.
//
// It fails where a message comes out of order or is lost, where a repeat has no higher token or another webhook-id, or where
// the library of Standard Webhooks does not take a signature.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	options, err := fromEnvironment(os.Getenv)
	if err == nil {
		err = run(ctx, options, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "webhooksout:", err)
		os.Exit(1)
	}
}

// options say how large the run is.
type options struct {
	// queues is how many have an endpoint, 20 to 10,000.
	queues int
	// time is how long messages are sent, 5 seconds to an hour.
	time time.Duration
	// rate is how many are sent a second, 1 to 1,000.
	rate int
	seed uint64
}

// fromEnvironment reads QUEUES, TIME, RATE and SEED. The error names what is wrong.
func fromEnvironment(get func(string) string) (options, error) {
	o := options{queues: 1000, time: 80 * time.Second, rate: 50, seed: 1}
	var errs []error
	read := func(name string, low, high int, set func(int)) {
		text := get(name)
		if text == "" {
			return
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < low || n > high {
			errs = append(errs, fmt.Errorf("%s=%s must be a number from %d to %d", name, text, low, high))
		}
		set(n)
	}
	read("QUEUES", 20, 10_000, func(n int) { o.queues = n })
	read("RATE", 1, 1000, func(n int) { o.rate = n })
	read("SEED", 1, 1<<30, func(n int) { o.seed = uint64(n) })
	if text := get("TIME"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d < 5*time.Second || d > time.Hour {
			errs = append(errs, fmt.Errorf("TIME=%s must be a duration from 5s to 1h", text))
		}
		o.time = d
	}
	return o, errors.Join(errs...)
}
