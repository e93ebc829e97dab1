package eventsource

import (
	"sync"
	"time"
)

// Stats are a runner's counters since it was made.
type Stats struct {
	// Read counts the records that the stream has given.
	Read int64
	// Unchanged counts records dropped because nothing had changed: a local server wrote them, AWS
	// would not have.
	Unchanged int64
	// Unreadable counts records dropped because they are no valid stream records; each is logged.
	Unreadable int64
	// Filtered counts records that no filter pattern let through.
	Filtered int64
	// Delivered counts records that the function has accepted.
	Delivered int64
	// Failed counts records that were discarded, retries or age used up.
	Failed int64
	// Repeated counts deliveries of accepted records that chaos has asked for.
	Repeated int64
	// Dropped counts records that chaos has left out.
	Dropped int64
	// Invocations counts the invocations that were begun, Retries those of them whose records had
	// failed before.
	Invocations, Retries int64
	// Waiting is the number of records that were read and are not dealt with: being gathered,
	// invoked, or to be retried.
	Waiting int
	// InFlight is the number of invocations under way.
	InFlight int
	// IteratorAge is the age that the last record of the batch that was finished last had then,
	// Lambda's metric of this name ("Working with Lambda function metrics", monitoring-metrics.html).
	IteratorAge time.Duration
	// Polls counts the calls of GetRecords.
	Polls int64
}

// board is what the goroutines of a runner write down for Stats and Idle. Both may be called at any
// time.
type board struct {
	mu     sync.Mutex
	stats  Stats
	shards map[string]shardNote // of every shard that is known and not done
	// unknown is true while shards may exist that have not been seen: before DescribeStream has
	// given some, and after a shard has ended.
	unknown bool
}

// shardNote is what is known about one shard.
type shardNote struct {
	// emptyAt is when the last poll began, if it found nothing; zero if it found records or the
	// shard's end, or there was none. What is written at the same moment may have come after it.
	emptyAt time.Time
	waiting int
}

func (b *board) count(change func(*Stats)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.stats)
}

// note writes down a shard's state.
func (b *board) note(id string, n shardNote) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shards[id] = n
}

// ended removes a shard of which everything is dealt with. It may have children that were not seen
// yet.
func (b *board) ended(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.shards, id)
	b.unknown = true
}

// described says that the shards are known.
func (b *board) described(tree shardTree) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unknown = false
	for id, s := range tree {
		if _, ok := b.shards[id]; !ok && s.state != shardDone {
			b.shards[id] = shardNote{}
		}
	}
}

// Stats returns the runner's counters.
func (b *board) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.stats
	for _, n := range b.shards {
		s.Waiting += n.waiting
	}
	return s
}

// Idle reports whether everything that was in the stream at this time has been read and dealt with:
// accepted, filtered out, or discarded. For a stream that somebody has stopped writing to at this
// time it says that the mapping has drained.
func (b *board) Idle(since time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.unknown {
		return false
	}
	for _, n := range b.shards {
		if n.waiting > 0 || !n.emptyAt.After(since) {
			return false
		}
	}
	return true
}
