package repliessim

import (
	"context"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/sim"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// queueView is the queues' tables as one process sees them. What is asked of the
// queue that is answered is no point.
type queueView struct {
	*cursor.Memory
	m *model
	p *sim.Proc
}

type arrivalAnswer struct{ cursor.Arrival }

// Hash implements [sim.Hasher].
func (a arrivalAnswer) Hash(d *sim.Digest) {
	d.Text(a.ID)
	d.Text(string(a.Op))
	d.Int(a.Seen)
	d.Int(a.ExpiresOn.Unix())
}

// String is what a trace shows.
func (a arrivalAnswer) String() string { return fmt.Sprintf("%s, seen %d", a.ID, a.Seen) }

func (v *queueView) PutArrival(ctx context.Context, a cursor.Arrival) (cursor.Arrival, error) {
	answer, err := sim.Do(v.p, sim.Labelf("put %d replies to %s", len(a.Messages), a.Queue), true, func() (arrivalAnswer, error) {
		there, err := v.Memory.PutArrival(ctx, a)
		v.m.rows[a.Queue+"/"+a.ID] = there.ExpiresOn
		return arrivalAnswer{there}, err
	})
	return answer.Arrival, err
}

type cursorAnswer struct {
	cursor.Cursor
	done bool
}

// Hash implements [sim.Hasher].
func (a cursorAnswer) Hash(d *sim.Digest) {
	d.Int(a.Position)
	d.Int(a.Parked)
	d.Text(string(a.Tail))
	d.Bool(a.done)
}

// String is what a trace shows.
func (a cursorAnswer) String() string {
	return fmt.Sprintf("%s at %d, done %v", a.Queue, a.Position, a.done)
}

func (v *queueView) change(label sim.Label, do func() (cursor.Cursor, bool, error)) (cursor.Cursor, bool, error) {
	answer, err := sim.Do(v.p, label, true, func() (cursorAnswer, error) {
		c, done, err := do()
		return cursorAnswer{c, done}, err
	})
	return answer.Cursor, answer.done, err
}

func (v *queueView) Ticket(ctx context.Context, queue string, entries cursor.Tail, seen cursor.Range, now time.Time) (cursor.Cursor, bool, error) {
	return v.change(sim.Labelf("ticket in %s", queue), func() (cursor.Cursor, bool, error) {
		return v.Memory.Ticket(ctx, queue, entries, seen, now)
	})
}

func (v *queueView) Move(ctx context.Context, queue string, from, to int64, now time.Time) (cursor.Cursor, bool, error) {
	return v.change(sim.Labelf("move %s to %d", queue, to), func() (cursor.Cursor, bool, error) {
		return v.Memory.Move(ctx, queue, from, to, now)
	})
}

func (v *queueView) Cursor(ctx context.Context, queue string, strong bool) (cursor.Cursor, error) {
	c, err := v.Memory.Cursor(ctx, queue, strong)
	cursorAnswer{c, strong}.Hash(v.p.Knows()) // by no request
	return c, err
}

type messageAnswer struct{ cursor.Message }

// Hash implements [sim.Hasher].
func (a messageAnswer) Hash(d *sim.Digest) {
	d.Text(string(a.Body))
	d.Text(string(a.Op))
}

// String is what a trace shows.
func (a messageAnswer) String() string { return string(a.Body) }

func (v *queueView) PutMessage(ctx context.Context, message cursor.Message) (cursor.Message, error) {
	answer, err := sim.Do(v.p, sim.Labelf("put %d to %s", message.Seq, message.Queue), true, func() (messageAnswer, error) {
		there, err := v.Memory.PutMessage(ctx, message)
		v.m.rows[fmt.Sprint(message.Queue, "/", message.Seq)] = there.ExpiresOn
		return messageAnswer{there}, err
	})
	return answer.Message, err
}

func (v *queueView) Message(ctx context.Context, queue string, seq int64) (cursor.Message, bool, error) {
	there, found, err := v.Memory.Message(ctx, queue, seq)
	messageAnswer{there}.Hash(v.p.Knows()) // by no request
	return there, found, err
}

func (v *queueView) Arrivals(ctx context.Context, query cursor.ArrivalQuery) ([]cursor.Arrival, []cursor.Hash, error) {
	found, left, err := v.Memory.Arrivals(ctx, query)
	for _, a := range found {
		arrivalAnswer{a}.Hash(v.p.Knows()) // by no request
	}
	v.p.Knows().Int(int64(len(found)))
	return found, left, err
}
