package deduptest_test

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/streamsort/streamsort/pkg/dedup"
)

// shelf is a store in memory. Where a database has it, each method is one statement.
type shelf struct {
	sync.Mutex
	rows    map[dedup.Key]dedup.Row
	results map[dedup.Token][]byte
}

func (s *shelf) Claim(ctx context.Context, c dedup.Claim) (dedup.Row, bool, error) {
	s.Lock()
	defer s.Unlock()
	r := s.rows[c.Key]
	switch {
	case ctx.Err() != nil:
		return dedup.Row{}, false, ctx.Err()
	case !r.Exists():
		r = dedup.Row{Key: c.Key, Fence: c.Now.UnixMilli()}
	case !r.ValidUntil.After(c.Now), !r.CompletedAt.IsZero(), r.LeaseUntil.After(c.Now.Add(-c.Margin)),
		c.MaxAttempts > 0 && r.Attempt >= c.MaxAttempts,
		c.Payload != nil && r.Payload != nil && !bytes.Equal(c.Payload, r.Payload):
		return r, false, nil
	}
	r.Fence, r.Attempt, r.Token, r.StartedAt, r.Error = r.Fence+1, r.Attempt+1, c.Token, c.Now, ""
	r.LeaseUntil, r.ValidUntil, r.ExpiresOn = c.LeaseUntil, c.ValidUntil, c.ExpiresOn
	if c.Payload != nil {
		r.Payload = c.Payload
	}
	s.rows[c.Key] = r
	return r, true, nil
}

func (s *shelf) Swap(_ context.Context, seen, next dedup.Row) (dedup.Row, bool, error) {
	s.Lock()
	defer s.Unlock()
	r := s.rows[seen.Key]
	if !r.Exists() || r.Token != seen.Token || r.Fence != seen.Fence ||
		!r.LeaseUntil.Equal(seen.LeaseUntil) || !r.CompletedAt.Equal(seen.CompletedAt) {
		return r, false, nil
	}
	s.rows[seen.Key] = next
	return next, true, nil
}

func (s *shelf) Row(_ context.Context, k dedup.Key, _ bool) (dedup.Row, error) {
	s.Lock()
	defer s.Unlock()
	return s.rows[k], nil
}

func (s *shelf) Rows(context.Context, string) (dedup.RowPage, error) {
	s.Lock()
	defer s.Unlock()
	return dedup.RowPage{Rows: slices.Collect(maps.Values(s.rows))}, nil // a database has pages
}

func (s *shelf) PutResult(_ context.Context, p dedup.StoredResult) error {
	s.Lock()
	defer s.Unlock()
	s.results[p.Token] = p.Body // with its key, in a database, and its end
	return nil
}

func (s *shelf) Result(_ context.Context, _ dedup.Key, t dedup.Token, _ bool) ([]byte, error) {
	s.Lock()
	defer s.Unlock()
	return s.results[t], nil
}
