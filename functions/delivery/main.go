// Command delivery is the function that shows consumers and carries out their operators' orders,
// behind an HTTP API, a REST API or a function URL, or invoked directly.
package main

import (
	"os"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/egress"
	"github.com/streamsort/streamsort/internal/endpoint"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/pkg/delivery"
)

func main() { runtime.Main(newHandler) }

func newHandler(d *runtime.Deps) (runtime.Handler, error) {
	rules, err := egress.FromEnvironment()
	d.Check(err)
	s := &service{
		deliverer: d.Deliverer(delivery.Options{}), sorter: d.Sorter(), trouble: d.Trouble(),
		now:         time.Now,
		tenantClaim: d.TenantClaim, quotas: d.Quotas(), log: d.Log,
		endpoints: endpoint.NewStore(dynamo.NewEngine(d.Client), d.Consumers.Tables(), time.Now),
		rules:     rules,
		hooks: append(strings.FieldsFunc(os.Getenv(endpoint.ConsumersVariable), func(c rune) bool {
			return c == ','
		}), d.Endpoints...),
	}
	return runtime.Handle(d, runtime.Headroom, s.api().Handle), nil
}
