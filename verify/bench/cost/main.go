// Command cost prints what Streamsort costs on AWS by published prices, beside SQS FIFO and
// aws-stream-sort. `make cost RATE=… BATCH=… DISORDER=… QUEUES=…` runs it; the tables of
// docs/reference/cost.md are written by `make cost PAGE=1`.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/streamsort/streamsort/internal/dev/cost"
	"github.com/streamsort/streamsort/internal/dev/localdb"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

func run(arguments []string, out io.Writer) error {
	var w cost.Workload
	flags := flag.NewFlagSet("cost", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error says it all
	flags.Float64Var(&w.Rate, "rate", 100, "messages a second")
	flags.IntVar(&w.Batch, "batch", 1, "messages of one queue in a request")
	flags.IntVar(&w.Queues, "queues", 100, "queues that share the rate")
	disorder := flags.String("disorder", string(cost.InOrder),
		"order of arrival: 0, 8, 32, reverse or random")
	flags.Func("order", "what orders the messages", either(&w.Keyed, "number", "key"))
	flags.Func("door", "where requests come in", either(&w.URL, "api", "url"))
	flags.Func("logs", "what is logged of calls that go well: outcome is a sample",
		either(&w.AllLogs, "outcome", "all"))
	flags.Func("tracing", "whether X-Ray records calls", either(&w.Tracing, "off", "on"))
	window := flags.Duration("window", 0, "for how long records are gathered for process")
	linger := flags.Duration("linger", 0,
		"for how long pkg/producer waits for more, where messages come one by one")
	page := flags.Bool("page", false,
		"write the tables of docs/reference/cost.md and the README, and nothing else")
	if err := flags.Parse(arguments); err != nil {
		return fmt.Errorf("%w (RATE is a number, BATCH and QUEUES are whole ones; WINDOW and LINGER have a unit: write 1s or 50ms)", err)
	}
	w.Disorder, w.Window, w.Linger = cost.Order(*disorder), window.Seconds(), linger.Seconds()
	if *page {
		root, err := localdb.Root()
		if err != nil {
			return err
		}
		return cost.Page(root, true)
	}
	if err := w.Check(); err != nil {
		return err
	}
	return w.Write(out)
}

// either reads one of two words.
func either(second *bool, words ...string) func(string) error {
	return func(text string) error {
		if *second = text == words[1]; !*second && text != words[0] {
			return fmt.Errorf("write %s or %s", words[0], words[1])
		}
		return nil
	}
}
