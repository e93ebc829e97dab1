package trouble

import (
	"context"
	"sync"
	"time"
)

// Counter adds up what a process counts, and stores it every ten seconds at most: so what is
// counted costs a message nothing that shows. A process that ends loses the last ten
// seconds, one that is frozen stores them when it goes on. A nil Counter counts nothing.
type Counter struct {
	store *Store
	now   func() time.Time
	mu    sync.Mutex
	waits Counts
	// since is when the first of what waits was counted.
	since time.Time
}

// countEvery is how long counts wait in a process, maxCounting how long storing them may take.
const countEvery, maxCounting = 10 * time.Second, time.Second

// NewCounter returns the Counter of a process on a store; nil where there is none.
func NewCounter(store *Store, now func() time.Time) *Counter {
	if store == nil {
		return nil
	}
	return &Counter{store: store, now: now}
}

// Add counts.
func (c *Counter) Add(n Counts) {
	if c == nil || n == (Counts{}) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waits == (Counts{}) {
		c.since = c.now()
	}
	c.waits = c.waits.plus(n)
}

// Flush stores what was counted, if the first of it is ten seconds old: one write, for which it
// waits a second at most. What cannot be stored is lost: figures fail nobody's call.
func (c *Counter) Flush(ctx context.Context) {
	if c == nil {
		return
	}
	c.mu.Lock()
	now, waits := c.now(), c.waits
	if waits == (Counts{}) || now.Sub(c.since).Abs() < countEvery {
		c.mu.Unlock()
		return
	}
	c.waits = Counts{}
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, maxCounting)
	defer cancel()
	_ = c.store.Count(ctx, now, waits)
}
