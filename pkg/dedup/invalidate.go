package dedup

import "context"

// Invalidate forgets a completed id: the next call runs the effect again. It reports whether there
// was something to forget. An id that is running is a [StillRunningError]; one that has failed or
// timed out runs again anyway.
//
// A call that is under way may still return the old result. So may another process: for about a
// second where it looks first, and for Options.CacheAge where it has a cache. Later calls of this
// process do not.
func (d *Deduplicator[ID, R]) Invalidate(ctx context.Context, id ID) (forgotten bool, err error) {
	k, err := d.Key(id)
	if err != nil || d.options.Off {
		return false, err
	}
	ctx, end := d.begin(ctx, "invalidate", k)
	defer func() { end(err) }()
	r, err := d.store.Row(ctx, k, true)
	now := d.options.Now()
	// A row that is not completed, or not there, has no known result but old ones.
	fence := r.Fence
	if !r.completed() {
		fence--
	}
	d.cache.forget(k, fence)
	switch {
	case err != nil || !r.Exists() || r.expired(now):
		return false, err
	case !r.completed() && r.running(now, d.options.Margin):
		return false, &StillRunningError{Key: k, Until: r.LeaseUntil}
	case !r.completed():
		return false, nil
	}
	// Where the condition fails, a new life has begun meanwhile: the old result is forgotten
	// already.
	over := r
	over.ValidUntil, over.ExpiresOn = longAgo, deletionTime(longAgo, now)
	if _, _, err = d.store.Swap(ctx, r, over); err != nil {
		return false, err
	}
	d.note(ctx, EventInvalidated, r)
	return true, nil
}
