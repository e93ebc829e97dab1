package xorack

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
)

// What tests of the store ask for, and nobody else.
type (
	Work = work
)

const (
	DueShards = chains.DueShards
	MaxMerge  = maxMerge
)

var Never = chains.Never

func (s Sum) Plus(o Sum) Sum { return s.plus(o) }

func (s Sum) Minus(o Sum) Sum { return s.minus(o) }

func (s *Store) Create(ctx context.Context, c Chain) (Chain, bool, error) {
	return s.create(ctx, c)
}

func (s *Store) Replace(ctx context.Context, c, seen Chain) (Chain, bool, error) {
	return s.replace(ctx, c, seen)
}

func (s *Store) Apply(ctx context.Context, w Work) (Chain, bool, error) { return s.apply(ctx, w) }

func (s *Store) Fail(ctx context.Context, e Edge, reason string,
	now time.Time) (Chain, bool, error) {
	return s.fail(ctx, e, reason, now)
}

// EdgeOf is an edge of a chain whose end leaves this mark.
func EdgeOf(tag string, inc Incarnation, op Op) Edge {
	e := Edge{tag: tag, inc: inc}
	copy(e.id[:], op[:])
	return e
}

func (s *Store) Extend(ctx context.Context, tag string, inc Incarnation,
	deadline time.Time) (Chain, bool, error) {
	return s.extend(ctx, tag, inc, deadline)
}

func (s *Store) TimeOut(
	ctx context.Context, c Chain, reason string, seen, now time.Time,
) (Chain, bool, error) {
	return s.timeOut(ctx, c, reason, seen, now)
}

func (s *Store) Postpone(ctx context.Context, tag string, inc Incarnation,
	from, to time.Time) (Chain, bool, error) {
	return s.postpone(ctx, tag, inc, from, to)
}

func (s *Store) PutOff(ctx context.Context, tag string, from, to time.Time) (Chain, bool, error) {
	return s.putOff(ctx, tag, from, to)
}

func (s *Store) Delete(ctx context.Context, tag string, op Op, now time.Time) (Chain, bool, error) {
	return s.delete(ctx, tag, op, now)
}

func (s *Store) Seal(ctx context.Context, tag string, inc Incarnation,
	ended, expires time.Time) (Chain, bool, error) {
	return s.seal(ctx, tag, inc, ended, expires)
}

func (s *Store) Settle(ctx context.Context, c Chain, now time.Time) (Chain, bool, error) {
	return s.settle(ctx, c, now)
}

func (s *Store) Due(
	ctx context.Context, shard int, at time.Time, after Pending, limit int,
) ([]Pending, error) {
	return s.due(ctx, shard, at, after, limit)
}

// Put stores a chain of stamps, as package stamps does.
func (s *Store) Put(ctx context.Context, c Chain) error {
	beside := []ddb.Action{chains.Tag.Set(ddb.Text(c.Tag)), chains.Sum.Remove(), chains.Edges.Remove(),
		chains.Options.Remove()}
	if !c.Due.IsZero() {
		beside = append(beside, chains.DueShard.Set(ddb.Int(chains.DueShardOf(c.Tag))))
	}
	_, err := s.table.Engine.Do(ctx, ddb.Put{Op: s.table.Op("put"), Item: codec.Item(&c, beside...)})
	return err
}
