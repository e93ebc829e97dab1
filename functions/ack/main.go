// Command ack is the function that tracks trees of work: it takes operations on chains, behind an
// HTTP API, a REST API or a function URL, or invoked directly; and behind the stream of the chains'
// table it announces how each chain ended.
package main

import (
	"time"

	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/xorack/stamps"
)

func main() { runtime.Main(newHandler) }

func newHandler(d *runtime.Deps) (runtime.Handler, error) {
	acker := d.Acker()
	deliverer := d.Deliverer(delivery.Options{Acker: acker})
	announce, quotas := d.Ends(deliverer, d.Announcer()), d.Quotas()
	if err := d.Err(); err != nil {
		return nil, err
	}
	s := &service{
		acker: acker, stamper: stamps.New(acker), trouble: d.Trouble(), announce: announce,
		now: time.Now, tenantClaim: d.TenantClaim, quotas: quotas, log: d.Log,
	}
	return runtime.Handle(d, runtime.Headroom, s.handler()), nil
}
