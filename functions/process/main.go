// Command process is the ready-made consumer behind the cursors table's stream:
// it delivers every queue's messages, in order, to the sinks that consumers.json,
// or the same text in its environment, names.
package main

import (
	"os"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/endpoint"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/pkg/handoff"
)

func main() { runtime.Main(newHandler) }

// headroom is how long before the function's deadline it stops, so that which record has to be
// repeated is answered.
const headroom = time.Second

func newHandler(d *runtime.Deps) (runtime.Handler, error) {
	d.CountRates()
	endpoints := endpoint.NewStore(dynamo.NewEngine(d.Client), d.Consumers.Tables(), time.Now)
	readers, err := readersFrom(os.Getenv("LAMBDA_TASK_ROOT"), endpoint.NewCache(endpoints.Of, time.Now))
	d.Check(err)
	seen := &observer{log: d.Log}
	options := handoff.Options{Observe: seen.delivery}
	// Only where a reader is tracked the environment says where the chains are.
	if slices.ContainsFunc(readers, func(r handoff.Reader) bool { return r.Track > 0 }) {
		options.Acker = d.Acker()
	}
	if slices.ContainsFunc(readers, func(r handoff.Reader) bool { return r.Inline > 0 }) {
		options.Aside, err = asideCalls()
		d.Check(err)
	}
	deliverer := d.Deliverer(options)
	if err := d.Err(); err != nil {
		return nil, err
	}
	handle, err := handler(deliverer, d.Names, seen, readers)
	return runtime.Handle(d, headroom, handle), err
}
