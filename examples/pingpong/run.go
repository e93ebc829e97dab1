package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dev/mortal"
	"github.com/streamsort/streamsort/internal/dev/progress"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/localstack"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// options say how long the game is.
type options struct {
	// rounds is how many messages are answered in each direction, balls how many of
	// them are under way at once.
	rounds, balls int
	// kills is how many copies of the consumer with the database die.
	kills int
}

// last is how often a ball is hit, the serve included: pong hits it last.
func (o options) last() int { return 2*((o.rounds+o.balls-1)/o.balls) - 1 }

// messages is how many messages each queue has in the end.
func (o options) messages() int { return o.balls * (o.last() + 1) / 2 }

// oneStepIn is how many steps of the protocol a copy survives on average, while
// there are kills left; killed is how often a function's process dies in a request.
const (
	oneStepIn = 40
	killed    = 0.03
)

// patience is how long nothing may be hit: longer than the claims of killed
// processes take to run out.
const patience = 3 * time.Minute

// run plays. The error says what the audit found.
func run(ctx context.Context, o options, out io.Writer) error {
	began := time.Now()
	server, err := localdb.Start(ctx, local(), "")
	if err != nil {
		return err
	}
	defer server.Close()
	tables, err := newLossy(server.Endpoint)
	if err != nil {
		return err
	}
	defer tables.Close()
	stack, err := start(ctx, tables.URL)
	if err != nil {
		return err
	}
	defer stack.Close()
	api, err := newLossy(stack.URL())
	if err != nil {
		return err
	}
	defer api.Close()
	deliverer, sorter, err := onTables(server.Endpoint)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "pingpong")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	path := filepath.Join(folder, "ping.db")
	db, err := open(ctx, path)
	if err != nil {
		return err
	}
	defer db.Close()
	arrival := cursor.KindArrival
	for _, queue := range []string{pings, pongs} {
		if _, err := sorter.Configure(ctx, queue, cursor.Change{Kind: &arrival}); err != nil {
			return err
		}
	}
	if _, err := deliverer.Create(ctx, pongs, pinger, delivery.First); err != nil {
		return err
	}
	fmt.Fprintf(out, "==> the stack runs (%.1fs); serving %d balls, each is hit %d times\n", time.Since(began).Seconds(), o.balls, o.last()+1)
	tables.losing.Store(true)
	api.losing.Store(true)
	// All are served before the first is hit back, so that the audit knows where
	// each answer has to be.
	if err := serve(ctx, api.URL, o.balls); err != nil {
		return err
	}
	copies := mortal.Keep(ctx, mortal.Plan{
		Arguments: []string{"ping", api.URL, path, strconv.Itoa(o.last())},
		Copies:    1, Kills: o.kills, OneStepIn: oneStepIn,
	})
	defer copies.Close()
	if err := await(ctx, stack, deliverer, o, out); err != nil {
		return err
	}
	copies.Close()
	tables.losing.Store(false)
	fmt.Fprintf(out, "==> over after %.1fs; killed: %d copies, %d processes of functions; lost: %d of %d responses. The audit:\n",
		time.Since(began).Seconds(), copies.Killed(), stack.Killed(),
		tables.losts.Load()+api.losts.Load(), tables.requests.Load()+api.requests.Load())
	return audit(ctx, sorter, db, o, out)
}

// local is the kind of the server that is started here.
func local() localdb.Kind {
	if kind := localdb.Choose(); kind != localdb.Given {
		return kind
	}
	return localdb.DynamoDBLocal
}

func start(ctx context.Context, server string) (*localstack.Stack, error) {
	root, err := localdb.Root()
	if err != nil {
		return nil, err
	}
	return localstack.Run(ctx, localstack.Config{
		Templates: []string{
			filepath.Join(root, "examples", "pingpong", "streamsort.patch.json"),
			filepath.Join(root, "examples", "pingpong", "pong", "pong.template.json"),
		},
		Env:    map[string]string{"SweepFunction.STREAMSORT_EVENT_BUS": ""},
		Server: server,
		Chaos:  localstack.Chaos{Seed: 1, Kill: killed, Duplicate: 0.1, Late: 0.1, LateBy: 50 * time.Millisecond},
		Logger: slog.New(slog.DiscardHandler),
	})
}

// onTables looks at the tables by a network that loses nothing.
func onTables(endpoint string) (*delivery.Deliverer, *cursor.Sorter, error) {
	client, err := dynamo.New(&dynamo.Options{Endpoint: endpoint})
	if err != nil {
		return nil, nil, err
	}
	store, err := cursor.NewDynamo(client, cursor.Names{})
	if err != nil {
		return nil, nil, err
	}
	sorter, err := cursor.New(store, nil)
	if err != nil {
		return nil, nil, err
	}
	d, err := delivery.New(delivery.NewDynamo(client, delivery.Names{}), sorter, nil)
	return d, sorter, err
}

// serve puts the first messages.
func serve(ctx context.Context, base string, balls int) error {
	api, err := client.New(base)
	if err != nil {
		return err
	}
	for i := range balls {
		body, err := json.Marshal(ball{Ball: i + 1, Hits: 0})
		if err != nil {
			return err
		}
		document := fmt.Appendf(nil, `{"queue":%q,"id":"serve-%d","body":%s}`, pings, i+1, body)
		if _, err := api.Put(ctx, []json.RawMessage{document}); err != nil {
			return err
		}
	}
	return nil
}

// await waits until both consumers have everything.
func await(ctx context.Context, stack *localstack.Stack, d *delivery.Deliverer, o options, out io.Writer) error {
	answered := progress.Wait{Total: 2 * o.messages(), What: "messages are answered", Patience: patience, Sweep: stack.Sweep, Out: out}
	return answered.Until(ctx, func(ctx context.Context) (count int, left string, err error) {
		var unfinished []string
		for queue, name := range map[string]string{pings: "pong", pongs: pinger} {
			list, err := d.Status(ctx, queue)
			if err != nil {
				return 0, "", err
			}
			state := name + " is not there"
			for _, c := range list {
				if c.Name == name {
					count += int(c.Delivered)
					state = fmt.Sprintf("%s is %s at %d of %d: %s", name, c.State, c.Delivered, c.Position, c.Error)
					if c.State == delivery.Idle && c.Delivered == int64(o.messages()) {
						state = ""
					}
				}
			}
			if state != "" {
				unfinished = append(unfinished, state)
			}
		}
		return count, strings.Join(unfinished, "; "), nil
	})
}
