// Package httpsink is the kind of sink that is an HTTP endpoint of anybody's: signed webhooks, in
// order.
//
// One request of a queue is under way at a time, and the next one is made when it was answered with
// a status of 2xx. Whatever else is answered, the message comes again, or blocks its queue: see
// [kind.AnswerError]. What is sent again has the same webhook-id, a timestamp of its own, and a
// higher token.
package httpsink

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/streamsort/streamsort/internal/egress"
	"github.com/streamsort/streamsort/internal/secret"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/internal/sink/lambda"
	"github.com/streamsort/streamsort/pkg/delivery"
)

type sink struct {
	settings settings
	// inner is how requests go to endpoints of the stack's owner, public to those of others.
	inner, public way
	secrets       *secret.Cache
	endpoints     kind.Endpoints
	now           func() time.Time
}

// way is a client, and what it keeps to.
type way struct {
	*http.Client
	egress.Rules
}

func newWay(rules egress.Rules) way {
	return way{&http.Client{Transport: egress.NewTransport(rules, nil),
		CheckRedirect: egress.NoRedirect}, rules}
}

type target struct {
	way
	url  *url.URL
	sign sign
	// secrets are those of the endpoint; nil where sign says where they are.
	secrets [][]byte
	// own says that it is the tenant's own.
	own bool
}

// Open implements [kind.Settings]. The transport is its own: no other one looks at the addresses.
func (s settings) Open(options kind.Options) (kind.Sink, error) {
	rules, err := egress.FromEnvironment()
	if err != nil {
		return nil, err
	}
	rules.Ports = s.Ports
	public := rules
	public.Allow = nil
	to := &sink{settings: s, now: time.Now, endpoints: options.Endpoints, inner: newWay(rules),
		public: newWay(public)}
	if s.Endpoints {
		if to.endpoints == nil {
			return nil, errors.New("endpoints is true, and nothing here knows any")
		}
		return to, nil
	}
	if err := rules.Check(s.URL.URL); err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	if s.Sign.Scheme != "" {
		store, err := secret.NewStore(s.Sign.Secret)
		if err != nil {
			return nil, err
		}
		to.secrets = secret.NewCache(store.Fetch, time.Now)
	}
	return to, nil
}

func (s *sink) Send(ctx context.Context, b delivery.Batch) error {
	all, err := contents(b, s.settings)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return nil // what was skipped is not sent
	}
	to, err := s.target(ctx, b)
	if err != nil {
		return err
	}
	for _, c := range all {
		said, deferred, err := s.post(ctx, to, c)
		if err == nil {
			err = kind.Defer(b, deferred, len(all))
		}
		if err != nil {
			return delivery.DoneUpTo(err, c.from) // those before were taken
		}
		if s.settings.Mode == "batch" {
			upTo, err := lambda.UpTo([]byte(said.Text), c.from, c.to)
			if err != nil {
				return delivery.DoneUpTo(fmt.Errorf("%s answered %w", to.url.Host, err), c.from)
			}
			if upTo < c.to {
				return delivery.DoneUpTo(fmt.Errorf("%s took its batch up to %d", to.url.Host, upTo), upTo)
			}
		}
		b.Answered(said)
	}
	return nil
}

func (s *sink) target(ctx context.Context, b delivery.Batch) (target, error) {
	if !s.settings.Endpoints {
		return target{way: s.inner, url: s.settings.URL.URL, sign: s.settings.Sign}, nil
	}
	e, err := s.endpoints(ctx, b.Consumer, b.Queue)
	if err != nil {
		return target{}, err
	}
	to := target{way: s.inner, sign: sign{Scheme: standard}, own: e.Own}
	if e.Own {
		to.way = s.public
	}
	if to.url, err = egress.ParseURL(e.URL); err == nil {
		err = to.Check(to.url)
	}
	if err != nil {
		return target{}, &kind.AwayError{Err: fmt.Errorf("url: %w", err)}
	}
	for _, text := range e.Secrets {
		to.secrets = append(to.secrets, []byte(text))
	}
	return to, nil
}

// post makes one request, and returns its answer, and for how many seconds that defers the batch.
func (s *sink) post(ctx context.Context, to target,
	c content) (said delivery.Response, deferred string, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.settings.Timeout)
	defer cancel()
	began := s.now()
	r, err := s.request(ctx, to, c, began)
	if err != nil {
		return said, "", err
	}
	answer, err := to.Do(r)
	if err != nil {
		return said, "", unanswered(err, to.url.Host, s.now().Sub(began))
	}
	defer answer.Body.Close()
	said, err = readAnswer(answer, to, s.settings.Mode == "batch", began, s.now)
	return said, answer.Header.Get("Streamsort-Defer-Seconds"), err
}

// unanswered is why a request has no answer: nothing of that is the message's. A URL may hold what
// nobody should read.
func unanswered(err error, host string, took time.Duration) error {
	if of, ok := errors.AsType[*url.Error](err); ok {
		err = of.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s", took.Round(time.Millisecond))
	}
	return &kind.AwayError{Err: fmt.Errorf("%s: %w", host, err)}
}
