// Command cost prints what Streamsort costs on AWS by published prices, beside
// SQS FIFO and aws-stream-sort. `make cost RATE=… BATCH=… DISORDER=… QUEUES=…`
// runs it; docs/cost.md has the formulae.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/streamsort/streamsort/internal/dev/cost"
)

func main() {
	var w cost.Workload
	var disorder string
	flag.Float64Var(&w.Rate, "rate", 100, "messages a second")
	flag.IntVar(&w.Batch, "batch", 1, "messages of one queue in a request")
	flag.StringVar(&disorder, "disorder", string(cost.InOrder), "order of arrival: 0, 8, 32, reverse or random")
	flag.IntVar(&w.Queues, "queues", 100, "queues that share the rate")
	flag.Parse()
	w.Disorder = cost.Order(disorder)
	err := w.Check()
	if err == nil {
		err = w.Write(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}
