// Command enqueue is the function that takes messages in and shows queues, behind an HTTP API, a
// REST API or a function URL, or invoked directly.
package main

import (
	"time"

	"github.com/streamsort/streamsort/internal/runtime"
)

func main() { runtime.Main(newHandler) }

func newHandler(d *runtime.Deps) (runtime.Handler, error) {
	d.CountRates()
	s := &service{
		sorter: d.Sorter(), trouble: d.Trouble(), quotas: d.Quotas(), now: time.Now, events: d.Events,
		tenantClaim: d.TenantClaim, log: d.Log,
	}
	return runtime.Handle(d, runtime.Headroom, s.api().Handle), nil
}
