package trouble

import (
	"context"
	"sync"
	"time"
)

// Counter adds up what a process counts, and stores it every ten seconds at most: so what is
// counted costs a message nothing that shows. A process that ends loses the last ten seconds, one
// that is frozen stores them when it goes on, in the minute in which it counted them. A nil Counter
// counts nothing.
type Counter struct {
	store *Store
	now   func() time.Time
	mu    sync.Mutex
	// waits are the counts that are not stored, by their minutes; since is when the first of them
	// was counted.
	waits map[time.Time]Counts
	since time.Time
}

// countEvery is how long counts wait in a process, maxCounting how long storing them may take.
const countEvery, maxCounting = 10 * time.Second, time.Second

// NewCounter returns the Counter of a process on a store; nil if absent.
func NewCounter(store *Store, now func() time.Time) *Counter {
	if store == nil {
		return nil
	}
	return &Counter{store: store, now: now, waits: map[time.Time]Counts{}}
}

// Add counts.
func (c *Counter) Add(n Counts) {
	if c == nil || n == (Counts{}) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if len(c.waits) == 0 {
		c.since = now
	}
	minute := now.Truncate(time.Minute)
	c.waits[minute] = c.waits[minute].plus(n)
}

// Flush stores what was counted, if the first of it is ten seconds old: one write a minute in which
// it was, for which it waits a second at most. What cannot be stored is lost: figures fail nobody's
// call.
func (c *Counter) Flush(ctx context.Context) {
	if c == nil {
		return
	}
	c.mu.Lock()
	waits := c.waits
	if len(waits) == 0 || c.now().Sub(c.since).Abs() < countEvery {
		c.mu.Unlock()
		return
	}
	c.waits = map[time.Time]Counts{}
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, maxCounting)
	defer cancel()
	for minute, n := range waits {
		_ = c.store.Count(ctx, minute, n)
	}
}
