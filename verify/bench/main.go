// Command bench measures what the documentation gives figures of, and prints
// them: what deduplication, acks and claims cost beside other libraries, the size and the start
// of the enqueue function, how many messages a second it and one queue take on this machine,
// and how long one takes to its sink. What an operation costs in requests and
// units is pinned by tests and printed by `make bench` before this.
//
// Figures of a shared machine vary; those of one run are made beside each other.
//
//	go run ./verify/bench              all
//	go run ./verify/bench -only acks   one of them: deduplication, acks, claims, sizes,
//	                            starts, throughput, queue, latency
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/streamsort/streamsort/internal/dev/localdb"
)

func main() {
	only := flag.String("only", "", "the one that is measured")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	if err := run(ctx, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only string) error {
	root, err := localdb.Root()
	if err != nil {
		return err
	}
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
		{"deduplication", func() error { return deduplication(ctx) }},
		{"acks", func() error { return acking(ctx) }},
		{"claims", func() error { return handing(ctx) }},
		{"sizes", func() error { return sizes(ctx, root, filepath.Join(folder, "arm64")) }},
		{"starts", func() error { return starts(ctx, root, folder) }},
		{"throughput", func() error { return throughput(ctx, root) }},
		{"queue", func() error { return oneQueue(ctx) }},
		{"latency", func() error { return latency(ctx, root) }},
	} {
		if only != "" && only != part.name {
			continue
		}
		found = true
		if err := part.measure(); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("-only %q is none of them", only)
	}
	return nil
}
