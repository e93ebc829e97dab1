package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/streamsort/streamsort/internal/dev/front"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/localstack"
)

// bench is what the soak runs on: a server, the network in front of it, and the
// stack.
type bench struct {
	network *network
	stack   *localstack.Stack
	logs    string
	stop    func()
}

// start starts everything, on a network on which nothing goes wrong yet.
func start(ctx context.Context, o options, out io.Writer) (*bench, error) {
	root, err := localdb.Root()
	if err != nil {
		return nil, err
	}
	kind := front.Steady()
	fmt.Fprintf(out, "==> starting %s, MiniStack, and the functions of verify/soak/streamsort.patch.json\n", kind)
	b := &bench{network: newNetwork(front.Transport(), o.seed), logs: filepath.Join(root, ".build", "soak")}
	database, err := front.Start(ctx, kind, "", b.network)
	if err != nil {
		return nil, err
	}
	b.stack, err = localstack.Run(ctx, localstack.Config{
		Templates: templates(root),
		// A full round now and then: it finds what a crash and a dropped record
		// left without a mark.
		Env:    map[string]string{"SweepFunction.STREAMSORT_FULL_SWEEP_EVERY": "30s"},
		Server: database.URL, LogDir: b.logs, Logger: slog.New(slog.DiscardHandler), Chaos: chaos(o.seed),
	})
	if err != nil {
		database.Close()
		return nil, err
	}
	b.stop = func() { b.stack.Close(); database.Close() }
	return b, nil
}

// chaos is what goes wrong with functions and with batches of the streams.
func chaos(seed uint64) localstack.Chaos {
	return localstack.Chaos{Seed: seed, Kill: 0.01, Duplicate: 0.05, Drop: 0.02, Late: 0.05, LateBy: 2 * time.Second}
}

// templates are those of the stack that is under test, and of its sinks.
func templates(root string) []string {
	folder := filepath.Join(root, "verify", "soak")
	return []string{filepath.Join(folder, "streamsort.patch.json"), filepath.Join(folder, "sinks.template.json")}
}
