package sqlmarker

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/streamsort/streamsort/internal/reply"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/pull"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// layout is the version of the tables.
const layout = 4

var (
	// ErrSettled: the claim was settled as aborted, or its marker is there already. The transaction
	// must be rolled back.
	ErrSettled = errors.New("the claim is settled already")
	// ErrForgotten: the claim is older than what the database remembers. Nothing can be said of it,
	// and it can commit no more.
	ErrForgotten = errors.New("the claim is under the floor of the database's markers")
	// ErrNotInstalled: the tables are not there, or not whole: call Install.
	ErrNotInstalled = errors.New("the marker tables are not installed")
)

// Markers are the commit markers in a consumer's own database. They may be used by any number of
// goroutines and processes.
type Markers struct {
	db      *sql.DB
	dialect Dialect
	stack   string
	name    string
}

// MaxStack is how long a stack's name may be, in bytes.
const MaxStack = 200

// Open returns the markers in a database for the claims of one Streamsort stack. stack is any name
// that distinguishes it from the other stacks that this database may ever hear of, 1 to 200 bytes:
// the CloudFormation stack's id does.
//
// It reads whether the tables are there: ErrNotInstalled where they are not, an error that names
// both versions where they are of another one.
func Open(ctx context.Context, db *sql.DB, dialect Dialect, stack string) (*Markers, error) {
	if len(stack) == 0 || len(stack) > MaxStack {
		return nil, invalid.New(invalid.TextCode(stack, MaxStack), "stack",
			fmt.Sprintf("must have 1 to %d bytes", MaxStack))
	}
	var version int
	m := &Markers{db: db, dialect: dialect, stack: stack}
	err := db.QueryRowContext(ctx, dialect.Version).Scan(&version, &m.name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w (%w)", ErrNotInstalled, err)
	case version != layout:
		return nil,
			fmt.Errorf("the marker tables have version %d, and this program needs %d", version, layout)
	}
	return m, nil
}

// Name is the database's own name, 12 characters, which Install made up. A restored database has
// the name that it had.
func (m *Markers) Name() string { return m.name }

func (m *Markers) key(queue, consumer string) []any { return []any{m.stack, queue, consumer} }

func (m *Markers) whole(h delivery.Held) []any {
	return append(m.key(h.Queue, h.Consumer), h.Token.N, h.Token.Req)
}

// floor locks the reader's floor for the rest of the transaction, and refuses numbers under it, and
// a database that lost what was committed.
func (m *Markers) floor(ctx context.Context, tx *sql.Tx, h delivery.Held, committed int64) error {
	key := m.key(h.Queue, h.Consumer)
	if _, err := tx.ExecContext(ctx, m.dialect.Ensure, key...); err != nil {
		return fmt.Errorf("marker: %w", err)
	}
	var floor, last int64
	if err := tx.QueryRowContext(ctx, m.dialect.Floor, key...).Scan(&floor, &last); err != nil {
		return fmt.Errorf("marker: %w", err)
	}
	if err := knows(h, max(last, floor-1), committed); err != nil {
		return err
	}
	if h.Token.N < floor {
		return ErrForgotten
	}
	return nil
}

// Check returns a *pull.RestoredError where the database knows neither the claim of the number
// committed nor any later one.
func (m *Markers) Check(ctx context.Context, queue, consumer string, committed int64) error {
	var floor, last int64
	err := m.db.QueryRowContext(ctx, m.dialect.Floor, m.key(queue, consumer)...).Scan(&floor, &last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("check markers: %w", err)
	}
	return knows(delivery.Held{Queue: queue, Consumer: consumer}, max(last, floor-1), committed)
}

// knows returns a *pull.RestoredError where the last number that is known is not the one that
// should be.
func knows(h delivery.Held, last, committed int64) error {
	if last < committed {
		return &pull.RestoredError{Queue: h.Queue, Consumer: h.Consumer, Last: last, Committed: committed}
	}
	return nil
}

// querier is a transaction, or the database itself.
type querier interface {
	QueryRowContext(ctx context.Context, query string, arguments ...any) *sql.Row
}

// ahead returns a *pull.AheadError where the database was handed what is behind the batch's begin
// before, and the consumer was not set back since.
func (m *Markers) ahead(ctx context.Context, in querier, b delivery.Batch) error {
	var rewinds, upTo int64
	err := in.QueryRowContext(ctx, m.dialect.Place,
		m.key(b.Queue, b.Consumer)...).Scan(&rewinds, &upTo)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("marker: %w", err)
	case rewinds > b.Rewinds, rewinds == b.Rewinds && upTo > b.From:
		return &pull.AheadError{Queue: b.Queue, Consumer: b.Consumer, From: b.From, To: upTo}
	}
	return nil
}

// Mark puts the marker of a claim into the consumer's transaction: the claim is committed if and
// only if the transaction is. Do it last, right before the prepare. committed is the highest number
// that the delivery knows to be committed ([delivery.Answer].Committed). The replies stand beside
// the marker, for the process that settles: they are to be given to Claims.Commit, or
// Claims.Settle, and a *cursor.InvalidError where that would not take them.
//
// ErrSettled, ErrForgotten, a *pull.RestoredError, a *pull.AheadError, and any other error mean
// that the transaction must be rolled back. An AheadError of a claim that was taken over says only
// that the other one committed.
//
// Lost response of the transaction's commit: settle. Another settled the claim first: ErrSettled,
// or, where both are under way, one of us waits for the other. We die right after: the transaction
// is rolled back.
func (m *Markers) Mark(ctx context.Context, tx *sql.Tx, b delivery.Batch, committed int64,
	replies ...delivery.Reply) error {
	text, err := encodeReplies(replies)
	if err != nil {
		return err
	}
	h := b.Held()
	if err := m.ahead(ctx, tx, b); err != nil {
		return err
	}
	if err := m.floor(ctx, tx, h, committed); err != nil {
		return err
	}
	done, err := tx.ExecContext(ctx, m.dialect.Insert,
		append(m.whole(h), string(delivery.Committed), text, b.Rewinds, b.To)...)
	if err != nil {
		return fmt.Errorf("marker: %w", err)
	}
	n, err := done.RowsAffected()
	if err != nil {
		return fmt.Errorf("marker: %w", err)
	}
	if n == 0 {
		return ErrSettled
	}
	return nil
}

// Settle says how a claim ended in this database, for good, and with which replies: where it has no
// marker it gets that of an abort, and a process that is still at it can commit no more. It waits
// for a transaction that is about to commit.
//
// Lost response: the repeat reads what stands there. Another settles at once: both read the same.
// We die right after: the next caller reads it.
func (m *Markers) Settle(ctx context.Context, h delivery.Held,
	committed int64) (delivery.TokenOutcome, []delivery.Reply, error) {
	tx, err := m.db.BeginTx(ctx, nil)
	if err != nil {
		return "", nil, fmt.Errorf("settle: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after the commit it does nothing
	if err := m.floor(ctx, tx, h, committed); err != nil {
		return "", nil, err
	}
	if _, err := tx.ExecContext(ctx, m.dialect.Insert,
		append(m.whole(h), string(delivery.Aborted), sql.NullString{}, 0, -1)...); err != nil {
		return "", nil, fmt.Errorf("settle: %w", err)
	}
	var outcome string
	var text sql.NullString
	if err := tx.QueryRowContext(ctx, m.dialect.Outcome, m.whole(h)...).Scan(&outcome,
		&text); err != nil {
		return "", nil, fmt.Errorf("settle: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return "", nil, fmt.Errorf("settle: %w", err)
	}
	replies, err := reply.Decode([]byte(text.String))
	if err != nil {
		return "", nil, fmt.Errorf("settle: the marker's %w", err)
	}
	return delivery.TokenOutcome(outcome), replies, nil
}

// encodeReplies is the marker's column.
func encodeReplies(replies []delivery.Reply) (sql.NullString, error) {
	text, err := reply.Encode(replies)
	return sql.NullString{String: string(text), Valid: len(text) > 0}, err
}

// Forget deletes the markers of a reader's claims under a number, which must not be above the
// lowest number that is not settled ([delivery.Answer].Unsettled and the claim's own). It raises
// the floor to it in the same transaction, so that none of them can commit any more. It does
// nothing where a transaction that holds the floor is under way.
//
// Lost response: the repeat changes nothing. Another did it first: the same. We die right after:
// nothing is left to do.
func (m *Markers) Forget(ctx context.Context, queue, consumer string, under int64) error {
	_, err := m.raise(ctx, queue, consumer, under)
	if err != nil {
		return fmt.Errorf("forget markers: %w", err)
	}
	return nil
}

// raise raises the floor, and reports whether it stands so high.
func (m *Markers) raise(ctx context.Context, queue, consumer string, under int64) (bool, error) {
	tx, err := m.db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback() //nolint:errcheck // after the commit it does nothing
	key := m.key(queue, consumer)
	var floor int64
	err = tx.QueryRowContext(ctx, m.dialect.TryFloor, key...).Scan(&floor)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil // a transaction holds it, or it has no claim yet
	case err != nil:
		return false, err
	case floor >= under:
		return true, nil
	}
	if _, err := tx.ExecContext(ctx, m.dialect.Raise, append([]any{under}, key...)...); err != nil {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, m.dialect.Prune, append(key, under)...); err != nil {
		return false, err
	}
	return true, tx.Commit()
}

// Acknowledge lets a restored database go on: it is taken to know every claim up to a number,
// Committed of the *pull.RestoredError. What was committed since its backup is lost in it, unless
// the consumer was set back before. It is an error while a transaction of the consumer is under
// way.
func (m *Markers) Acknowledge(ctx context.Context, queue, consumer string, committed int64) error {
	if _, err := m.db.ExecContext(ctx, m.dialect.Ensure, m.key(queue, consumer)...); err != nil {
		return fmt.Errorf("acknowledge: %w", err)
	}
	done, err := m.raise(ctx, queue, consumer, committed+1)
	if err == nil && !done {
		err = errors.New("a transaction of the consumer is under way")
	}
	if err != nil {
		return fmt.Errorf("acknowledge: %w", err)
	}
	return nil
}
