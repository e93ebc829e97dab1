package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/acts"
	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/record"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// desk is a Deliverer that notes who is in trouble, and the desk of batches of acts on it.
func (w *world) desk(tables ddb.Engine, sorter *cursor.Sorter) (*handoff.Deliverer, *acts.Desk, error) {
	names := handoff.Names{Trouble: trouble.DefaultName}
	d, err := handoff.New(record.NewStore(tables, names.Tables()), sorter, &handoff.Options{Now: func() time.Time { return w.now }})
	if err != nil {
		return nil, nil, err
	}
	desk := acts.New(d)
	desk.Wait = func(_ context.Context, left time.Duration) error { w.now = w.now.Add(left); return nil }
	return d, desk, nil
}

// manyRedriven has a message block its consumer in each of 1,000 queues, and redrives all of them by one batch, whose
// process is killed in the middle of it, and whose next one goes on: each is redriven once.
func manyRedriven(w *world) error {
	ctx, queues := context.Background(), w.of(1_000)
	queueOf := func(n int64) string { return fmt.Sprintf("octo-org/repository-%06d", n) }
	refused := handoff.Reader{Name: "c", Handle: func(context.Context, handoff.Batch) error { return handoff.Permanent(errors.New("no")) }}
	var blocked, batch spent
	if err := w.run(&blocked, sideBySide(time.Hour), func(tables ddb.Engine, sorter *cursor.Sorter) error {
		d, _, err := w.desk(tables, sorter)
		if err != nil {
			return err
		}
		return each(queues, func(n int64) error {
			if _, err := sorter.Put(ctx, cursor.Message{Queue: queueOf(n), Seq: 1}); err != nil {
				return err
			}
			if done := d.Deliver(ctx, queueOf(n), refused, 1); done.Ended != handoff.EndedBlocked {
				return fmt.Errorf("%s: %s, %w", queueOf(n), done.Ended, done.Err)
			}
			return nil
		})
	}); err != nil {
		return err
	}
	w.now = w.now.Add(time.Minute)
	var id acts.ID
	turn := func(b budget) (left bool, err error) {
		err = w.run(&batch, b, func(tables ddb.Engine, sorter *cursor.Sorter) error {
			_, desk, err := w.desk(tables, sorter)
			if err != nil {
				return err
			}
			if id.ID == "" {
				looked, err := desk.Look(ctx, acts.Ask{Action: handoff.OpRedrive, Reason: "the sink is mended", Rate: acts.MaxRate})
				if err != nil {
					return err
				}
				if int64(looked.Selected) != queues {
					return fmt.Errorf("%d are selected, not %d", looked.Selected, queues)
				}
				id = looked.Name()
				_, err = desk.Start(ctx, id, looked.Who)
				return err
			}
			did, err := desk.Turn(ctx, id)
			if left = !did.Next.IsZero(); did.Next.After(w.now) {
				w.now = did.Next // a process that died has kept the batch
			}
			return err
		})
		return left, err
	}
	if _, err := turn(sideBySide(time.Hour)); err != nil {
		return err
	}
	// What one act takes is four writes and a read, and some more a page: this is the middle.
	if _, err := turn(budget{requests: int(queues) * 5 / 2, bytes: readRate}); err == nil && w.part == 1 {
		return errors.New("the first process was not killed")
	}
	for turns := 0; ; turns++ {
		left, err := turn(sideBySide(time.Minute))
		switch {
		case err != nil:
			return err
		case turns > 100:
			return errors.New("the batch does not end")
		}
		if !left {
			break
		}
	}
	w.line(fmt.Sprintf("%d consumers redriven, one process killed", queues), batch)
	return each(queues, func(n int64) error {
		c, err := w.records().Consumer(ctx, queueOf(n), "c")
		// The claim has the token 1, the block takes 2, and each redrive one more.
		if err == nil && (c.State != handoff.Idle || c.Token.N != 3) {
			err = fmt.Errorf("%s is %s under %d", c.Queue, c.State, c.Token.N)
		}
		return err
	})
}
