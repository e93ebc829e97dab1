// Command bench measures what the documentation gives figures of, and prints
// them: what deduplication, acks and claims cost beside other libraries, the size and the start
// of the enqueue function, how many messages a second it takes on this machine,
// and how long one takes to its sink. What an operation costs in requests and
// units is pinned by tests and printed by `make bench` before this.
//
// Figures of a shared machine vary; those of one run are made beside each other.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/streamsort/streamsort/internal/localdb"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	root, err := localdb.Root()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "streamsort-bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := deduplication(ctx); err != nil {
		return err
	}
	if err := acking(ctx); err != nil {
		return err
	}
	if err := handing(ctx); err != nil {
		return err
	}
	if err := sizes(ctx, root, filepath.Join(folder, "arm64")); err != nil {
		return err
	}
	if err := starts(ctx, root, folder); err != nil {
		return err
	}
	if err := throughput(ctx, root); err != nil {
		return err
	}
	return latency(ctx, root)
}
