// Command bench writes docs/figures.md: what is counted ([figures.Count]), which is the same in every run, and what
// is measured: what deduplication, acks and claims cost beside other libraries, the size and the start
// of the enqueue function, how many messages a second it and one queue take on this machine,
// and how long one takes to its sink.
//
// Figures of a shared machine vary; those of one run are made beside each other.
//
//	go run ./verify/bench                all
//	go run ./verify/bench -only counts   what is counted; the page keeps what was measured
//	go run ./verify/bench -only acks     one that is measured, for the eye only: deduplication, acks, claims,
//	                                     sizes, starts, throughput, queue, latency
package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/streamsort/streamsort/internal/dev/figures"
	"github.com/streamsort/streamsort/internal/dev/localdb"
)

func main() {
	only := flag.String("only", "", "the one that is measured")
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
	var measured bytes.Buffer
	out := io.MultiWriter(shown, &measured)
	folder, err := os.MkdirTemp("", "streamsort-bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	found := false
	for _, part := range []struct {
		name    string
		measure func() error
	}{
		{"deduplication", func() error { return deduplication(ctx, out) }},
		{"acks", func() error { return acking(ctx, out) }},
		{"claims", func() error { return handing(ctx, out) }},
		{"sizes", func() error { return sizes(ctx, out, root, filepath.Join(folder, "arm64")) }},
		{"starts", func() error { return starts(ctx, out, root, folder) }},
		{"throughput", func() error { return throughput(ctx, out, root) }},
		{"queue", func() error { return oneQueue(ctx, out) }},
		{"latency", func() error { return latency(ctx, out, root) }},
	} {
		if only != "" && only != part.name {
			continue
		}
		found = true
		if err := part.measure(); err != nil {
			return err
		}
	}
	switch {
	case !found:
		return fmt.Errorf("-only %q is none of them", only)
	case only != "":
		return nil
	}
	return page.Measured(measured.String())
}
