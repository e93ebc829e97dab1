package dedup

import (
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// cache is what this process remembers of completed keys, and of those that it has invalidated.
type cache struct {
	age time.Duration
	// entries is nil where nothing completed is remembered.
	entries *lru.Cache[Key, cached]

	// A call that was under way while its id was invalidated may bring the old result, and so may a
	// read that is not strong. forgotten has the fence up to which a key's results are rejected;
	// below lost, those of any key are, for the keys that forgotten had no room for.
	mu        sync.Mutex
	forgotten *lru.Cache[Key, int64]
	lost      int64
}

type cached struct {
	remembered
	until time.Time
}

// leastForgotten is how many invalidated keys are remembered at least.
const leastForgotten = 1000

func newCache(size int, age time.Duration) *cache {
	// The sizes are never 0 where a cache is made, which is all that New refuses.
	c := &cache{age: age}
	if size > 0 {
		c.entries, _ = lru.New[Key, cached](size)
	}
	c.forgotten, _ = lru.NewWithEvict(max(size, leastForgotten), func(_ Key, fence int64) {
		c.lost = max(c.lost, fence)
	})
	return c
}

// get is what is remembered of a key: neither longer than the cache's age nor than the row is
// valid.
func (c *cache) get(k Key, now time.Time) (remembered, bool) {
	if c.entries == nil {
		return remembered{}, false
	}
	entry, found := c.entries.Get(k)
	if !found || !entry.until.After(now) {
		return remembered{}, false
	}
	return entry.remembered, true
}

func (c *cache) put(found remembered, now time.Time) {
	if c.entries == nil || len(found.stored) > cacheLimit {
		return
	}
	until := now.Add(c.age)
	if found.row.ValidUntil.Before(until) {
		until = found.row.ValidUntil
	}
	found.row.Result.Bytes = nil // stored is the same
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.rejects(found.row) {
		c.entries.Add(found.row.Key, cached{found, until})
	}
}

// rejects reports a row from before this process invalidated its key.
func (c *cache) rejects(r Row) bool {
	fence, known := c.forgotten.Get(r.Key)
	return known && r.Fence <= fence || r.Fence <= c.lost
}

// forgot is rejects for those who do not hold the lock.
func (c *cache) forgot(r Row) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rejects(r)
}

// forget forgets what is remembered of a key, and does not take it again up to this fence.
func (c *cache) forget(k Key, fence int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, _ := c.forgotten.Get(k); fence > known {
		c.forgotten.Add(k, fence)
	}
	if c.entries != nil {
		c.entries.Remove(k)
	}
}
