// Package httpsink is the kind of sink that is an HTTP endpoint of anybody's: signed webhooks, in order.
//
// One request of a queue is under way at a time, and the next one is made when it was answered with a status of 2xx.
// Whatever else is answered, the message comes again, or blocks its queue: see [kind.AnswerError]. What is sent again
// has the same webhook-id, a timestamp of its own, and a higher token.
package httpsink

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/streamsort/streamsort/internal/egress"
	"github.com/streamsort/streamsort/internal/secret"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// sink is an endpoint.
type sink struct {
	settings settings
	client   *http.Client
	secrets  *secret.Cache
	now      func() time.Time
}

// Open implements [kind.Settings]. The transport is its own: no other one looks at the addresses.
func (s settings) Open(http.RoundTripper) (kind.Sink, error) {
	allow, err := egress.ParseAllow(os.Getenv(egress.AllowVariable))
	if err != nil {
		return nil, fmt.Errorf("%s %w", egress.AllowVariable, err)
	}
	rules := egress.Rules{Ports: s.ports, Allow: allow}
	if err := rules.Check(s.url); err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	to := &sink{
		settings: s, now: time.Now,
		client: &http.Client{Transport: egress.NewTransport(rules, nil), CheckRedirect: egress.NoRedirect},
	}
	if s.sign.scheme != "" {
		store, err := secret.NewStore(s.sign.secret)
		if err != nil {
			return nil, err
		}
		to.secrets = secret.NewCache(store.Fetch, time.Now)
	}
	return to, nil
}

// Send implements [kind.Sink].
func (s *sink) Send(ctx context.Context, b handoff.Batch) error {
	all, err := contents(b, s.settings.batch, s.settings.bytes)
	if err != nil {
		return err
	}
	for _, c := range all {
		if err := s.post(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// post makes one request.
func (s *sink) post(ctx context.Context, c content) error {
	ctx, cancel := context.WithTimeout(ctx, s.settings.timeout)
	defer cancel()
	began := s.now()
	r, err := s.request(ctx, c, began)
	if err != nil {
		return err
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return s.unanswered(err, s.now().Sub(began))
	}
	defer answer.Body.Close()
	return readAnswer(answer, s.settings.url.Host, began, s.now())
}

// unanswered is why a request has no answer: nothing of that is the message's. A URL may hold what nobody should read.
func (s *sink) unanswered(err error, took time.Duration) error {
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s", took.Round(time.Millisecond))
	}
	return &kind.AwayError{Err: fmt.Errorf("%s: %w", s.settings.url.Host, err)}
}
