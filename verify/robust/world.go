package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os/exec"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/progress"
	"github.com/streamsort/streamsort/internal/dev/trial"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// world is what a scenario runs in, with its settings.
type world struct {
	*trial.World
	values
}

func newWorld(v values, out io.Writer) (*world, error) {
	w, err := trial.New(out)
	return &world{w, v}, err
}

// stage is a part of a scenario.
type stage struct {
	what string
	do   func(context.Context)
}

// stages does one after the other, and prints how long each takes.
func (w *world) stages(ctx context.Context, all []stage) {
	for _, s := range all {
		began := time.Now()
		w.Say("%s", s.what)
		if err := check.Try(func() { s.do(ctx) }); err != nil {
			check.Must(fmt.Errorf("%s: %w", s.what, err))
		}
		w.Print("%.1f s", time.Since(began).Seconds())
	}
}

// execute runs a program in a folder, and returns what it printed, without the last line's end. No
// environment is this process's.
func execute(ctx context.Context, folder string, environ []string, name string,
	arguments ...string) (string, error) {
	c := exec.CommandContext(ctx, name, arguments...)
	c.Dir, c.Env = folder, environ
	var errs strings.Builder
	c.Stderr = &errs
	said, err := c.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(arguments, " "), err, said, &errs)
	}
	return strings.TrimSuffix(string(said), "\n"), err
}

// wait is for so many, as long as the claims of killed processes last.
func (w *world) wait(total int, what string) progress.Wait {
	return progress.Wait{Total: total, What: what, Patience: claimPatience, Out: w.Out}
}

// sweepEvery is the time between two runs of the sweep, which has minutes on AWS.
const sweepEvery = 4 * time.Second

// sweeps runs the sweep until the context ends. What one that fails or is killed leaves, the next
// one does.
func (w *world) sweeps(ctx context.Context) error {
	return each(ctx, sweepEvery, w.Stack.Sweep)
}

// each does something each time that a period is over, until it fails or the context ends.
func each(ctx context.Context, period time.Duration, do func(context.Context) error) error {
	for due := time.Tick(period); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-due:
		}
		if err := do(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// tables looks at the stack's tables.
func (w *world) tables() (*delivery.Deliverer, *cursor.Sorter) {
	client := check.Get(dynamo.New(&dynamo.Options{Endpoint: w.Direct}))
	sorter := check.Get(cursor.New(check.Get(cursor.NewDynamo(client, cursor.Names{})), nil))
	return check.Get(delivery.New(delivery.NewDynamo(client, delivery.Names{}), sorter, nil)), sorter
}

// blocked are the queues of which a consumer is blocked.
func (w *world) blocked(ctx context.Context) ([]string, error) {
	rows, err := trial.Get[struct{ Queue string }](ctx, w.Sender.Client, "/consumers",
		url.Values{"state": {"blocked"}, "limit": {"50"}})
	queues := make([]string, len(rows))
	for i, r := range rows {
		queues[i] = r.Queue
	}
	return queues, err
}
