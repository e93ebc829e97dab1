package endpoint

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// Lifetime is how long an endpoint that requests are sent to is used without being looked at
	// again: a change, or a pause, counts after that at the latest.
	Lifetime = 5 * time.Second
	// glance is how long a queue's endpoint is not asked again when it was changed, whatever wakes
	// up the queue.
	glance = time.Second
	// maxCached is how many queues' endpoints a process remembers.
	maxCached = 10_000
)

// Cache remembers the endpoints of queues for a short time. Its methods may be called by any number
// of goroutines.
type Cache struct {
	of  func(ctx context.Context, consumer, queue string) (Endpoint, error)
	now func() time.Time
	mu  sync.Mutex
	all map[cacheKey]cached
}

type cacheKey struct{ consumer, queue string }

type cached struct {
	Endpoint
	none bool
	at   time.Time
	// glanced is when it was last asked for when it was changed.
	glanced time.Time
}

// NewCache returns a Cache of what of says, such as [Store.Of].
func NewCache(of func(ctx context.Context, consumer, queue string) (Endpoint, error),
	now func() time.Time) *Cache {
	return &Cache{of: of, now: now, all: map[cacheKey]cached{}}
}

// Now is the time, by which an endpoint's secrets are valid.
func (c *Cache) Now() time.Time { return c.now() }

// Of is the endpoint of a consumer's queue, as it was within [Lifetime]. One that is paused, or not
// there, is looked at each time: what waits for it goes on with the first look.
func (c *Cache) Of(ctx context.Context, consumer, queue string) (Endpoint, error) {
	known := c.known(consumer, queue)
	if !within(known.at, c.now(), Lifetime) || known.none || known.Paused != "" {
		var err error
		if known, err = c.look(ctx, consumer, queue, known.glanced); err != nil {
			return Endpoint{}, err
		}
	}
	if known.none {
		return Endpoint{}, ErrNone
	}
	return known.Endpoint, nil
}

// ChangedAt is when the endpoint of a consumer's queue was changed last, as it was when that was
// last asked within a second; the zero time where nothing is sent there, or it cannot be looked at.
func (c *Cache) ChangedAt(ctx context.Context, consumer, queue string) time.Time {
	known, now := c.known(consumer, queue), c.now()
	if !within(known.glanced, now, glance) {
		var err error
		if known, err = c.look(ctx, consumer, queue, now); err != nil {
			return time.Time{}
		}
	}
	if known.none || known.Paused != "" {
		return time.Time{}
	}
	return known.At
}

func within(at, now time.Time, most time.Duration) bool {
	age := now.Sub(at)
	return age >= 0 && age < most
}

func (c *Cache) known(consumer, queue string) cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[cacheKey{consumer, queue}]
}

func (c *Cache) look(ctx context.Context, consumer, queue string,
	glanced time.Time) (cached, error) {
	now := c.now()
	e, err := c.of(ctx, consumer, queue)
	none := errors.Is(err, ErrNone)
	if err != nil && !none {
		return cached{}, err
	}
	known := cached{e, none, now, glanced}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.all) >= maxCached {
		clear(c.all)
	}
	c.all[cacheKey{consumer, queue}] = known
	return known, nil
}
