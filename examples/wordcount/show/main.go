// Command show runs the wordcount example on this machine: it starts the stack's
// template with the example's on it, sends two databases, the second one first,
// and prints each step of their trees as it comes, the tries of the word that
// fails twice, the trees with their counts, and how they ended. `make wordcount`
// runs it. It ends with an error where anything is not as it must be.
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
	if err := run(ctx, library, failing, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "wordcount:", err)
		os.Exit(1)
	}
}

// library are the databases, in their order.
var library = []database{
	{{"sea.txt", "The sea is wide, the ship is small"}, {"shore.txt", "The wolf waits"}},
	{{"night.txt", "No ship, no sea"}, {"day.txt", "The sea"}},
}

// failing is the word that fails twice.
const failing = "wolf"
