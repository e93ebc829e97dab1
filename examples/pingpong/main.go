// Command pingpong shows replies with the commit on this machine: two consumers
// answer each other's messages through two queues in arrival order. One is a Lambda
// function that process calls, on the local stack; the other one's effects and
// replies are in one transaction of an SQLite database. Both, and the stack's
// functions, are killed at random, and one in a hundred responses is lost. In the
// end it audits both queues: each message is answered once, in order.
//
// `make pingpong` runs it; ROUNDS says how many messages there are.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pingpong:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, arguments []string) error {
	if len(arguments) > 0 && arguments[0] == "ping" {
		return ping(ctx, arguments[1:])
	}
	o := options{rounds: 5000, balls: 100, kills: 4}
	if text := os.Getenv("ROUNDS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < o.balls {
			return fmt.Errorf("ROUNDS=%s must be an integer of %d or more", text, o.balls)
		}
		o.rounds = n
	}
	return run(ctx, o, os.Stdout)
}
