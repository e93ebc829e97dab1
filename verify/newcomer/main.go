// Command newcomer does what a new user does, from an empty folder with Go, Node and a release
// of this repository as a module proxy: builds a program on the library, and one with traces,
// installs the command line, starts the stack in an empty folder, by a release's zips too, builds
// an app of the CDK, runs it on the local stack, puts messages,
// and sees them come out in order, to a function in Go and to one in Python whose retry comes on
// time. `make newcomer` runs it; it prints how long each step took, and exits with 1 where one
// fails.
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
	{"the command line, installed", install},
	{"the stack, from an empty folder", empty},
	{"the stack by a release's zips, without Go", zips},
	{"an app of the CDK, synthesised", synth},
	{"the app on the local stack", local},
	{"messages out of order", put},
	{"the queue in order", tail},
	{"the consumer in Go", booked},
	{"the consumer in Python, which fails once", charged},
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
