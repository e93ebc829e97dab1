package dedup

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory is a [Store] in memory: for tests of code that uses this package, and
// for simulation. It keeps the promises of Store that a real table keeps; all
// its reads are strong, it deletes nothing by itself (call [Memory.Expire]),
// and everything is gone with the process. The zero Memory is ready to use.
type Memory struct {
	mu      sync.Mutex
	rows    map[Key]Row
	results map[Token]StoredResult
}

var _ Store = (*Memory)(nil)

// update changes the row of a key if the condition holds: may is asked for the
// row that stands there, the zero Row where none does.
func (s *Memory) update(ctx context.Context, k Key, may func(Row) bool, change func(*Row)) (Row, bool, error) {
	if err := ctx.Err(); err != nil {
		return Row{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rows[k]
	if !may(r) {
		return cloneRow(r), false, nil
	}
	r.Key = k
	change(&r)
	if s.rows == nil {
		s.rows = map[Key]Row{}
	}
	s.rows[k] = r
	return cloneRow(r), true, nil
}

// claim sets what every claim sets.
func (r *Row) claim(c Claim) {
	r.Token, r.StartedAt, r.LeaseUntil = c.Token, milliseconds(c.Now), milliseconds(c.LeaseUntil)
	r.ValidUntil, r.ExpiresOn = milliseconds(c.ValidUntil), c.ExpiresOn
	r.Error = ""
	if c.Payload != nil {
		r.Payload = slices.Clone(c.Payload)
	}
}

// claimable is the condition of a claim.
func claimable(r Row, c Claim) bool {
	return !r.Exists() ||
		r.ValidUntil.After(milliseconds(c.Now)) &&
			r.CompletedAt.IsZero() &&
			!r.LeaseUntil.After(milliseconds(c.Now.Add(-c.Margin))) &&
			(c.MaxAttempts == 0 || r.Attempt < c.MaxAttempts) &&
			(c.Payload == nil || r.Payload == nil || bytes.Equal(r.Payload, c.Payload))
}

// Claim implements [Store].
func (s *Memory) Claim(ctx context.Context, c Claim) (Row, bool, error) {
	return s.update(ctx, c.Key,
		func(r Row) bool { return claimable(r, c) },
		func(r *Row) {
			if r.Fence == 0 {
				r.Fence = c.Now.UnixMilli()
			}
			r.Fence++
			r.Attempt++
			r.claim(c)
		})
}

// Replace implements [Store].
func (s *Memory) Replace(ctx context.Context, c Claim, seen int64) (Row, bool, error) {
	return s.update(ctx, c.Key,
		func(r Row) bool { return r.Exists() && r.Fence == seen && !r.ValidUntil.After(milliseconds(c.Now)) },
		func(r *Row) {
			*r = Row{Key: r.Key, Fence: r.Fence + 1, Attempt: 1}
			r.claim(c)
		})
}

// owns is the condition of what only the owner of a row that is not completed
// can do.
func owns(r Row, o Owner) bool {
	return r.Exists() && r.Token == o.Token && r.Fence == o.Fence && r.CompletedAt.IsZero()
}

// complete sets how the effect ended.
func (r *Row) complete(c Completion) {
	r.CompletedAt, r.ValidUntil, r.ExpiresOn = milliseconds(c.At), milliseconds(c.ValidUntil), c.ExpiresOn
	r.Failed, r.Error = c.Failed, c.Error
	if !c.Failed {
		r.Result = c.Result
		r.Result.Bytes = slices.Clone(c.Result.Bytes)
	}
}

// Complete implements [Store].
func (s *Memory) Complete(ctx context.Context, o Owner, c Completion) (Row, bool, error) {
	return s.update(ctx, o.Key,
		func(r Row) bool { return owns(r, o) },
		func(r *Row) { r.complete(c) })
}

// Fail implements [Store].
func (s *Memory) Fail(ctx context.Context, o Owner, why string) (Row, bool, error) {
	return s.update(ctx, o.Key,
		func(r Row) bool { return owns(r, o) },
		func(r *Row) { r.LeaseUntil, r.Error, r.Payload = longAgo, why, nil })
}

// Extend implements [Store].
func (s *Memory) Extend(ctx context.Context, o Owner, e Extension) (Row, bool, error) {
	until := milliseconds(e.LeaseUntil)
	return s.update(ctx, o.Key,
		func(r Row) bool { return owns(r, o) && r.LeaseUntil.Before(until) },
		func(r *Row) { r.LeaseUntil, r.ValidUntil, r.ExpiresOn = until, milliseconds(e.ValidUntil), e.ExpiresOn })
}

// Invalidate implements [Store].
func (s *Memory) Invalidate(ctx context.Context, k Key, seen int64, expiresOn time.Time) (Row, bool, error) {
	return s.update(ctx, k,
		func(r Row) bool { return r.Exists() && r.Fence == seen && !r.CompletedAt.IsZero() },
		func(r *Row) { r.ValidUntil, r.ExpiresOn = longAgo, expiresOn })
}

// Mend implements [Store].
func (s *Memory) Mend(ctx context.Context, m Mending) (Row, bool, error) {
	return s.update(ctx, m.Key,
		func(r Row) bool { return r.Exists() && r.Fence == m.Seen && r.CompletedAt.IsZero() },
		func(r *Row) {
			r.Fence++
			r.Token, r.Repair = m.Token, m.Repair
			r.Repair.At = milliseconds(m.Repair.At)
			if m.Completion != nil {
				r.complete(*m.Completion)
				return
			}
			r.LeaseUntil, r.Attempt, r.Payload = longAgo, 0, nil
		})
}

// Row implements [Store].
func (s *Memory) Row(ctx context.Context, k Key, _ bool) (Row, bool, error) {
	if err := ctx.Err(); err != nil {
		return Row{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, found := s.rows[k]
	return cloneRow(r), found, nil
}

// Rows implements [Store].
func (s *Memory) Rows(ctx context.Context, scan RowScan) (RowPage, error) {
	if err := ctx.Err(); err != nil {
		return RowPage{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	places := map[string]Row{}
	for k, r := range s.rows {
		places[k.joined()] = r
	}
	var page RowPage
	looked := 0
	for _, place := range slices.Sorted(maps.Keys(places)) {
		if place <= scan.After {
			continue
		}
		if looked == scan.Limit {
			return page, nil
		}
		looked++
		page.Next = place
		if r := places[place]; (scan.Processor == "" || scan.Processor == r.Processor) && (!scan.Open || !r.completed()) {
			page.Rows = append(page.Rows, cloneRow(r))
		}
	}
	page.Next = ""
	return page, nil
}

// PutResult implements [Store].
func (s *Memory) PutResult(ctx context.Context, p StoredResult) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.results == nil {
		s.results = map[Token]StoredResult{}
	}
	p.Body = slices.Clone(p.Body)
	s.results[p.Token] = p
	return nil
}

// Result implements [Store].
func (s *Memory) Result(ctx context.Context, _ Key, t Token, _ bool) ([]byte, bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p, found := s.results[t]
	return slices.Clone(p.Body), found, nil
}

// DeleteResult implements [Store].
func (s *Memory) DeleteResult(ctx context.Context, _ Key, t Token) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.results, t)
	return nil
}

// Expire deletes every row and result whose ExpiresOn has come, as DynamoDB's
// TTL does some time later, and returns how many there were.
func (s *Memory) Expire(now time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	over := func(expiresOn time.Time) bool { return !expiresOn.IsZero() && !expiresOn.After(now) }
	before := len(s.rows) + len(s.results)
	maps.DeleteFunc(s.rows, func(_ Key, r Row) bool { return over(r.ExpiresOn) })
	maps.DeleteFunc(s.results, func(_ Token, p StoredResult) bool { return over(p.ExpiresOn) })
	return before - len(s.rows) - len(s.results)
}

// cloneRow keeps a caller from changing what is stored.
func cloneRow(r Row) Row {
	r.Payload = slices.Clone(r.Payload)
	r.Result.Bytes = slices.Clone(r.Result.Bytes)
	return r
}
