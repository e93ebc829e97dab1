package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// audit checks both queues and the database. Every message of pings has an answer
// in pongs, at the same place; every ball that is hit back has its answer in pings,
// behind those that were served, at the same place; and the database has all that
// came, once, in order.
func audit(ctx context.Context, sorter *cursor.Sorter, db *sql.DB, o options, out io.Writer) error {
	sent, err := all(ctx, sorter, pings)
	if err != nil {
		return err
	}
	came, err := all(ctx, sorter, pongs)
	if err != nil {
		return err
	}
	wrong := 0
	for i, pong := range came {
		// The i-th pong answers the i-th ping.
		if i >= len(sent) || pong.Answers != int64(i)+1 || pong.Ball != sent[i].Ball || pong.Hits != sent[i].Hits+1 {
			wrong++
		}
	}
	back := 0
	for i, pong := range came {
		if pong.Hits >= o.last() {
			continue // nobody hits it any more
		}
		at := o.balls + back
		if at >= len(sent) || sent[at].Answers != int64(i)+1 || sent[at].Ball != pong.Ball || sent[at].Hits != pong.Hits+1 {
			wrong++
		}
		back++
	}
	written, disorder, err := inOrder(ctx, db)
	if err != nil {
		return err
	}
	unanswered := max(len(sent)-len(came), 0) + max(o.balls+back-len(sent), 0)
	extra := max(len(came)-len(sent), 0) + max(len(sent)-o.balls-back, 0)
	for _, row := range []struct {
		name string
		n    int
	}{
		{"pings", len(sent)},
		{"pongs", len(came)},
		{"written down", written},
		{"not answered", unanswered},
		{"answered twice", extra},
		{"out of order", wrong + disorder},
	} {
		fmt.Fprintf(out, "    %-16s %d\n", row.name, row.n)
	}
	if unanswered+extra+wrong+disorder > 0 || written != len(came) || len(sent) != o.messages() {
		return errors.New("the game was not fair")
	}
	return nil
}

// all reads a queue.
func all(ctx context.Context, sorter *cursor.Sorter, queue string) ([]ball, error) {
	it, err := sorter.Status(ctx, queue)
	if err != nil {
		return nil, err
	}
	var balls []ball
	for m, err := range sorter.Read(ctx, queue, 0, it.Position) {
		var b ball
		if err == nil {
			err = json.Unmarshal(m.Body, &b)
		}
		if err != nil {
			return nil, fmt.Errorf("queue %s: %w", queue, err)
		}
		balls = append(balls, b)
	}
	return balls, nil
}

// inOrder counts what the database has, and what does not follow the line before.
func inOrder(ctx context.Context, db *sql.DB) (lines, disorder int, err error) {
	rows, err := db.QueryContext(ctx, "SELECT seq FROM hits ORDER BY line")
	if err != nil {
		return 0, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var seq int
		if err := rows.Scan(&seq); err != nil {
			return 0, 0, err
		}
		if lines++; seq != lines {
			disorder++
		}
	}
	return lines, disorder, rows.Err()
}
