package sqlmarker

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/pull"
)

// Effect does what a batch is for, in a transaction that it must neither commit nor roll back, with
// tx or by a statement: with tx, [Markers.Consume] ends with [pull.ErrEnded]. What it returns, or
// panics with, is why the batch is given back and tried again; after some attempts the consumer is
// blocked. What it adds to the batch ([delivery.Batch.Reply]) is sent if the transaction is
// committed, exactly once.
type Effect func(ctx context.Context, tx *sql.Tx, b delivery.Batch) error

// Consume hands a queue's messages on to the database, each exactly once: see [pull.Consume].
func (m *Markers) Consume(ctx context.Context, claims delivery.Claims, queue, consumer string,
	effect Effect, options *pull.ConsumeOptions) error {
	return pull.Consume(ctx, claims, database{m, effect}, queue, consumer, options)
}

// database is the markers with what is to be done beside them.
type database struct {
	*Markers
	effect Effect
}

var _ pull.Database = database{}

func (d database) Apply(ctx context.Context, b delivery.Batch, committed int64,
	prepare func(context.Context) error) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after the commit it does nothing
	if err := d.run(ctx, tx, b); err != nil {
		if isEnded(ctx, tx.Rollback()) { // what follows may need its connection
			return fmt.Errorf("%w (it returned: %w)", pull.ErrEnded, err)
		}
		return d.restored(ctx, b, committed, err)
	}
	replies, _ := b.Replies() // with one that was refused the prepare fails
	if err := d.Mark(ctx, tx, b, committed, replies...); isEnded(ctx, err) {
		return pull.ErrEnded
	} else if err != nil {
		return err
	}
	if err := prepare(ctx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// isEnded reports whether a call on the transaction shows that its effect ended it. The end of its
// context does so, too.
func isEnded(ctx context.Context, err error) bool {
	return errors.Is(err, sql.ErrTxDone) && ctx.Err() == nil
}

// restored is why an effect failed: a database that has a batch already, or that lost what the
// batch builds on, is reported as such, whatever it refused it for.
func (d database) restored(ctx context.Context, b delivery.Batch, committed int64,
	failed error) error {
	err := d.ahead(ctx, d.db, b)
	if err == nil {
		err = d.Check(ctx, b.Queue, b.Consumer, committed)
	}
	if errors.As(err, new(*pull.AheadError)) || errors.As(err, new(*pull.RestoredError)) {
		return fmt.Errorf("%w (its effect failed: %w)", err, failed)
	}
	return failed
}

// run runs the effect; a panic is an error.
func (d database) run(ctx context.Context, tx *sql.Tx, b delivery.Batch) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return d.effect(ctx, tx, b)
}
