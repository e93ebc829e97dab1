package trouble

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/streamsort/streamsort/internal/ddb"
)

// Page lists rows of a state whose queues' names begin with a prefix, those of no tenant first,
// then those of each shard of tenants, in the order of these names, from behind a place on; it may
// miss what changed within the last second. next is the place behind its last row, "" after the
// last one. Half a read unit for each 4 KB, about 50 rows, and for each of the nine shards, of
// which a tenant's, or another prefix, is in one.
//
// A row that comes or goes while pages are read moves no other: each that is there all the while is
// listed once.
func (s *Store) Page(ctx context.Context, state State, prefix, after string,
	limit int) (page []Row, next string, err error) {
	if s == nil {
		return nil, "", nil
	}
	over := shardsOf(state, prefix)
	for i, shard := range over {
		if after != "" && shard < shardOf(after) {
			continue
		}
		q := ddb.Query{Op: ddb.Op{Op: "list trouble", Table: s.table}, Partition: partition(state, shard),
			Limit: max(limit-len(page), 0)}
		if prefix != "" {
			q.Where = attrAt.BeginsWith(ddb.Text(prefix))
		}
		if after != "" && shard == shardOf(after) {
			q.After = Key(state, after)
		}
		a, err := s.engine.Do(ctx, q)
		if err != nil {
			return nil, "", err
		}
		found, err := rows(a.Items)
		if page = append(page, found...); err != nil || a.Next.Exists() {
			return page, a.Next.Get(attrAt).Str(), err
		}
		if limit > 0 && len(page) == limit && i < len(over)-1 {
			return page, page[limit-1].Place(), nil
		}
	}
	return page, "", nil
}

// Ages is how far a reader of rows by their age is, in each shard; the zero Ages is before the
// first, and behind the last.
type Ages struct {
	after [shards + 1]string
	over  [shards + 1]bool
}

// Oldest lists rows of a state, those first that have been in it for longest; their N are 0. It may
// miss what changed within the last second. next is behind its last row, the zero Ages after the
// last one. Half a read unit for each of the nine shards, and for each 4 KB: as many rows as are
// asked for are read of each shard.
func (s *Store) Oldest(ctx context.Context, state State, after Ages,
	limit int) (page []Row, next Ages, err error) {
	if s == nil {
		return nil, Ages{}, nil
	}
	next = after
	var waits [shards + 1]bool // some of the shard's rows are on no page yet
	for shard := range after.over {
		if after.over[shard] {
			continue
		}
		q := ddb.Query{Op: ddb.Op{Op: "oldest trouble", Table: s.table}, OfIndex: true,
			Partition: partition(state, shard), Limit: limit}
		if since, name, some := strings.Cut(after.after[shard], " "); some {
			ms, _ := strconv.ParseInt(since, 10, 64) // it was written here
			q.After = ddb.Fields{attrState: partition(state, shard), attrAt: ddb.Text(name),
				attrSince: ddb.Int(ms)}.Item()
		}
		a, err := s.engine.Do(ctx, q)
		if err != nil {
			return nil, Ages{}, err
		}
		found, err := rows(a.Items)
		if err != nil {
			return nil, Ages{}, err
		}
		page = append(page, found...)
		next.over[shard], waits[shard] = true, a.Next.Exists()
	}
	slices.SortStableFunc(page, func(a, b Row) int { return a.Since.Compare(b.Since) })
	if limit > 0 && len(page) > limit {
		for _, row := range page[limit:] {
			waits[shardOf(row.Place())] = true
		}
		page = page[:limit]
	}
	for _, row := range page {
		next.after[shardOf(row.Place())] = strconv.FormatInt(row.Since.UnixMilli(), 10) +
			" " + row.Place()
	}
	all := true
	for shard := range waits {
		next.over[shard] = next.over[shard] && !waits[shard]
		all = all && next.over[shard]
	}
	if all {
		next = Ages{}
	}
	return page, next, nil
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
