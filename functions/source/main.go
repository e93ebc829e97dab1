// Command source is the function that takes the events of a source of AWS: of SQS, SNS,
// EventBridge, Kinesis, S3, DynamoDB Streams or Kafka. Each source has a function of its own of
// this program, so that it has the rights for its own queues alone, and its failures are its own.
// The source is described by the variable STREAMSORT_SOURCE, or by the file that it names (package
// assetfile); package source of internal has its format, and what is promised.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/assetfile"
	"github.com/streamsort/streamsort/internal/calllog"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/internal/source"
	"github.com/streamsort/streamsort/pkg/cursor"
)

func main() { runtime.Main(newHandler) }

// headroom is how long before the function's time is over it stops, and answers which records have
// to be repeated.
const headroom = 2 * time.Second

// The function's own variables.
const (
	// sourceVariable holds the source, failureVariable the URL of the queue of what is set aside.
	sourceVariable, failureVariable = "STREAMSORT_SOURCE", "STREAMSORT_FAILURE_QUEUE"
)

func newHandler(d *runtime.Deps) (runtime.Handler, error) {
	d.CountRates()
	from, err := describe(os.Getenv(sourceVariable))
	d.Check(err)
	aside, err := newAside(from, os.Getenv(failureVariable), d.Announcer())
	d.Check(err)
	s := &service{source: from, sorter: d.Sorter(), aside: aside, quotas: d.Quotas(), log: d.Log}
	return runtime.Handle(d, headroom, s.handle), nil
}

func describe(text string) (*source.Source, error) {
	where := sourceVariable
	if strings.HasSuffix(text, ".json") {
		file, path, err := assetfile.Text(os.Getenv("LAMBDA_TASK_ROOT"), text)
		if err != nil {
			return nil, err
		}
		where, text = path, string(file)
	}
	from, err := source.Read([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	return from, nil
}

type service struct {
	source *source.Source
	sorter *cursor.Sorter
	// aside takes what makes no message.
	aside  *aside
	quotas *quota.Keeper
	log    calllog.Log
}

// handle takes an event: stores the messages that its records make, sets aside those that make
// none, and answers which have to be repeated.
//
// Lost answer, or we die at any point: the event comes again, and what is stored is known by its
// ids. What was set aside is so again, under the same id. Another invocation with the same records,
// or some of them: the same.
func (s *service) handle(ctx context.Context, metrics *emf.Metrics,
	raw json.RawMessage) (json.RawMessage, error) {
	event, err := s.source.Split(raw)
	if err != nil {
		metrics.Count("Errors", 1)
		slog.ErrorContext(ctx, "not understood", "source", s.source.Name, "error", err)
		return nil, err
	}
	metrics.Count("SourceRecords", len(event.Records))
	b := &batch{service: s, event: event, metrics: metrics, received: time.Now(),
		failed: make([]bool, len(event.Records))}
	b.read()
	b.store(ctx)
	b.setAside(ctx)
	answer, err := event.Answer(b.failed)
	if err != nil {
		err = errors.Join(err, b.why)
	}
	return answer, err
}
