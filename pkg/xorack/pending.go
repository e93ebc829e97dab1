package xorack

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
)

// Pending is a chain that is created and has not ended, or whose end nobody has announced yet.
type Pending struct {
	Tag string
	// Due is when the sweep looks at it: at its deadline at the latest.
	Due time.Time
}

// maxPending is how many chains are read at once: so many of the longest tags are on one page.
const maxPending = 500

// Pending lists chains that are pending, from behind one on, the zero Pending for the first, 500 at
// most; it may miss what changed within the last second. All that are open are in it: each has a
// deadline. So are the parts of fans, under tags of their own.
//
// They come by the 16 parts of the index of what is due, which a hash of the tag says, and in a
// part by the time at which the sweep looks at them. A chain that comes or goes moves no other; one
// that the sweep looked at meanwhile, and will again later, may come twice.
//
// One query for each part that is looked at; half a read unit for each 4 KB of it, about 60 tags,
// and at least a half.
func (a *Acker) Pending(ctx context.Context, after Pending,
	limit int) (page []Pending, more bool, err error) {
	limit = min(limit, maxPending)
	shard := 0
	if after.Tag != "" {
		shard = int(chains.DueShardOf(after.Tag))
	}
	for ; shard < chains.DueShards; shard++ {
		if len(page) == limit {
			return page, true, nil
		}
		due, err := a.store.due(ctx, shard, chains.Never, after, limit-len(page))
		if err != nil {
			return nil, false, err
		}
		page = append(page, due...)
		after = Pending{}
	}
	return page, len(page) == limit, nil
}
