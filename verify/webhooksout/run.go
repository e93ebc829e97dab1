package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/consumers"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dev/progress"
	"github.com/streamsort/streamsort/internal/egress"
	"github.com/streamsort/streamsort/localstack"
)

const (
	// consumer is its name.
	consumer = "hooks"
	// environments is how many processes of a function there may be. A slow endpoint takes one for as long as it takes: an
	// account has 1,000, and this machine 16 where nothing else is said.
	environments = 100
	// patience is how long nothing may come out at the end: a killed process may take a wake-up with it, and the sweep, which
	// makes up for it, begins a round every 4 minutes.
	patience = 6 * time.Minute
	// clients is how many calls of the API are made side by side.
	clients = 4
	// killed is how many of the functions' calls have their process killed.
	killed = 0.01
)

// webhooks is a run.
type webhooks struct {
	options
	stack     *localstack.Stack
	client    *client.Client
	endpoints *endpoints
	url       string
	out       io.Writer
	// next is the queue that gets the next message.
	next int
}

// run runs it. The error says what was not as it must be.
func run(ctx context.Context, o options, out io.Writer) error {
	began := time.Now()
	r := &webhooks{options: o, endpoints: newEndpoints(o.queues), out: out}
	server := httptest.NewServer(r.endpoints)
	defer server.CloseClientConnections()
	r.url = server.URL
	stop, err := r.start(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if err := r.putEndpoints(ctx); err != nil {
		return err
	}
	fmt.Fprintf(out, "==> %d endpoints are made (%.0fs); %d messages a second, for %s\n", o.queues, time.Since(began).Seconds(), o.rate, o.time)
	for p := begun; p < phases; p++ {
		r.endpoints.turn(p)
		if err := r.send(ctx, o.time/time.Duration(phases)); err != nil {
			return err
		}
	}
	r.endpoints.turn(allGood)
	fmt.Fprintf(out, "==> all is sent, and all endpoints are good again\n")
	wait := progress.Wait{Total: r.sent(), What: "messages are out", Patience: patience, Out: out}
	err = wait.Until(ctx, func(context.Context) (int, string, error) { return wait.Total - r.endpoints.left(), "", nil })
	return errors.Join(err, r.verdict(began))
}

// start starts the stack, whose process asks our endpoints.
func (r *webhooks) start(ctx context.Context) (stop func(), err error) {
	root, err := localdb.Root()
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(r.url)
	if err != nil {
		return nil, err
	}
	kind := localdb.Choose()
	fmt.Fprintf(r.out, "==> starting %s, and the functions; one in %.0f of their calls is killed\n", kind, 1/killed)
	env := map[string]string{"STREAMSORT_EVENT_BUS": ""}
	for _, function := range []string{"ProcessFunction", "ProcessSlowFunction", "DeliveryFunction"} {
		env[function+"."+egress.AllowVariable] = "127.0.0.0/8"
		env[function+"."+consumers.TextVariable] = consumersText(u.Port())
	}
	r.stack, err = localstack.Run(ctx, localstack.Config{
		Templates: []string{filepath.Join(root, "verify/webhooksout/streamsort.patch.json")}, Env: env,
		Server: string(kind), Logger: slog.New(slog.DiscardHandler), AsyncRetry: time.Second,
		Chaos: localstack.Chaos{Seed: r.seed, Kill: killed}, Concurrency: environments,
		Failed: func(string, string) {},
	})
	if err != nil {
		return nil, err
	}
	r.client, err = client.New(r.stack.URL())
	if err != nil {
		r.stack.Close()
		return nil, err
	}
	return r.stack.Close, nil
}

// consumersText is what consumers.json has beside it, for endpoints at this port.
func consumersText(port string) string {
	return fmt.Sprintf(`{"consumers":[{"name":%q,"retries":["500ms","2s"],
		"sink":{"kind":"http","endpoints":true,"timeout":"3s","ports":[%s]}}]}`, consumer, port)
}

func queueOf(i int) string { return fmt.Sprintf("hooks/%d", i) }

// putEndpoints makes an endpoint for each queue.
func (r *webhooks) putEndpoints(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(clients)
	for i := range r.queues {
		group.Go(func() error {
			var made struct{ Secret string }
			// Where a killed process took the answer with it, the secret is made anew.
			body := fmt.Appendf(nil, `{"consumer":%q,"queue":%q,"url":"%s/%d","rotate":true}`, consumer, queueOf(i), r.url, i)
			if err := r.client.Call(ctx, http.MethodPut, "/endpoints", nil, body, &made); err != nil {
				return err
			}
			return r.endpoints.secret(i, made.Secret)
		})
	}
	return group.Wait()
}

// send sends messages for a time, one queue after the other.
func (r *webhooks) send(ctx context.Context, long time.Duration) error {
	const steps = 10
	group, ctx := errgroup.WithContext(ctx)
	ticker := time.NewTicker(time.Second / steps)
	defer ticker.Stop()
	due := 0.0
	for began := time.Now(); time.Since(began) < long; {
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), group.Wait())
		case <-ticker.C:
		}
		var documents []json.RawMessage
		for due += float64(r.rate) / steps; due >= 1; due-- {
			i := r.next % r.queues
			r.next++
			seq := r.endpoints.put(i)
			documents = append(documents, fmt.Appendf(nil, `{"queue":%q,"seq":%d,"body":%s}`, queueOf(i), seq, bodyOf(i, seq)))
		}
		if len(documents) == 0 {
			continue
		}
		group.Go(func() error {
			outcomes, err := r.client.Put(ctx, documents)
			for i, outcome := range outcomes {
				if outcome.Status >= 300 {
					err = errors.Join(err, fmt.Errorf("%s: %s", documents[i], outcome.Outcome))
				}
			}
			return err
		})
	}
	return group.Wait()
}

// sent is how many messages were put.
func (r *webhooks) sent() (n int) {
	for _, of := range r.endpoints.all {
		n += len(of.sent)
	}
	return n
}

// verdict prints what was seen, and says what was not as it must be.
func (r *webhooks) verdict(began time.Time) error {
	e := r.endpoints
	fmt.Fprintf(r.out, "==> delays of the good endpoints, from the put to the request\n")
	all := e.delaysOf(allGood)
	line := func(what string, p phase) {
		d := e.delaysOf(p)
		fmt.Fprintf(r.out, "    %-40s %5d messages", what, len(d))
		for _, q := range []int{50, 90, 99} {
			of := quantile(d, float64(q)/100)
			fmt.Fprintf(r.out, "  p%d %5d ms (%.2f)", q, of.Milliseconds(), float64(of)/float64(max(quantile(all, float64(q)/100), 1)))
		}
		fmt.Fprintln(r.out)
	}
	line("all are good", allGood)
	line("one in twenty has turned slow, or fails", turned)
	line("one in twenty is slow or fails", known)
	fmt.Fprintf(r.out, "    %d requests were taken, %d of them repeats; %d processes were killed (%.0fs in all)\n",
		e.requests, e.repeats, r.stack.Killed(), time.Since(began).Seconds())
	switch left := e.left(); {
	case len(e.problems) > 0:
		return errors.New(strings.Join(e.problems, "\n"))
	case left > 0:
		return fmt.Errorf("%d messages are lost", left)
	case len(all) == 0 || len(e.delaysOf(known)) == 0:
		return errors.New("no delay was seen: run it for longer")
	}
	fmt.Fprintln(r.out, "==> in order, none lost, and each signature is good")
	return nil
}
