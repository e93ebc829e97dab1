package endpoint_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/endpoint"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// TestATenantsEndpointsAreBounded: one more is refused by its name and the bound, and nothing is
// stored of it. Those that are there may be changed, others' are not counted, and there is room
// again where one is taken away.
func TestATenantsEndpointsAreBounded(t *testing.T) {
	tables := delivery.Names{}.Tables()
	meter := ddbtest.NewMeter(ddb.NewMemory(tables...))
	s := endpoint.NewStore(meter, tables, time.Now)
	put := func(name string) error {
		place := endpoint.Place{Consumer: "hooks", Name: name, Prefix: strings.HasSuffix(name, "/")}
		_, _, err := s.Put(t.Context(), endpoint.Change{Place: place, URL: "https://example.com/"})
		return err
	}
	for i := range endpoint.MaxOfTenant {
		check.OK(t, put(fmt.Sprintf("@acme/%d", i)))
	}
	for name, field := range map[string]string{"@acme/more": "queue", "@acme/": "prefix",
		"@acme/shop/": "prefix"} {
		meter.Take()
		wrong := check.As[*invalid.Error](t, put(name))
		check.That(t, wrong.Field == field && strings.Contains(wrong.Problem, "1000") &&
			meter.Take().Writes == 0, "%s: %v; want that %s and the bound are named, and nothing written",
			name, wrong, field)
	}
	for _, name := range []string{"@acme/7", "@acme-eu/1", "orders", ""} {
		check.OK(t, put(name))
	}
	check.OK(t,
		s.Delete(t.Context(), endpoint.Place{Consumer: "hooks", Name: "@acme/7"}, delivery.Who{}))
	check.OK(t, put("@acme/more"))
}

// TestAnEndpointThatTwoChange: what the other changed, or made, between the read and the write
// stays.
func TestAnEndpointThatTwoChange(t *testing.T) {
	for first, change := range map[string]endpoint.Change{
		"https://one.example/": {Paused: "for now"},
		"":                     {Paused: "for now", URL: "https://two.example/"},
	} {
		tables := delivery.Names{}.Tables()
		memory := ddb.NewMemory(tables...)
		other := endpoint.NewStore(memory, tables, time.Now)
		put := func(s *endpoint.Store, c endpoint.Change) endpoint.Endpoint {
			c.Place = endpoint.Place{Consumer: "hooks", Name: "q"}
			e, _ := check.Get2(s.Put(t.Context(), c))
			return e
		}
		if first != "" {
			put(other, endpoint.Change{URL: first})
		}
		var theirs endpoint.Endpoint
		s := endpoint.NewStore(ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
			if r.Name() == "put endpoint" && theirs.Secret == "" {
				theirs = put(other, endpoint.Change{URL: "https://two.example/", Rotate: true})
			}
			return memory.Do(ctx, r)
		}), tables, time.Now)
		e := put(s, change)
		check.That(t, e.URL == theirs.URL && e.Paused != "" && e.Secret == theirs.Secret,
			"after %q: %+v; want the other's URL and secret, and paused", first, e)
	}
}

// TestNoQueueHasTheKeyOfEndpoints: both are partition keys of one table.
func TestNoQueueHasTheKeyOfEndpoints(t *testing.T) {
	for _, queue := range []string{endpoint.Keys, endpoint.Keys + "acme"} {
		check.That(t, cursor.ValidateQueue(queue) != nil, "a queue may be called %q", queue)
	}
}
