package xorack

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory is a [Store] in memory: for tests of code that uses this package, and
// for simulation. It keeps the promises of Store that a real table keeps; it
// deletes nothing by itself (call [Memory.Expire]), and everything is gone with
// the process. The zero Memory is ready to use.
type Memory struct {
	mu     sync.Mutex
	chains map[string]Chain
}

var _ Store = (*Memory)(nil)

// update changes the chain under a tag, the zero Chain where there is none, if
// the condition holds.
func (s *Memory) update(ctx context.Context, tag string, condition func(Chain) bool, change func(*Chain)) (Chain, bool, error) {
	if err := ctx.Err(); err != nil {
		return Chain{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chains[tag]
	if !condition(c) {
		return cloneChain(c), false, nil
	}
	change(&c)
	c.Tag = tag
	if s.chains == nil {
		s.chains = map[string]Chain{}
	}
	s.chains[tag] = c
	return cloneChain(c), true, nil
}

// cloneChain keeps a caller from changing what is stored.
func cloneChain(c Chain) Chain {
	c.Ops, c.Splits = slices.Clone(c.Ops), slices.Clone(c.Splits)
	c.Stamps = slices.Clone(c.Stamps)
	for i, stamp := range c.Stamps {
		c.Stamps[i] = slices.Clone(stamp)
	}
	return c
}

// same reports whether the record has this incarnation, or none.
func same(c Chain, inc Incarnation) bool {
	return c.Incarnation == Incarnation{} || c.Incarnation == inc
}

func open(c Chain) bool { return c.End() == Open }

// firstTime is a time that is set only where none is.
func firstTime(was, now time.Time) time.Time {
	if was.IsZero() {
		return now
	}
	return was
}

// Create implements [Store].
func (s *Memory) Create(ctx context.Context, n Chain) (Chain, bool, error) {
	return s.update(ctx, n.Tag,
		func(c Chain) bool {
			if c.IsCreated() || c.Recorded != Open || !same(c, n.Incarnation) {
				return false
			}
			if n.HasStamps() {
				return !c.HasEdges() && (c.StampLen == 0 || c.StampLen == n.StampLen)
			}
			return !c.HasStamps()
		},
		func(c *Chain) {
			c.Incarnation, c.Created, c.Deadline, c.Due = n.Incarnation, n.Created, n.Deadline, n.Due
			c.Seen, c.ExpiresOn = firstTime(c.Seen, n.Seen), n.ExpiresOn
			if n.HasEdges() {
				c.Options, c.LastOp = n.Options, n.LastOp
			}
			if n.Idle > 0 {
				c.Idle = n.Idle
			}
			if !n.Parent.IsZero() {
				c.Parent, c.Sub = n.Parent, n.Sub
			}
			if n.Data != "" {
				c.Data = n.Data
			}
			c.Sum, c.Edges = c.Sum.Plus(n.Sum), c.Edges+n.Edges
			c.StampLen = n.StampLen
			c.Stamps = withStamps(c.Stamps, n.Stamps...)
		})
}

// withSplits is the set with splits added.
func withSplits(set, splits []Split) []Split {
	set = append(slices.Clone(set), splits...)
	slices.SortFunc(set, compareSplits)
	return slices.Compact(set)
}

// withStamps is the set with stamps added.
func withStamps(set [][]byte, stamps ...[]byte) [][]byte {
	set = slices.Clone(set)
	for _, stamp := range stamps {
		if at, found := slices.BinarySearchFunc(set, stamp, bytes.Compare); !found {
			set = slices.Insert(set, at, slices.Clone(stamp))
		}
	}
	return set
}

// Replace implements [Store].
func (s *Memory) Replace(ctx context.Context, n Chain, seen Chain) (Chain, bool, error) {
	return s.update(ctx, n.Tag,
		func(c Chain) bool {
			if seen.Recorded == Deleted {
				return c.Recorded == Deleted && c.LastOp == seen.LastOp && c.Due.IsZero()
			}
			return c.Incarnation == seen.Incarnation && c.Incarnation != Incarnation{} && (!c.IsCreated() || !c.ExpiresOn.After(seconds(n.Created)))
		},
		func(c *Chain) { *c = cloneChain(n) })
}

// Apply implements [Store].
func (s *Memory) Apply(ctx context.Context, w Work) (Chain, bool, error) {
	return s.update(ctx, w.Tag,
		func(c Chain) bool {
			return open(c) && same(c, w.Incarnation) && !c.HasStamps() && !slices.ContainsFunc(w.Before, c.Has) &&
				!slices.ContainsFunc(w.Ops, c.Has) && len(c.Ops) <= w.Room
		},
		func(c *Chain) {
			c.Incarnation, c.Seen, c.LastOp = w.Incarnation, milliseconds(w.Now), w.Ops[len(w.Ops)-1]
			c.ExpiresOn = firstTime(c.ExpiresOn, seconds(w.Orphan))
			c.Sum, c.Edges = c.Sum.Plus(w.Delta), c.Edges+w.Edges
			c.Ops = append(slices.Clone(c.Ops), w.Ops...)
			slices.SortFunc(c.Ops, compareOps)
			c.Splits = withSplits(c.Splits, w.Splits)
		})
}

// Fail implements [Store].
func (s *Memory) Fail(ctx context.Context, f Failure) (Chain, bool, error) {
	return s.update(ctx, f.Tag,
		func(c Chain) bool { return open(c) && same(c, f.Incarnation) && !c.HasStamps() && !c.Has(f.Op) },
		func(c *Chain) {
			c.Incarnation, c.Recorded, c.Reason, c.LastOp = f.Incarnation, Failed, f.Reason, f.Op
			c.EndedAt, c.Due, c.ExpiresOn = milliseconds(f.Now), milliseconds(f.Now), Never
		})
}

// Extend implements [Store].
func (s *Memory) Extend(ctx context.Context, tag string, inc Incarnation, deadline time.Time) (Chain, bool, error) {
	deadline = milliseconds(deadline)
	return s.update(ctx, tag,
		func(c Chain) bool {
			return c.Incarnation == inc && c.IsCreated() && open(c) && c.Deadline.Before(deadline)
		},
		func(c *Chain) { c.Deadline = deadline })
}

// TimeOut implements [Store].
func (s *Memory) TimeOut(ctx context.Context, t Overdue) (Chain, bool, error) {
	return s.update(ctx, t.Tag,
		func(c Chain) bool {
			if c.Incarnation != t.Incarnation || !c.IsCreated() || !open(c) {
				return false
			}
			if !t.Seen.IsZero() {
				return c.Seen.Equal(milliseconds(t.Seen))
			}
			return !c.Deadline.After(milliseconds(t.Now))
		},
		func(c *Chain) { c.Recorded, c.Reason, c.EndedAt = TimedOut, t.Reason, milliseconds(t.Now) })
}

// Abandon implements [Store].
func (s *Memory) Abandon(ctx context.Context, o Overdue) (Chain, bool, error) {
	return s.update(ctx, o.Tag,
		func(c Chain) bool {
			return open(c) && same(c, o.Incarnation) && !c.HasStamps() && (!c.IsCreated() || !c.Deadline.After(milliseconds(o.Now)))
		},
		func(c *Chain) {
			c.Incarnation, c.Recorded, c.Reason = o.Incarnation, TimedOut, o.Reason
			c.EndedAt, c.Due, c.ExpiresOn = milliseconds(o.Now), milliseconds(o.Now), Never
			if o.Data != "" {
				c.Data = o.Data
			}
		})
}

// Postpone implements [Store].
func (s *Memory) Postpone(ctx context.Context, tag string, inc Incarnation, from, to time.Time) (Chain, bool, error) {
	return s.update(ctx, tag,
		func(c Chain) bool {
			return c.Incarnation == inc && open(c) && !c.Due.IsZero() && c.Due.Equal(milliseconds(from))
		},
		func(c *Chain) { c.Due = milliseconds(to) })
}

// Delete implements [Store].
func (s *Memory) Delete(ctx context.Context, tag string, op Op, now time.Time) (Chain, bool, error) {
	return s.update(ctx, tag,
		func(c Chain) bool { return c.Exists() && open(c) && !c.HasStamps() },
		func(c *Chain) {
			c.Recorded, c.LastOp, c.EndedAt, c.Due, c.ExpiresOn = Deleted, op, milliseconds(now), milliseconds(now), Never
		})
}

// Seal implements [Store].
func (s *Memory) Seal(ctx context.Context, tag string, inc Incarnation, ended, expires time.Time) (Chain, bool, error) {
	return s.update(ctx, tag,
		func(c Chain) bool { return c.Incarnation == inc && !c.Due.IsZero() && !open(c) },
		func(c *Chain) {
			c.Recorded = c.End()
			c.EndedAt, c.ExpiresOn, c.Due = firstTime(c.EndedAt, milliseconds(ended)), seconds(expires), time.Time{}
		})
}

// AddStamp implements [Store].
func (s *Memory) AddStamp(ctx context.Context, w Stamp) (Chain, bool, error) {
	length := len(w.Marked) - stampMark
	return s.update(ctx, w.Tag,
		func(c Chain) bool {
			return c.Recorded == Open && !c.HasEdges() && (c.StampLen == 0 || c.StampLen == length) && len(c.Stamps) <= w.Room
		},
		func(c *Chain) {
			c.StampLen, c.Seen, c.ExpiresOn = length, milliseconds(w.Now), firstTime(c.ExpiresOn, seconds(w.Orphan))
			c.Stamps = withStamps(c.Stamps, w.Marked)
		})
}

// Settle implements [Store].
func (s *Memory) Settle(ctx context.Context, tag string, inc Incarnation, stamps int, now time.Time) (Chain, bool, error) {
	return s.update(ctx, tag,
		func(c Chain) bool {
			return c.Incarnation == inc && c.IsCreated() && c.Recorded == Open && len(c.Stamps) == stamps
		},
		func(c *Chain) { c.Recorded, c.EndedAt = Done, milliseconds(now) })
}

// DeleteStamps implements [Store].
func (s *Memory) DeleteStamps(ctx context.Context, tag string, op Op, now, expires time.Time) (Chain, bool, error) {
	return s.update(ctx, tag,
		func(c Chain) bool { return c.HasStamps() && c.Recorded != Deleted },
		func(c *Chain) {
			c.Recorded, c.LastOp, c.EndedAt = Deleted, op, milliseconds(now)
			c.ExpiresOn, c.Due = seconds(expires), time.Time{}
		})
}

// Chain implements [Store].
func (s *Memory) Chain(ctx context.Context, tag string) (Chain, error) {
	if err := ctx.Err(); err != nil {
		return Chain{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return cloneChain(s.chains[tag]), nil
}

// Due implements [Store].
func (s *Memory) Due(ctx context.Context, q DueQuery) ([]DueChain, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	due := []DueChain{}
	for _, c := range s.chains {
		one := DueChain{c.Tag, c.Due}
		if !c.Due.IsZero() && !c.Due.After(milliseconds(q.At)) && dueShard(c.Tag) == int64(q.Shard) && one.compare(q.After) > 0 {
			due = append(due, one)
		}
	}
	slices.SortFunc(due, DueChain.compare)
	return due[:min(len(due), q.Limit)], nil
}

func (d DueChain) compare(o DueChain) int {
	return cmp.Or(d.Due.Compare(o.Due), cmp.Compare(d.Tag, o.Tag))
}

// Expire deletes every chain whose ExpiresOn has come, as DynamoDB's TTL does
// some time later, and returns how many there were.
func (s *Memory) Expire(now time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.chains)
	maps.DeleteFunc(s.chains, func(_ string, c Chain) bool { return !c.ExpiresOn.IsZero() && !c.ExpiresOn.After(now) })
	return before - len(s.chains)
}

// Tags are the tags of all chains, sorted.
func (s *Memory) Tags() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.chains))
}
