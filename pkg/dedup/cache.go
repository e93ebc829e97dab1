package dedup

import (
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// cache is what this process remembers of completed keys; nil remembers
// nothing.
type cache struct {
	age     time.Duration
	entries *lru.Cache[Key, cached]

	// A call that was under way while its id was invalidated may bring the old
	// result. mu prevents that; forgotten has the fence up to which a key's results
	// are rejected; below lost, those of any key are, for the keys that forgotten
	// had no room for.
	mu        sync.Mutex
	forgotten *lru.Cache[Key, int64]
	lost      int64
}

type cached struct {
	remembered
	until time.Time
}

func newCache(size int, age time.Duration) *cache {
	// The size is never 0 here, which is all that New refuses.
	if size == 0 {
		return nil
	}
	c := &cache{age: age}
	c.entries, _ = lru.New[Key, cached](size)
	c.forgotten, _ = lru.NewWithEvict(size, func(_ Key, fence int64) { c.lost = max(c.lost, fence) })
	return c
}

// get is what is remembered of a key: neither longer than the cache's age nor
// than the row is valid or its result is kept.
func (c *cache) get(k Key, now time.Time) (remembered, bool) {
	if c == nil {
		return remembered{}, false
	}
	entry, found := c.entries.Get(k)
	if !found || !entry.until.After(now) {
		return remembered{}, false
	}
	return entry.remembered, true
}

func (c *cache) put(found remembered, now time.Time) {
	if c == nil || len(found.stored) > cacheLimit {
		return
	}
	until := now.Add(c.age)
	for _, end := range []time.Time{found.row.ValidUntil, found.row.Result.Until} {
		if !end.IsZero() && end.Before(until) {
			until = end
		}
	}
	found.row.Result.Bytes = nil // stored is the same
	c.mu.Lock()
	defer c.mu.Unlock()
	if fence, known := c.forgotten.Get(found.row.Key); known && found.row.Fence <= fence || found.row.Fence <= c.lost {
		return
	}
	c.entries.Add(found.row.Key, cached{found, until})
}

// forget forgets what is remembered of a key, and does not take it again up to
// this fence.
func (c *cache) forget(k Key, fence int64) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, _ := c.forgotten.Get(k); fence > known {
		c.forgotten.Add(k, fence)
	}
	c.entries.Remove(k)
}
