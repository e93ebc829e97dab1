package localstack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/localstack/sqs"
	"github.com/streamsort/streamsort/localstack/template"
)

// Queue is a queue that a function reads, and what has become of its messages.
type Queue struct {
	LogicalID, Name string
	Function        string // name
	Stats           sqs.Stats
}

// readQueue is such a queue with its reader.
type readQueue struct {
	template.Queue
	reader template.QueueMapping
	runner *sqs.Queue
}

// addQueues makes the queues that functions read.
func (s *Stack) addQueues() error {
	var errs []error
	for _, l := range s.templates {
		for _, m := range l.Readers {
			i := slices.IndexFunc(l.Queues, func(q template.Queue) bool { return q.Name == m.Queue })
			if i < 0 || l.Queues[i].Fifo {
				errs = append(errs,
					fmt.Errorf("%s: Resources.%s: queue %q must be a standard queue of the same template", l.path,
						m.LogicalID, m.Queue))
				continue
			}
			queue := l.Queues[i]
			chaos := s.config.Chaos.Queues
			chaos.Seed = s.config.Chaos.Seed
			runner := sqs.New(sqs.Config{
				Queue: queue, Reader: m, Invoke: s.invoker(m.Function), Chaos: chaos, Logger: s.config.Logger,
			})
			s.queues = append(s.queues, readQueue{queue, m, runner})
		}
	}
	return errors.Join(errs...)
}

// Queues are the queues that functions read, in the order of their templates.
func (s *Stack) Queues() []Queue {
	out := make([]Queue, len(s.queues))
	for i, q := range s.queues {
		out[i] = Queue{LogicalID: q.LogicalID, Name: q.Name, Function: q.reader.Function,
			Stats: q.runner.Stats()}
	}
	return out
}

// sqsTarget is how the calls of SQS begin.
const sqsTarget = "AmazonSQS."

// serveSQS answers a call of SQS: for a queue that a function reads here, for any other where the
// other services run.
func (s *Stack) serveSQS() http.Handler {
	var others http.Handler = http.HandlerFunc(refuseService)
	if s.services != nil {
		if target, err := url.Parse(s.services.Endpoint); err == nil {
			others = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 2<<20))
		if err != nil {
			return // who asked is gone
		}
		var call struct {
			QueueURL string `json:"QueueUrl"`
		}
		_ = json.Unmarshal(raw, &call)
		for _, q := range s.queues {
			if q.Name == path.Base(call.QueueURL) {
				status, document := q.runner.Answer(
					strings.TrimPrefix(r.Header.Get("X-Amz-Target"), sqsTarget), raw)
				writeJSON(w, status, document)
				return
			}
		}
		if name := path.Base(call.QueueURL); s.isForFailures(name) {
			status, document := sqs.AnswerUnread(strings.TrimPrefix(r.Header.Get("X-Amz-Target"), sqsTarget),
				raw, func(body string) {
					s.failures.add(name, []byte(body))
				})
			writeJSON(w, status, document)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(raw))
		others.ServeHTTP(w, r)
	})
}

// isForFailures tells that a queue of the templates takes failures, and is read by nobody.
func (s *Stack) isForFailures(name string) bool {
	return slices.ContainsFunc(s.templates, func(l *loaded) bool {
		return slices.ContainsFunc(l.Queues, func(q template.Queue) bool { return q.Name == name })
	})
}

// hasReadQueues tells that the templates have queues that functions read.
func (s *Stack) hasReadQueues() bool {
	return slices.ContainsFunc(s.templates, func(l *loaded) bool { return len(l.Readers) > 0 })
}
