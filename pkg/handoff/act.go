package handoff

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// Act is what a batch of acts does to one consumer.
type Act struct {
	// Order is as for one consumer; its Op is the batch's id, which no other batch has.
	Order
	// Kind is OpSkip, OpRedrive, OpPause, OpResume or OpRewind, Start where that goes.
	Kind  string
	Start Start
	// At is when the batch was started: the same whoever tries the act.
	At time.Time
	// Selects reports whether the consumer, as it stands, is one of those to act on.
	Selects func(Consumer) bool
}

// errNotSelected: the consumer is not, or no longer, one of those to act on.
var errNotSelected = errors.New("the consumer was not in this state any more")

// actTries is how often an act is tried on a consumer that others change at the same moment.
const actTries = 3

// Act carries an act of a batch out, if its consumer is selected as it stands: once, however
// often, late or side by side it is called, and whatever operators and other batches do
// meanwhile. It returns how the act ended, with a Done and an Error as the operation on record
// has them; neither where the consumer was not selected. With an error it has to be
// called again. 1 read and 3 writes, one for each row of trouble that it brings or ends, and the
// notify; a rewind's looks too. 1 read and 1 write where the consumer is not selected.
//
// Lost responses, we die right after a step: the operation is on record, the consumer's Act
// says whether it was done, and the next call goes on. Another did it first: the
// consumer's Act is not what was seen, and is looked at again. The act of another
// batch stands there: that one is recorded as done before it is replaced, so that who
// tries it later finds it done.
func (d *Deliverer) Act(ctx context.Context, a Act) (Operation, error) {
	if err := a.validate(); err != nil {
		return Operation{}, err
	}
	for try := 1; ; try++ {
		done, err := d.actOnce(ctx, a)
		if !errors.Is(err, ErrOutran) {
			return done, err
		}
		if try == actTries {
			return d.store.EndAct(ctx, a.Queue, done.Key(), err.Error())
		}
	}
}

// actOnce is one try. With [ErrOutran] the consumer was changed meanwhile, and the operation is
// the one on record.
func (d *Deliverer) actOnce(ctx context.Context, a Act) (Operation, error) {
	c, err := d.store.Consumer(ctx, a.Queue, a.Consumer)
	if err != nil {
		return Operation{}, err
	}
	asked := d.asked(a, c)
	if c.Act == asked.Key() {
		return d.acted(ctx, asked, c)
	}
	if !c.Exists() {
		return Operation{}, nil
	}
	if !a.Selects(c) {
		return d.store.EndAct(ctx, a.Queue, asked.Key(), errNotSelected.Error())
	}
	if stands, err := d.store.BeginAct(ctx, asked); err != nil || stands.Ended() {
		return stands, err
	}
	if c.Act != "" {
		if _, err := d.store.EndAct(ctx, a.Queue, c.Act, ""); err != nil {
			return Operation{}, err
		}
	}
	after, failed := d.change(ctx, d.store.Marking(c.Act, asked.Key()), c, a, asked)
	switch {
	case after.Act == asked.Key():
		d.noteOperated(ctx, a.Kind, c, after)
		return d.acted(ctx, asked, after)
	case failed == nil:
		return asked, ErrOutran // another did it, and the act of another batch came after
	case !isRefusal(failed):
		return asked, failed
	}
	why, _ := refusedFor(failed)
	return d.store.EndAct(ctx, a.Queue, asked.Key(), why)
}

// isRefusal reports whether an error is about a consumer, or its queue, as it stands. Any other says
// nothing about them, and its words are for who runs the store.
func isRefusal(err error) bool {
	var wrong *cursor.InvalidError
	return errors.As(err, &wrong) || slices.ContainsFunc(
		[]error{ErrNotBlocked, ErrClaimed, ErrQuarantined, ErrNotQuarantined, ErrNoConsumer, cursor.ErrNoQueue, cursor.ErrErased},
		func(known error) bool { return errors.Is(err, known) })
}

// asked is what is on record of an act on a consumer.
func (d *Deliverer) asked(a Act, c Consumer) Operation {
	asked := d.operation(a.Order, a.Kind, -1, nil)
	asked.At, asked.Batch = ddb.ToMillis(a.At), a.Op
	switch a.Kind {
	case OpSkip, OpRedrive:
		asked.Seq = c.Delivered + 1
	case OpRewind:
		asked.Seq, asked.Request = a.Start.named(), map[string]string{"start": a.Start.String()}
	}
	return asked
}

// change does to the consumer what is asked for.
func (d *Deliverer) change(ctx context.Context, store *Store, c Consumer, a Act, asked Operation) (Consumer, error) {
	op := fmt.Sprintf("%s %d %s", a.Kind, asked.Seq, a.Op)
	switch a.Kind {
	case OpSkip, OpRedrive:
		return unblocked(ctx, store, c, op, a.Kind, asked.Seq)
	case OpRewind:
		return d.rewound(ctx, store, c, op, a.Start)
	case OpPause:
		return made(store.Pause(ctx, c.Queue, c.Name, a.Reason, d.now()))
	default:
		return made(store.Pause(ctx, c.Queue, c.Name, "", d.now()))
	}
}

// acted records that an act was done, and wakes its consumer up, which also finishes a start.
func (d *Deliverer) acted(ctx context.Context, asked Operation, c Consumer) (Operation, error) {
	done, err := d.store.EndAct(ctx, asked.Queue, asked.Key(), "")
	if err != nil || c.Paused != "" {
		return done, err
	}
	if err = d.sorter.Notify(ctx, asked.Queue); isErased(err, asked.Queue) {
		err = nil // there is nobody to wake up
	}
	return done, err
}

func (a Act) validate() error {
	switch a.Kind {
	case OpSkip, OpRedrive, OpPause, OpResume, OpRewind:
	default:
		return fmt.Errorf("no act of a batch: %q", a.Kind)
	}
	if a.Op == "" || a.At.IsZero() {
		return errors.New("an act has its batch's id and time")
	}
	return a.Order.validate()
}
