package delivery

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/request"
)

// setOperated is what an operator's unblocking or rewinding leaves: nothing has to be waited for.
func setOperated(seen Consumer, delivered int64, op string) []ddb.Action {
	last := seen.Last // the attempts on the message stay for people to read
	if delivered != seen.Delivered {
		last = request.Attempts{}
	}
	return append(setTaken(), setLast(last), attrBlockedSince.Remove(), attrTried.Remove(),
		attrTriedTo.Remove(),
		attrRetryAt.Remove(), setState(Idle), attrDelivered.Set(ddb.Int(delivered)),
		attrAttempts.Set(ddb.Int(0)), attrTogether.Remove(),
		attrTokenN.Set(ddb.Int(seen.Token.N+1)), attrLastOp.Set(ddb.Text(op)))
}

// Unblock lets a consumer go on whose message failed, and which has no claim in flight, Blocked or
// not: if its token and Delivered are as seen. skip moves Delivered over the message. The token's
// number rises, so that nobody who saw the consumer before can claim, or block, on what he saw. 1
// write unit.
//
// Lost response: the repeat fails and finds its own op: true. Another did it first, or claimed the
// message meanwhile, and may have committed it: false, and nothing is skipped. We die right after:
// the sweep wakes the consumer up.
func (s *requests) Unblock(ctx context.Context, seen Consumer, skip bool,
	op string) (Consumer, bool, error) {
	delivered := seen.Delivered
	if skip {
		delivered++
	}
	c, made, err := s.update(ctx, "unblock", seen.Queue, seen.Name,
		ddb.And(isNumber(seen.Token.N), isIn(Idle, Blocked), attrDelivered.Eq(ddb.Int(seen.Delivered))),
		setOperated(seen, delivered, op)...)
	return c, made || c.operatedBy(op), err
}

// Rewind sets a consumer to another place, if its token is as seen and no claim is in flight. It is
// Starting then. 1 write unit.
//
// Lost response, another did it first: as with Unblock. We die right after: the next caller goes on
// with the start.
func (s *requests) Rewind(ctx context.Context, seen Consumer, delivered int64,
	op string) (Consumer, bool, error) {
	c, made, err := s.update(ctx, "rewind", seen.Queue, seen.Name,
		ddb.And(isNumber(seen.Token.N), isIn(Idle, Blocked)),
		append(setOperated(seen, delivered, op), attrStarting.Set(ddb.Text(op)), attrRewinds.Plus(1),
			attrIsolateTo.Remove(), attrKeptFrom.Remove())...)
	return c, made || c.operatedBy(op), err
}

// KeepStart notes that everything from a seq on is stored and kept for the start of this op. It is
// only lowered. The answer is true while that start is under way. 1 write unit.
//
// Lost response, another did it first: what stands there is as low, and true. The start was
// finished, or the consumer rewound: false. We die right after: the next caller goes on from there.
func (s *requests) KeepStart(ctx context.Context, queue, name, op string,
	from int64) (Consumer, bool, error) {
	c, _, err := s.update(ctx, "keep start", queue, name,
		ddb.And(attrStarting.Eq(ddb.Text(op)),
			ddb.Or(attrKeptFrom.Missing(), attrKeptFrom.Gt(ddb.Int(from)))),
		attrKeptFrom.Set(ddb.Int(from)))
	return c, c.Starting == op, err
}

// FinishStart ends the start of this op with the place that it came to. 1 write unit.
//
// Lost response: the repeat fails, and the op is the last one and no longer Starting: true. Another
// did it first: the same, at their place; false where the consumer was recreated and starts further
// on by the same op. We die right after: the consumer is free.
func (s *requests) FinishStart(ctx context.Context, queue, name, op string,
	delivered int64) (Consumer, bool, error) {
	c, made, err := s.update(ctx, "finish start", queue, name,
		ddb.And(attrStarting.Eq(ddb.Text(op)), attrDelivered.Le(ddb.Int(delivered))),
		attrDelivered.Set(ddb.Int(delivered)), attrStarting.Remove(), attrKeptFrom.Remove())
	return c, made || c.Starting == "" && c.operatedBy(op), err
}

// Pause keeps the consumer from making claims, with a reason; an empty reason resumes it. A claim
// that is in flight is not touched. 1 write unit.
//
// Lost response, another did it first: the last one wins. We die right after: nothing is left to
// do.
func (s *requests) Pause(ctx context.Context, queue, name, reason string,
	now time.Time) (Consumer, bool, error) {
	set := ddb.Removed(attrPaused, attrPausedSince)
	if reason != "" {
		set = []ddb.Action{attrPaused.Set(ddb.Text(reason)), attrPausedSince.Set(ddb.Millis(now))}
	}
	return s.update(ctx, "pause", queue, name, attrQueue.Exists(), set...)
}

// Remove deletes a consumer, if its token is as seen, no claim is in flight, and none is
// quarantined. 1 write unit.
//
// Lost response: the repeat finds none and reports true. Another did it first: the same. We die
// right after: nothing is left to do.
func (s *requests) Remove(ctx context.Context, seen Consumer) (bool, error) {
	a, err := s.engine.Do(ctx, ddb.Delete{
		Op: ddb.Op{Op: "remove", Table: &s.consumers}, Key: keyOf(seen.Queue, seen.Name),
		If: ddb.Or(attrQueue.Missing(),
			ddb.And(isNumber(seen.Token.N), isIn(Idle, Blocked), attrQuarantine.SizeEq(0))),
	})
	return a.Held, err
}

// Erase deletes a consumer of a queue that was erased, whatever it is at, but for one whose replies
// are on their way. It reports whether it is gone. 1 write unit.
//
// Lost response: the repeat finds none and reports true. Another did it first: the same. We die
// right after: nothing is left to do.
func (s *requests) Erase(ctx context.Context, queue, name string) (bool, error) {
	a, err := s.engine.Do(ctx, ddb.Delete{
		Op: ddb.Op{Op: "erase", Table: &s.consumers}, Key: keyOf(queue, name),
		If: attrState.Ne(ddb.Text(string(Sending))),
	})
	return a.Held, err
}

// RecordOperation stores what an operator asks for, or how it ended. 1 write unit.
//
// Lost response: the repeat stores the same. We die right after: the operation stands there as
// asked for, and its Op shows whether it was done.
func (s *requests) RecordOperation(ctx context.Context, o Operation) error {
	_, err := s.engine.Do(ctx, ddb.Put{Op: ddb.Op{Op: "record operation", Table: &s.audit},
		Item: encodeOperation(fmt.Sprintf("%015d %s %s", o.At.UnixMilli(), o.Consumer, o.Op), o)})
	return err
}

// NameOperation gives an operation its Op in its queue, for ever: it reports whether the Op is this
// operation's, with everything that was asked for. The caller and the time make no difference. 1
// write unit.
//
// Lost response: the repeat finds its own: true. Another did it first: true where they asked for
// the same, false otherwise, and nothing changes. We die right after: nothing was done under this
// Op, and the same request does it.
func (s *requests) NameOperation(ctx context.Context, o Operation) (bool, error) {
	a, err := s.engine.Do(ctx, ddb.Put{
		Op: ddb.Op{Op: "name operation", Table: &s.audit}, Item: encodeOperation(idKey(o.Op), o),
		If: attrQueue.Missing(),
	})
	if err != nil || a.Held {
		return a.Held, err
	}
	named, err := decodeOperation(a.Item)
	return err == nil && named.asksFor(o), err
}

// Named reports whether an operation has its Op: [requests.NameOperation] gave it. 1 read unit.
func (s *requests) Named(ctx context.Context, o Operation) (bool, error) {
	a, err := s.engine.Do(ctx, ddb.Get{
		Op:     ddb.Op{Op: "named operation", Table: &s.audit},
		Key:    ddb.Fields{attrQueue: ddb.Text(o.Queue), attrOperation: ddb.Text(idKey(o.Op))}.Item(),
		Strong: true,
	})
	if err != nil {
		return false, err
	}
	named, err := ddb.Decoded(a.Item, decodeOperation)
	return err == nil && named.asksFor(o), err
}

func (o Operation) asksFor(other Operation) bool {
	return o.Queue == other.Queue && o.Consumer == other.Consumer && o.Kind == other.Kind &&
		o.Seq == other.Seq &&
		o.Reason == other.Reason && maps.Equal(o.Request, other.Request)
}

// auditPage is the most operations of a page, maxOperationKey the most bytes of an operation's key.
const auditPage, maxOperationKey = 100, 1024

// Audit reads what operators did to the queue's consumers, the latest first: 1 read unit for each 4
// KB. next is empty after the last page. One that cannot be read is left out: the error is then
// [ErrUnreadable], and page and next are good.
func (s *requests) Audit(ctx context.Context,
	queue, after string) (page []Operation, next string, err error) {
	return list(ctx, s.engine, attrOperation, after, decodeOperation, ddb.Query{
		Op: ddb.Op{Op: "audit", Table: &s.audit}, Partition: ddb.Text(queue),
		Where:     attrOperation.Lt(ddb.Text(ids)),
		Backwards: true, Strong: true, Limit: auditPage,
	})
}
