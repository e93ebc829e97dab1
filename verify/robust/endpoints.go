package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"golang.org/x/sync/errgroup"

	"github.com/streamsort/streamsort/internal/consumers"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/internal/dev/trial"
	"github.com/streamsort/streamsort/internal/egress"
	"github.com/streamsort/streamsort/localstack"
)

// answer is how an endpoint answers: with a status, after a time, or never. What is no success is
// not taken.
type answer struct {
	status int
	after  time.Duration
	never  bool
}

var good = answer{status: http.StatusNoContent}

// endpoints are those of queues, or one of all of them, on this machine.
type endpoints struct {
	watched *traffic.Watcher

	mu     sync.Mutex
	answer func(queue string) answer
	hooks  map[string]*standard.Webhook // of those that requests are signed for
}

func newEndpoints(watched *traffic.Watcher) *endpoints {
	return &endpoints{watched: watched, answer: func(string) answer {
		return good
	}, hooks: map[string]*standard.Webhook{}}
}

// turn says how the endpoints answer from now on.
func (e *endpoints) turn(answer func(queue string) answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer = answer
}

// of is how a queue's endpoint answers now, and what its requests are signed with.
func (e *endpoints) of(queue string) (answer, *standard.Webhook) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.answer(queue), e.hooks[queue]
}

// ServeHTTP implements [http.Handler]: POST /QUEUE of those with a secret.
func (e *endpoints) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	queue, err := url.PathUnescape(r.Header.Get("Streamsort-Queue"))
	body, failed := io.ReadAll(r.Body)
	if err != nil || failed != nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	answer, hook := e.of(queue)
	due := time.After(answer.after)
	if answer.never {
		due = nil
	}
	select {
	case <-due:
	case <-r.Context().Done():
		return
	}
	if answer.status < 300 {
		e.take(r, queue, body, hook, began)
	}
	w.WriteHeader(answer.status)
}

// take takes a request, and notes what is wrong with it.
func (e *endpoints) take(r *http.Request, queue string, body []byte, hook *standard.Webhook,
	at time.Time) {
	h := r.Header
	seq, _ := strconv.ParseInt(h.Get("Streamsort-Seq"), 10, 64)
	number, _, _ := strings.Cut(h.Get("Streamsort-Token"), "-")
	token, _ := strconv.ParseInt(number, 10, 64)
	p := traffic.At(queue, seq)
	if hook != nil {
		if r.URL.Path != "/"+queue {
			e.watched.Not("%v came to the endpoint %s", p, r.URL.Path)
		}
		if err := hook.Verify(body, h); err != nil {
			e.watched.Not("%v: its signature is not taken: %v", p, err)
		}
	}
	sums := traffic.Sums{Exact: traffic.Sum(body)}
	e.watched.Take(traffic.Output{Place: p, Token: token, ID: h.Get("Webhook-Id"), Sums: sums, At: at})
}

// startEndpoints starts the stack whose process delivers each of these queues to an endpoint of its
// own.
func (w *world) startEndpoints(ctx context.Context, timeout string, c localstack.Config,
	queues []string) *endpoints {
	e := newEndpoints(w.Watch("endpoints", traffic.Named, traffic.All))
	address := w.Serve(e)
	text := endpointConsumers(address, timeout)
	c.Env = map[string]string{"STREAMSORT_EVENT_BUS": ""}
	for _, function := range []string{"ProcessFunction", "ProcessSlowFunction", "DeliveryFunction"} {
		c.Env[function+"."+egress.AllowVariable] = "127.0.0.0/8"
		c.Env[function+"."+consumers.TextVariable] = text
	}
	c.AsyncRetry = time.Second
	c.Failed = func(string, string) {} // what fails here fails on purpose
	w.Start(ctx,
		trial.Setup{Templates: []string{"verify/robust/hooks/streamsort.patch.json"}, Config: c})
	check.Must(e.put(ctx, w, address, queues))
	return e
}

// endpointConsumers is what consumers.json has beside it, for endpoints at this address.
func endpointConsumers(address, timeout string) string {
	return fmt.Sprintf(`{"consumers":[{"name":"hooks","retries":["500ms","2s"],
		"sink":{"kind":"http","endpoints":true,"timeout":%q,"ports":[%s]}}]}`, timeout,
		check.Get(url.Parse(address)).Port())
}

// put makes an endpoint for each queue, of the same path.
func (e *endpoints) put(ctx context.Context, w *world, address string, queues []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for _, queue := range queues {
		group.Go(func() error {
			var made struct{ Secret string }
			// Where a killed process took the answer with it, the secret is rotated.
			body := fmt.Appendf(nil, `{"consumer":"hooks","queue":%q,"url":"%s/%[1]s","rotate":true}`,
				queue, address)
			if err := w.Sender.Client.Call(ctx, http.MethodPut, "/endpoints", nil, body, &made); err != nil {
				return err
			}
			hook, err := standard.NewWebhook(made.Secret)
			e.mu.Lock()
			defer e.mu.Unlock()
			e.hooks[queue] = hook
			return err
		})
	}
	return group.Wait()
}
