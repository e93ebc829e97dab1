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
	"sync"
	"time"

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
			config := sqs.Config{Queue: l.Queues[i], Reader: m, Invoke: s.invoker(m.Function),
				Chaos: s.config.Chaos.Queues, Logger: s.config.Logger}
			config.Chaos.Seed = s.config.Chaos.Seed
			s.queues = append(s.queues, readQueue{config.Queue, m, sqs.New(config)})
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
		action := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), sqsTarget)
		name := path.Base(call.QueueURL)
		i := slices.IndexFunc(s.queues, func(q readQueue) bool { return q.Name == name })
		forFailures := func(l *loaded) bool { // where no function reads it
			return slices.ContainsFunc(l.Queues, func(q template.Queue) bool { return q.Name == name })
		}
		var status int
		var document any
		switch {
		case i >= 0:
			status, document = s.queues[i].runner.Answer(action, raw)
		case slices.ContainsFunc(s.templates, forFailures):
			status, document = sqs.AnswerUnread(action, raw, func(body string) {
				s.failures.add(name, []byte(body))
			})
		default:
			r.Body = io.NopCloser(bytes.NewReader(raw))
			others.ServeHTTP(w, r)
			return
		}
		writeJSON(w, status, document)
	})
}

// Failure is a message that a queue for failures took: what an event source mapping or an
// asynchronous invocation gave up on.
type Failure struct {
	Queue   string // name
	At      time.Time
	Message json.RawMessage // as AWS writes it
}

// failures keeps messages in the order of their arrival, in memory.
type failures struct {
	mu  sync.Mutex
	all []Failure
}

func (f *failures) add(queue string, message []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, Failure{queue, time.Now().UTC(), message})
}

// Failures are the messages in all queues for failures, oldest first.
func (s *Stack) Failures() []Failure {
	s.failures.mu.Lock()
	defer s.failures.mu.Unlock()
	return slices.Clone(s.failures.all)
}
