package main

import (
	"context"
	"strconv"

	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/quota"
)

// endpointMessages is as how many messages a change of an endpoint counts, also one that is
// refused: looking how many endpoints a tenant has costs about as much.
const endpointMessages = 10

// takeMessages takes from a tenant's quota what an operation costs, as messages, before it costs
// that: no more than a window has.
func (s *service) takeMessages(ctx context.Context, c *httpapi.Call, n int64) error {
	need := s.quotas.Within(c.Tenant(), quota.Amounts{quota.Messages: n})
	return s.quotas.Take(ctx, c.Metrics, c.Tenant(), need)
}

// takeRewind takes what a rewind costs: each message from the new place on is looked at, and kept
// from expiring. One read unit where the tenant has a quota.
func (s *service) takeRewind(ctx context.Context, c *httpapi.Call, o order) error {
	if o.Action != "rewind" || !s.quotas.Bounds(c.Tenant(), quota.Messages) {
		return nil
	}
	cur, err := s.sorter.Status(ctx, o.Queue)
	if err != nil {
		return nil //nolint:nilerr // the rewind itself says what is wrong
	}
	n := cur.Position
	switch start := o.Start.String(); start {
	case "first":
	case "latest":
		n = 0
	default:
		from, _ := strconv.ParseInt(start, 10, 64) // it was read
		n -= from - 1
	}
	return s.takeMessages(ctx, c, max(n, 1))
}
