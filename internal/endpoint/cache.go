package endpoint

import (
	"context"
	"sync"
	"time"
)

const (
	// Lifetime is how long an endpoint that requests are sent to is used without being looked at again: a change, or a
	// pause, counts after that at the latest.
	Lifetime = 5 * time.Second
	// maxCached is how many queues' endpoints a process remembers.
	maxCached = 10_000
)

// Cache remembers the endpoints of queues for a short time. Its methods may be called by any number of goroutines.
type Cache struct {
	of  func(ctx context.Context, consumer, queue string) (Endpoint, error)
	now func() time.Time
	mu  sync.Mutex
	all map[cacheKey]cached
}

type cacheKey struct{ consumer, queue string }

type cached struct {
	Endpoint
	at time.Time
}

// NewCache returns a Cache of what of says, such as [Store.Of].
func NewCache(of func(ctx context.Context, consumer, queue string) (Endpoint, error), now func() time.Time) *Cache {
	return &Cache{of: of, now: now, all: map[cacheKey]cached{}}
}

// Now is the time, by which an endpoint's secrets are valid.
func (c *Cache) Now() time.Time { return c.now() }

// Of is the endpoint of a consumer's queue, as it was within [Lifetime]. One that is paused, or not there, is looked at each
// time: what waits for it goes on with the first look.
func (c *Cache) Of(ctx context.Context, consumer, queue string) (Endpoint, error) {
	key, now := cacheKey{consumer, queue}, c.now()
	c.mu.Lock()
	known, ok := c.all[key]
	c.mu.Unlock()
	if age := now.Sub(known.at); ok && age >= 0 && age < Lifetime {
		return known.Endpoint, nil
	}
	e, err := c.of(ctx, consumer, queue)
	if err != nil || e.Paused != "" {
		return e, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.all) >= maxCached {
		clear(c.all)
	}
	c.all[key] = cached{e, now}
	return e, nil
}
