package dedup

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// cache is what this process remembers of completed keys; nil remembers
// nothing.
type cache struct {
	age     time.Duration
	entries *lru.Cache[Key, cached]
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
	entries, _ := lru.New[Key, cached](size)
	return &cache{age: age, entries: entries}
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
	c.entries.Add(found.row.Key, cached{found, until})
}

func (c *cache) remove(k Key) {
	if c != nil {
		c.entries.Remove(k)
	}
}
