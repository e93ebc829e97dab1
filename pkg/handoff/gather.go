package handoff

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/record"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// A reader with a window lets batches grow: the next batch of a queue is claimed no sooner than a window
// after the last one was, save where it is full. What is put off so is remembered by the process, which
// delivers it with the first event that it is handed when it is due. Where none comes, or the process is
// gone, the wake-up does that was told of as it was put off; and where that is lost, the sweep.

// wakeSlack is how long after it is due the wake-up of what was put off comes: by then most of it was
// delivered with another event.
const wakeSlack = 500 * time.Millisecond

// gathered is how long after its window the sweep takes a batch for one that gathers: its wake-up may be on its
// way until then.
const gathered = 5 * time.Second

// Bounds of what a process puts off: how much at a time, what is beyond is delivered at once; and how much of it
// it delivers with one event, the longest due first.
const maxPutOff, maxPutOffTurn = 10_000, 1_000

// stale is how long after it was due something was most likely delivered by another: a look at the
// consumer goes before a claim then.
const stale = 2 * time.Second

var errNoWakeBatch = &cursor.InvalidError{
	Field: "batchWindow", Code: invalid.Misplaced,
	Problem: "needs a timer: Options.WakeBatch must be set, or nobody delivers what was put off where no other record comes",
}

// validateWindow reports a window that is out of its bounds, or that a tracked reader has.
func (r Reader) validateWindow() error {
	switch {
	case r.BatchWindow == 0:
		return nil
	case r.BatchWindow < record.MinWindow || r.BatchWindow > record.MaxWindow:
		return &cursor.InvalidError{Field: "batchWindow", Code: invalid.OutOfRange, Problem: fmt.Sprintf("is %s: it must be from %s to %s", r.BatchWindow, record.MinWindow, record.MaxWindow)}
	case r.Track > 0:
		return &cursor.InvalidError{Field: "batchWindow", Code: invalid.Misplaced, Problem: "must not be given with track: messages gather there while the work of the batch before goes on"}
	}
	return nil
}

// putOff is what one handler of a process put off.
type putOff struct {
	mu   sync.Mutex
	left map[consumerKey]waits
}

// waits is a range that waits for the end of its window.
type waits struct {
	cursor.Range
	due time.Time
}

// add remembers a range of a queue for a consumer, and reports whether there is room for it.
func (p *putOff) add(queue, consumer string, w waits) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := consumerKey{queue, consumer}
	if _, there := p.left[key]; !there && len(p.left) >= maxPutOff {
		return false
	}
	p.left[key] = w
	return true
}

// take is what a delivery hands on of a queue that moved, what was put off before as well, and until when that was; the
// zero time where nothing was.
func (p *putOff) take(queue, consumer string, moved cursor.Range) (all cursor.Range, due time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := consumerKey{queue, consumer}
	before, there := p.left[key]
	if !there {
		return moved, time.Time{}
	}
	delete(p.left, key)
	return cursor.Range{From: before.From, To: max(before.To, moved.To)}, before.due
}

// due makes the jobs of what is due by now, but of queues that have other jobs. They stay put off until they
// are taken.
func (p *putOff) due(now time.Time, readers []Reader, but map[consumerKey]bool) (jobs []*job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	keys := slices.DeleteFunc(slices.Collect(maps.Keys(p.left)), func(key consumerKey) bool {
		return but[key] || p.left[key].due.After(now)
	})
	slices.SortFunc(keys, func(a, b consumerKey) int {
		return cmp.Or(p.left[a].due.Compare(p.left[b].due), strings.Compare(a.queue, b.queue), strings.Compare(a.consumer, b.consumer))
	})
	hints := map[string]*hint{}
	for _, key := range keys[:min(len(keys), maxPutOffTurn)] {
		w := p.left[key]
		if now.Sub(w.due) > stale {
			w.From = -1
			p.left[key] = w
		}
		of := hints[key.queue]
		if of == nil {
			of = &hint{queue: key.queue, moved: w.Range, first: -1}
			hints[key.queue] = of
		}
		i := slices.IndexFunc(readers, func(r Reader) bool { return r.Name == key.consumer })
		jobs = append(jobs, of.add(readers[i]))
	}
	return jobs
}

// gathersUntil is until when the next batch of a consumer is put off, where it is idle and nothing failed; the zero time
// where it is not. A clock that was ahead of ours as it claimed keeps nobody waiting.
func (r Reader) gathersUntil(c Consumer, now time.Time) time.Time {
	if r.BatchWindow == 0 || c.BatchAt.IsZero() || c.BatchAt.After(now) ||
		c.State != Idle || c.Attempts > 0 || c.FailedTo() > c.Delivered || !c.RetryAt.IsZero() || c.Paused != "" || c.Starting != "" {
		return time.Time{}
	}
	return c.BatchAt.Add(r.BatchWindow)
}

// gather puts off what waits for a consumer that may claim it, where the window says so: not a probe, and not
// a full batch.
//
// We die right after: the wake-up that was told of delivers it, or the queue's next record; where the wake-up was not
// sent, the sweep does.
func (run *delivery) gather() {
	c := run.Record
	now := run.now()
	due := run.reader.gathersUntil(c, now)
	if !run.putOffUntil.IsZero() && run.putOffUntil.Before(due) {
		due = run.putOffUntil // another made a batch of a part since: the rest has waited for as long
	}
	if run.off == nil || !due.After(now) || run.opens(run.learnt) || run.position-c.Delivered >= int64(run.reader.MaxMessages) {
		return
	}
	if run.off.add(c.Queue, c.Name, waits{cursor.Range{From: c.Delivered, To: run.position}, due}) {
		run.wakeBatch(c.Queue, run.position, due.Add(wakeSlack))
		run.Ended = EndedGathering
	}
}

// WakeBatch wakes up who delivers, by a notification of a queue, where one of options.Readers that has a window was not
// delivered what it put off: messages up to a seq. It reports whether it did. Call it when [Options].WakeBatch said,
// or at any other time: who is woken up too early puts off again.
//
// It costs half a read unit for each 4 KB of the queue's consumers where nothing waits, and looks at some
// thousand of them at most. Died right after: nothing is left to do. A read that shows an
// older state has it notify in vain.
func (d *Deliverer) WakeBatch(ctx context.Context, queue string, upTo int64, options SweepOptions) (woken bool, err error) {
	if err := cursor.ValidateQueue(queue); err != nil {
		return false, err
	}
	page, err := d.store.GlanceConsumers(ctx, queue)
	if err != nil && len(page) == 0 {
		return false, err
	}
	if !slices.ContainsFunc(page, func(c Consumer) bool { return d.waitsFor(c, upTo, options.Readers) }) {
		return false, nil
	}
	err = d.sorter.Notify(ctx, queue)
	if isErased(err, queue) {
		return false, nil
	}
	return err == nil, err
}

// waitsFor reports whether a consumer that puts off has nobody who delivers to it what it put off, up to a seq.
func (d *Deliverer) waitsFor(c Consumer, upTo int64, readers []Reader) bool {
	if c.Delivered >= upTo || c.Paused != "" || windowOf(c, readers).BatchWindow == 0 {
		return false
	}
	switch c.State {
	case Idle:
		return !c.RetryAt.After(d.now()) // else that has a wake-up of its own
	case Started, Sending:
		return c.To < upTo // whom it stops may not have been able to note it
	}
	return false
}

// windowOf is the reader of a consumer, as far as it is known; the zero Reader where it is not.
func windowOf(c Consumer, readers []Reader) Reader {
	for _, r := range readers {
		if r.Name == c.Name && strings.HasPrefix(c.Queue, r.Prefix) {
			return r
		}
	}
	return Reader{}
}

// gathers reports whether a consumer that lags does so because its messages gather, and its wake-up is still to
// come.
func (r *sweepRun) gathers(c Consumer) bool { return r.gathersUntil(c).After(r.now()) }

// gathersUntil is until when gathers says so.
func (r *sweepRun) gathersUntil(c Consumer) time.Time {
	return windowOf(c, r.options.Readers).gathersUntil(c, r.now()).Add(gathered)
}
