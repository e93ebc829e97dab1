package trouble

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/streamsort/streamsort/internal/ddb"
)

// Page lists rows of a state whose queues' names begin with a prefix, in the order of these
// names, from behind a place on; it may miss what changed within the last second. next is the place behind its
// last row, "" where there is none. Half a read unit for each 4 KB, about 50 rows.
//
// A row that comes or goes while pages are read moves no other: each that is there
// all the while is listed once.
func (s *Store) Page(ctx context.Context, state State, prefix, after string, limit int) (page []Row, next string, err error) {
	if s == nil {
		return nil, "", nil
	}
	q := ddb.Query{Op: ddb.Op{Op: "list trouble", Table: s.table}, Partition: ddb.Text(string(state)), Limit: limit}
	if prefix != "" {
		q.Where = attrAt.BeginsWith(ddb.Text(prefix))
	}
	if after != "" {
		q.After = keyOf(state, after)
	}
	a, err := s.engine.Do(ctx, q)
	if err != nil {
		return nil, "", err
	}
	page, err = rows(a.Items)
	return page, a.Next.Get(attrAt).Str(), err
}

// Oldest lists rows of a state, those first that have been in it for longest; their N are 0. It may
// miss what changed within the last second. next is the place behind its last row, "" where there is none. Half a
// read unit for each 4 KB.
func (s *Store) Oldest(ctx context.Context, state State, after string, limit int) (page []Row, next string, err error) {
	if s == nil {
		return nil, "", nil
	}
	q := ddb.Query{Op: ddb.Op{Op: "oldest trouble", Table: s.table}, OfIndex: true, Partition: ddb.Text(string(state)), Limit: limit}
	if after != "" {
		since, name, _ := strings.Cut(after, " ")
		ms, err := strconv.ParseInt(since, 10, 64)
		if err != nil {
			return nil, "", fmt.Errorf("no place in the rows by age: %q", after)
		}
		q.After = ddb.Fields{attrState: ddb.Text(string(state)), attrAt: ddb.Text(name), attrSince: ddb.Int(ms)}.Item()
	}
	a, err := s.engine.Do(ctx, q)
	if err != nil {
		return nil, "", err
	}
	if a.Next.Exists() {
		ms, _ := a.Next.Get(attrSince).Int64()
		next = strconv.FormatInt(ms, 10) + " " + a.Next.Get(attrAt).Str()
	}
	page, err = rows(a.Items)
	return page, next, err
}

func rows(items []ddb.Item) ([]Row, error) {
	page := make([]Row, len(items))
	for i, it := range items {
		var err error
		if page[i], err = decode(it); err != nil {
			return nil, fmt.Errorf("trouble %q: %w", it.Get(attrAt).Str(), err)
		}
	}
	return page, nil
}
