package delivery

import (
	"context"
	"slices"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/trouble"
)

// troubles are the rows for what a consumer's item itself says. The number of each is as high as
// that of any earlier one.
func troubles(c Consumer) (rows []trouble.Row) {
	row := bareRow(c)
	switch c.State {
	case Blocked:
		row.State, row.Since = trouble.Blocked, c.BlockedSince
		rows = append(rows, row)
	case InDoubt:
		row.State, row.Since = trouble.InDoubt, c.LeaseUntil
		rows = append(rows, row)
	default:
		if c.Retries() {
			row.State, row.Since, row.To = trouble.Failing, ddb.ToMillis(failingSince(c)),
				c.Last.Together(c.Delivered)
			rows = append(rows, row)
		}
	}
	if q := c.Quarantine[0]; q != (Quarantined{}) {
		aside := row
		aside.State, aside.Since, aside.Seq, aside.To = trouble.Quarantined, q.Since, q.From+1, 0
		rows = append(rows, aside)
	}
	if c.Paused != "" {
		// No claim lies between a pause and the next one.
		row.State, row.Since, row.N, row.To = trouble.Paused, c.PausedSince, c.PausedSince.UnixMilli(), 0
		rows = append(rows, row)
	}
	return rows
}

// bareRow is a row of a consumer, in no state yet.
func bareRow(c Consumer) trouble.Row {
	return trouble.Row{
		Queue: c.Queue, Consumer: c.Name, N: c.Token.N, Seq: c.Delivered + 1,
		Error: shorten(c.Error, trouble.MaxError), Shown: c.Shown,
	}
}

// Note writes and deletes the rows that a change of a consumer brings and ends; the zero after
// means that it was removed. It comes after the change, and what fails is left to the sweep: no
// delivery, and no operation, fails by it. A write a row.
func (s *requests) Note(ctx context.Context, before, after Consumer) {
	if s.trouble == nil {
		return
	}
	if !after.Exists() {
		_ = s.trouble.Forget(ctx, before.Queue, before.Name,
			slices.Concat(walked[1:], []trouble.State{trouble.HeldBy(before.Name)})...)
		return
	}
	was, is := troubles(before), troubles(after)
	for _, row := range is {
		if !slices.ContainsFunc(was, row.Like) {
			_ = s.trouble.Put(ctx, row)
		}
	}
	for _, row := range was {
		if !slices.ContainsFunc(is, func(o trouble.Row) bool { return o.State == row.State }) {
			_ = s.trouble.Delete(ctx, row)
		}
	}
}

// NoteTaken deletes the row of a consumer whose claim is committed, where its message was retried:
// 1 write unit at the end of a failure, none for a message that is taken at once. c is what it was
// under its claim. What fails is left to the sweep.
func (s *requests) NoteTaken(ctx context.Context, c Consumer) {
	if c.retried() {
		s.NoteOver(ctx, c, trouble.Failing)
	}
}

// NoteOver deletes the row of a consumer that is not in a state any more. What fails is left to the
// sweep.
func (s *requests) NoteOver(ctx context.Context, c Consumer, state trouble.State) {
	_ = s.trouble.Delete(ctx,
		trouble.Row{State: state, Queue: c.Queue, Consumer: c.Name, N: c.Token.N})
}
