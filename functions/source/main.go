// Command source is the function that takes the events of a source of AWS: of SQS, SNS,
// EventBridge, Kinesis, S3, DynamoDB Streams or Kafka. Each source has a function of its own of
// this program, so that it has the rights for its own queues alone, and its failures are its own.
// The source is described by the variable STREAMSORT_SOURCE, or by the file that it names (package
// assetfile); package source of internal has its format, and what is promised.
package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/assetfile"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/internal/source"
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
