// Command enqueue is the function that takes messages in and shows queues, behind an HTTP API, a
// REST API or a function URL, or invoked directly.
package main

import (
	"time"

	"github.com/streamsort/streamsort/internal/runtime"
)

func main() { runtime.Main(newHandler) }

// headroom is how long before the function's time is over it stops: so that each message of a call
// is answered for, also those that there was no time for.
const headroom = time.Second

func newHandler(d *runtime.Deps) (runtime.Handler, error) {
	d.CountRates()
	s := &service{
		sorter: d.Sorter(), trouble: d.Trouble(), quotas: d.Quotas(), now: time.Now, events: d.Events,
		tenantClaim: d.TenantClaim, log: d.Log,
	}
	return runtime.Handle(d, headroom, s.api().Handle), nil
}
