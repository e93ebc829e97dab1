// Command cost prints what Streamsort costs on AWS by published prices, beside
// SQS FIFO and aws-stream-sort. `make cost RATE=… BATCH=… DISORDER=… QUEUES=…`
// runs it; the tables of docs/reference/cost.md are written by `make cost PAGE=1`.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/streamsort/streamsort/internal/dev/cost"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/pkg/cursor"
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
	order := flags.String("order", "number", "what orders the messages: number or key")
	settle := flags.Duration("settle", 5*time.Second, "the settle window of keyed queues, which no price depends on")
	door := flags.String("door", "api", "where requests come in: api or url")
	logs := flags.String("logs", "outcome", "what is logged of calls that go well: outcome (a sample) or all")
	tracing := flags.String("tracing", "off", "whether X-Ray records calls: on or off")
	page := flags.Bool("page", false, "write the tables of docs/reference/cost.md, and nothing else")
	window := flags.Duration("window", 0, "for how long records are gathered for process")
	linger := flags.Duration("linger", 0, "for how long pkg/producer waits for more, where messages come one by one")
	flags.IntVar(&w.Queues, "queues", 100, "queues that share the rate")
	if err := flags.Parse(arguments); err != nil {
		return fmt.Errorf("%w (RATE is a number, BATCH and QUEUES are whole ones; WINDOW, LINGER and SETTLE have a unit: write 1s or 50ms)", err)
	}
	w.Disorder, w.Keyed = cost.Order(disorder), *order == "key"
	w.URL, w.AllLogs, w.Window = *door == "url", *logs == "all", window.Seconds()
	w.Linger, w.Tracing = linger.Seconds(), *tracing == "on"
	switch {
	case *page:
		root, err := localdb.Root()
		if err != nil {
			return err
		}
		return cost.WritePage(root)
	case *tracing != "on" && *tracing != "off":
		return fmt.Errorf("tracing is %q; write on or off", *tracing)
	case *order != "number" && *order != "key":
		return fmt.Errorf("order is %q; write number or key", *order)
	case *door != "api" && *door != "url":
		return fmt.Errorf("door is %q; write api or url", *door)
	case *logs != "outcome" && *logs != "all":
		return fmt.Errorf("logs is %q; write outcome or all", *logs)
	case *settle < 0 || *settle > cursor.MaxSettle:
		return fmt.Errorf("settle is %v; write 0s to 1h", *settle)
	}
	if err := w.Check(); err != nil {
		return err
	}
	if err := w.Write(out); err != nil || !w.Keyed {
		return err
	}
	_, err := fmt.Fprintf(out, "\nThe window of %v delays each message by as much, and about half a second more.\n", *settle)
	return err
}
