package delivery

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/streamsort/streamsort/internal/stream"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/table"
)

// OnStream returns the handler of a Lambda function behind the stream of the cursors table. For
// every queue that a batch of records names it delivers to each reader: see [Deliverer.Deliver]. It
// starts from what the reader has committed, never from a record's range: a record is only a hint.
//
//	handler, err := delivery.OnStream(deliverer, cursor.Names{}, delivery.Reader{Name: "billing", Handle: handle})
//	…
//	lambda.Start(handler)
//
// No queue holds the others of its shard up for long. One that has more than 10 seconds can hand on
// is woken up again, behind the records that wait by then. One comes again soon, by the mapping's
// own retry, where its first try failed or the store did, as long as its record is younger than
// half a minute: a queue that goes on failing is left to its next record, to a wake-up
// ([Options].WakeUp) and to the sweep. One that is slow or fails, of a reader with [Reader].Inline,
// is delivered by a call of its own ([Options].Aside), and comes again by no mapping. The event
// source mapping must have ReportBatchItemFailures on.
//
// It returns an InvalidError for a reader that is out of its bounds.
func OnStream(d *Deliverer, names cursor.Names,
	readers ...Reader) (
	func(context.Context, table.StreamEvent) (events.DynamoDBEventResponse, error), error) {
	for _, r := range readers {
		if err := d.takes(r); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, event table.StreamEvent) (events.DynamoDBEventResponse, error) {
		hints, broken := hintsOf(event, names)
		if broken != nil {
			d.observe(Delivery{Err: broken.err})
		}
		jobs := d.work(ctx, hints, readers, func(j *job, done Delivery) bool {
			j.again, j.cause = d.again(ctx, done, event.Records[j.hint.first]), done.Err
			return j.again
		})
		worst := broken
		for _, j := range jobs {
			if j.again && (worst == nil || j.hint.first < worst.first) {
				worst = &hint{first: j.hint.first, err: j.cause}
			}
		}
		if worst == nil {
			return events.DynamoDBEventResponse{}, nil
		}
		return stream.FailedAt(event.Records[worst.first], worst.err)
	}, nil
}

// DeliverMoved delivers queues that have these positions to the readers that are Eager, as OnStream
// does: call it when they were moved. A position is a hint, and is looked at before anything is
// noted of it; of a queue that is not there nothing is made. It makes nothing depend on it: a
// record of the stream has each move too, and of two that deliver, one gets the claim. A wake-up
// comes 5 seconds later where the store failed: the record may have been answered while the claim
// was in flight.
func (d inside) DeliverMoved(ctx context.Context, positions map[string]int64, readers ...Reader) {
	var hints []hint
	for _, queue := range slices.Sorted(maps.Keys(positions)) {
		hints = append(hints,
			hint{queue: queue, moved: cursor.Range{From: -1, To: positions[queue]}, unsure: true})
	}
	eager := slices.DeleteFunc(slices.Clone(readers), func(r Reader) bool { return !r.Eager })
	d.work(ctx, hints, eager, func(_ *job, done Delivery) bool {
		if isA[*cursor.InvalidError](done.Err) {
			return true // nobody comes: it would be as wrong again
		}
		failed := done.Err != nil || done.Reason == reasonTime && d.sorter.Notify(ctx, done.Queue) != nil
		if failed && d.wakeUp != nil {
			d.wakeUp(done.Queue, done.Consumer, d.now().Add(soon))
		}
		return failed
	})
}

// work delivers to each reader what hints say. again reports whether somebody comes for the queue
// again; what is due otherwise is scheduled.
func (d *Deliverer) work(ctx context.Context, hints []hint, readers []Reader,
	again func(*job, Delivery) bool) (jobs []*job) {
	for i := range hints {
		h := &hints[i]
		for _, r := range readers {
			if strings.HasPrefix(h.queue, r.Prefix) {
				jobs = append(jobs, &job{hint: h, reader: r})
				h.shared.jobs++
			}
		}
	}
	d.forEach(len(jobs), func(i int) {
		j := jobs[i]
		inline := d.asideOf(j.reader)
		done := d.deliver(ctx, j.hint.queue, j.reader, j.hint.moved,
			limits{until: d.now().Add(cmp.Or(inline, turn)), inline: inline, shared: &j.hint.shared,
				cursor: j.hint.cursor, unsure: j.hint.unsure})
		j.hint.shared.end()
		if inline > 0 && done.Err == nil {
			d.sendAside(ctx, done)
			d.schedule(done)
		} else if !again(j, done) {
			d.schedule(done)
		}
	})
	return jobs
}

type hint struct {
	queue string
	// moved is from the lowest position that a record shows to the highest.
	moved cursor.Range
	// cursor is that of the highest position, the zero one where none is at hand.
	cursor cursor.Cursor
	// unsure tells that no record says so.
	unsure bool
	// first is the place of the queue's first record.
	first int
	// err is why the record cannot be read.
	err error
	// shared is what was read of the queue for one of its jobs.
	shared shared
}

type job struct {
	hint   *hint
	reader Reader
	again  bool
	cause  error
}

// hintsOf reads the records of a batch, once a queue, and the first one that cannot be read.
func hintsOf(event table.StreamEvent, names cursor.Names) (hints []hint, broken *hint) {
	place := map[string]int{}
	for i, raw := range event.Records {
		cur, moved, err := cursor.AdvanceOf(raw, names)
		switch {
		case err != nil && broken == nil:
			broken = &hint{first: i, err: err}
		case err != nil || !cur.Exists():
		default:
			at, seen := place[cur.Queue]
			if !seen {
				at = len(hints)
				place[cur.Queue] = at
				hints = append(hints, hint{queue: cur.Queue, moved: moved, cursor: cur, first: i})
			}
			known := &hints[at]
			known.moved.From = min(known.moved.From, moved.From)
			if moved.To > known.moved.To {
				known.moved.To, known.cursor = moved.To, cur
			}
		}
	}
	return hints, broken
}

// soon is how near a retry must be for the mapping's own retry to make it.
const soon = 5 * time.Second

// again reports whether the mapping should hand the record out again. Where there is more to hand
// on, it wakes the queue up instead.
func (d *Deliverer) again(ctx context.Context, done Delivery, record json.RawMessage) bool {
	young := func() bool { return !stream.HeldForLong(record, d.now()) }
	switch {
	case done.Err != nil:
		return !isErased(done.Err, done.Queue) && young()
	case done.Reason == reasonTime:
		return d.sorter.Notify(ctx, done.Queue) != nil
	case done.Reason == reasonFailed:
		first := done.Record.Attempts+done.Record.Away <= 1 // others of the shard wait meanwhile
		return first && done.Record.RetryAt.Sub(d.now()) <= soon && young()
	}
	return false
}
