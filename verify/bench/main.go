// Command bench writes docs/reference/figures.md: what is counted ([figures.Count]), which is the same in every run, and what
// is measured: what deduplication, acks and claims cost beside other libraries, the size and the start
// of the enqueue function, how many messages a second it and one queue take on this machine,
// and how long one takes to its sink.
//
// Figures of a shared machine vary; those of one table are made beside each other.
//
//	go run ./verify/bench                all
//	go run ./verify/bench -only counts   what is counted, and its pictures; the page keeps what was measured
//	go run ./verify/bench -only acks     one table that is measured, and the page keeps the others: deduplication, acks,
//	                                     claims, function, throughput, queue, latency
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/streamsort/streamsort/internal/dev/figures"
	"github.com/streamsort/streamsort/internal/dev/localdb"
)

func main() {
	only := flag.String("only", "", "the one table that is written again")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	if err := run(ctx, os.Stdout, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, shown io.Writer, only string) error {
	root, err := localdb.Root()
	if err != nil {
		return err
	}
	page := figures.At(root)
	if only == "" || only == "counts" {
		tables, err := figures.Count(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintln(shown, figures.Text(tables))
		if err := cmp.Or(page.Counted(tables), drawPictures(root, tables)); err != nil || only != "" {
			return err
		}
	}
	folder, err := os.MkdirTemp("", "streamsort-bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	var measured []figures.Measured
	for _, part := range []struct {
		name    string
		measure func() (figures.Measured, error)
	}{
		{"deduplication", func() (figures.Measured, error) { return deduplication(ctx) }},
		{"acks", func() (figures.Measured, error) { return acking(ctx) }},
		{"claims", func() (figures.Measured, error) { return handing(ctx) }},
		{"function", func() (figures.Measured, error) { return function(ctx, root, folder) }},
		{"throughput", func() (figures.Measured, error) { return throughput(ctx, root) }},
		{"queue", func() (figures.Measured, error) { return oneQueue(ctx) }},
		{"latency", func() (figures.Measured, error) { return latency(ctx, root) }},
	} {
		if only != "" && only != part.name {
			continue
		}
		m, err := part.measure()
		if err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		text, err := m.Text()
		if err != nil {
			return err
		}
		fmt.Fprint(shown, text)
		measured = append(measured, m)
	}
	switch {
	case measured == nil:
		return fmt.Errorf("-only %q is not one of them", only)
	case only != "":
		return page.MeasuredAgain(measured[0])
	}
	return page.Measured(measured)
}
