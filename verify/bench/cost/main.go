// Command cost prints what Streamsort costs on AWS by published prices, beside
// SQS FIFO and aws-stream-sort. `make cost RATE=… BATCH=… DISORDER=… QUEUES=…`
// runs it; docs/cost.md has the formulae.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/streamsort/streamsort/internal/dev/cost"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

func run(arguments []string, out io.Writer) error {
	var w cost.Workload
	var disorder string
	flags := flag.NewFlagSet("cost", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error says it all
	flags.Float64Var(&w.Rate, "rate", 100, "messages a second")
	flags.IntVar(&w.Batch, "batch", 1, "messages of one queue in a request")
	flags.StringVar(&disorder, "disorder", string(cost.InOrder), "order of arrival: 0, 8, 32, reverse or random")
	flags.IntVar(&w.Queues, "queues", 100, "queues that share the rate")
	if err := flags.Parse(arguments); err != nil {
		return fmt.Errorf("%w (RATE is a number, BATCH and QUEUES are whole ones)", err)
	}
	w.Disorder = cost.Order(disorder)
	if err := w.Check(); err != nil {
		return err
	}
	return w.Write(out)
}
