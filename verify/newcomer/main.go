// Command newcomer does what a new user does, from an empty folder with Go, Node and a release of
// this repository as a module proxy: [steps] are what. `make verify S=newcomer` runs it; it prints
// how long each step took, and exits with 1 where one fails. With COLD=1 the go command's caches
// are empty at first, as on a new machine.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "newcomer:", err)
		os.Exit(1)
	}
}

// step is one thing that a new user does.
type step struct {
	name string
	do   func(context.Context, *newcomer) (string, error)
}

var steps = []step{
	{"a program on the library", library},
	{"one with traces", traced},
	{"the tutorial", tutorial},
	{"the version", version},
	{"a function in Python", python},
	{"a function in Go", golang},
	{"a function in Node, by a release's zips and without Go", node},
	{"an app of the CDK, synthesised", synth},
	{"the app on the local stack", local},
	{"messages out of order", put},
	{"the queue in order", tail},
	{"the consumer in Go", booked},
}

func run(ctx context.Context) error {
	n, err := begin()
	if err != nil {
		return err
	}
	defer n.end()
	begun := time.Now()
	for _, s := range steps {
		at := time.Now()
		said, err := s.do(ctx, n)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Printf("%6.1f s  %s: %s\n", time.Since(at).Seconds(), s.name, said)
	}
	fmt.Printf("%6.1f s  PASS\n", time.Since(begun).Seconds())
	return nil
}
