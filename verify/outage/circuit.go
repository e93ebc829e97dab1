package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// circuit is what was seen of the consumer's circuit while the sink was away.
type circuit struct {
	opened time.Time
	probes int64
	// again tells that it closed, or opened anew.
	again bool
}

// look looks at it.
func (c *circuit) look(ctx context.Context, store *delivery.Store) error {
	e, err := store.Requests(request.Inside{}).Health(ctx, consumer, true)
	if err != nil {
		return err
	}
	now := e.Circuit
	if c.opened.IsZero() {
		c.opened = now.Opened
	}
	c.again = c.again || !now.Opened.Equal(c.opened)
	c.probes = max(c.probes, now.Probes)
	return nil
}

// String is the circuit in words.
func (c *circuit) String() string {
	if c.opened.IsZero() {
		return "the circuit is closed"
	}
	return fmt.Sprintf("the circuit is open for %.0fs, %d probes", time.Since(c.opened).Seconds(), c.probes)
}

// blocked are the queues whose consumer is blocked.
func (b *bench) blocked(ctx context.Context) (queues []string, err error) {
	query := url.Values{"state": {"blocked"}, "limit": {"50"}}
	for {
		var page struct {
			List []struct{ Queue string }
			Next string
		}
		var raw json.RawMessage
		if err := b.client.Call(ctx, http.MethodGet, "/consumers", query, nil, &raw); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, err
		}
		for _, row := range page.List {
			queues = append(queues, row.Queue)
		}
		if page.Next == "" {
			return queues, nil
		}
		query.Set("after", page.Next)
	}
}
