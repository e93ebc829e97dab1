// Command process is the ready-made consumer behind the cursors table's stream: it delivers every
// queue's messages, in order, to the sinks that consumers.json, or the same text in its
// environment, names. The stack deploys it a second time, as the function that calls the endpoints
// which are slow or fail: what isolated invocations take, no other queue waits for.
package main

import (
	"os"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/consumers"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/eager"
	"github.com/streamsort/streamsort/internal/endpoint"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/pkg/delivery"
)

func main() { runtime.Main(newHandler) }

func newHandler(d *runtime.Deps) (runtime.Handler, error) {
	d.CountRates()
	endpoints := endpoint.NewStore(dynamo.NewEngine(d.Client), d.Consumers.Tables(), time.Now)
	readers, err := readersFrom(os.Getenv("LAMBDA_TASK_ROOT"),
		endpoint.NewCache(endpoints.Of, time.Now))
	d.Check(err)
	seen := &observer{log: d.Log}
	options := delivery.Options{Observe: seen.delivery}
	isolates := func(r delivery.Reader) bool { return r.Inline > 0 }
	var bound *share
	switch text := os.Getenv(consumers.ShareVariable); {
	case text != "":
		// This function is the one that the other calls: it has nothing else to deliver.
		readers = slices.DeleteFunc(readers, func(r delivery.Reader) bool { return !isolates(r) })
		bound, err = shareOf(text, d)
	case slices.ContainsFunc(readers, isolates):
		options.Aside, err = asideCalls(os.Getenv(consumers.SlowVariable))
	}
	d.Check(err)
	// Only where a reader is tracked the environment says where the chains are.
	if slices.ContainsFunc(readers, func(r delivery.Reader) bool { return r.Track > 0 }) {
		options.Acker = d.Acker()
	}
	d.Eager, err = eager.New(os.Getenv(eager.Variable), readers) // replies move queues
	d.Check(err)
	deliverer := d.Deliverer(options)
	if err := d.Err(); err != nil {
		return nil, err
	}
	handle, err := handler(deliverer, d.Names, seen, readers, bound)
	return runtime.Handle(d, runtime.Headroom, handle), err
}
