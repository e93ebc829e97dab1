package timer

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/fanout"
)

// Timer notes wake-ups and sends them. It may be used by any number of goroutines. A nil Timer
// notes nothing: there is no queue.
type Timer struct {
	queue  string
	client *awscall.Client
	now    func() time.Time

	mu sync.Mutex
	// noted are those since the last Flush, the latest of each thing; of a settle window each
	// bound.
	noted map[note]WakeUp
	// sent is what is on its way.
	sent map[Thing]sent
}

// note is what one wake-up of a Flush is for. upTo is that of a settle window.
type note struct {
	Thing
	upTo string
}

// sent is a wake-up of a thing that is on its way: when it comes out, its bound, and how often it
// was sent again.
type sent struct {
	at    time.Time
	upTo  string
	again int
}

// Bounds of what a process keeps: what is beyond is left to the sweep, or sent twice.
const maxNoted, maxSent = 5_000, 10_000

// tryTime bounds one try of a request, sendTime all of a Flush: an invocation keeps a second for
// its answer.
const tryTime, sendTime = 300 * time.Millisecond, 600 * time.Millisecond

// New returns a Timer that sends to the queue of a URL; nil where that is empty. It makes no
// request.
func New(queueURL string) (*Timer, error) {
	if queueURL == "" {
		return nil, nil
	}
	client, err := awscall.New(awscall.SQS, awscall.Options{Timeout: tryTime})
	if err != nil {
		return nil, fmt.Errorf("timer: %w", err)
	}
	return &Timer{queue: queueURL, client: client, now: time.Now, noted: map[note]WakeUp{},
		sent: map[Thing]sent{}}, nil
}

// Gap notes when the gap of a queue is as old as its policy allows.
func (t *Timer) Gap(queue string, due time.Time) {
	t.note(WakeUp{Thing: Thing{Kind: Gap, Queue: queue}, Due: due})
}

// Consumer notes when something of a consumer is due.
func (t *Timer) Consumer(queue, consumer string, due time.Time) {
	t.note(WakeUp{Thing: Thing{Kind: Consumer, Queue: queue, Consumer: consumer}, Due: due})
}

// Circuit notes when a consumer's circuit is to be looked at.
func (t *Timer) Circuit(consumer string, due time.Time) {
	t.note(WakeUp{Thing: Thing{Kind: Circuit, Consumer: consumer}, Due: due})
}

// Chain notes when a chain is late.
func (t *Timer) Chain(tag string, due time.Time) {
	t.note(WakeUp{Thing: Thing{Kind: Chain, Tag: tag}, Due: due})
}

// Settle notes when the messages of a keyed queue up to a sort key are due.
func (t *Timer) Settle(queue, upTo string, due time.Time) {
	t.note(WakeUp{Thing: Thing{Kind: Settle, Queue: queue}, UpTo: upTo, Due: due})
}

// Again notes that a wake-up came out before its thing is due. One that was sent again too often is
// left to the sweep.
func (t *Timer) Again(w WakeUp, due time.Time) {
	if w.Again < maxAgain {
		t.note(WakeUp{Thing: w.Thing, UpTo: w.UpTo, Due: due, Again: w.Again + 1})
	}
}

// note notes a wake-up. What is noted later of a thing replaces it. In a settle window, the first
// that is due of a bound counts: the settler then notes the next.
func (t *Timer) note(w WakeUp) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	of := note{Thing: w.Thing}
	if w.Kind == Settle {
		of.upTo = w.UpTo
	}
	last, known := t.noted[of]
	if known && w.Kind == Settle && last.Due.Before(w.Due) {
		w = last
	}
	if known || len(t.noted) < maxNoted {
		t.noted[of] = w
	}
}

// Flush sends what was noted, and returns how many wake-ups were sent, and how many could not be.
// Call it once an invocation, after all of its writes: it takes half a second at most, also where
// ctx has ended. Nothing fails by it.
func (t *Timer) Flush(ctx context.Context) (taken, failed int) {
	if t == nil {
		return 0, 0
	}
	due := t.take()
	if len(due) == 0 {
		return 0, 0
	}
	if ctx.Err() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	var all atomic.Int64
	fanout.SideBySide((len(due)+batch-1)/batch, func(i int) {
		part := due[i*batch : min((i+1)*batch, len(due))]
		all.Add(int64(t.send(ctx, part)))
	})
	return int(all.Load()), len(due) - int(all.Load())
}

// take is what was noted and has to be sent: not where a wake-up of the thing is on its way that
// does for it.
func (t *Timer) take() []WakeUp {
	t.mu.Lock()
	defer t.mu.Unlock()
	var due []WakeUp
	now := t.now()
	for _, w := range t.noted {
		if on, found := t.sent[w.Thing]; found && on.at.After(now) && w.isFor(on) {
			continue
		}
		due = append(due, w)
	}
	clear(t.noted)
	return due
}

// batch is the most messages of a request.
const batch = 10

// send sends up to ten wake-ups, and returns how many were taken.
//
// Lost response: they are there twice. We die before: the sweep finds what is due.
func (t *Timer) send(ctx context.Context, due []WakeUp) int {
	now := t.now()
	entries := make([]awscall.Entry, len(due))
	for i, w := range due {
		entries[i] = awscall.Entry{ID: strconv.Itoa(i), Body: w.String(), DelaySeconds: w.delay(now)}
	}
	said, err := t.client.SendBatch(ctx, t.queue, entries)
	if err != nil || len(said.Successful) < len(due) {
		slog.WarnContext(ctx, "wake-ups could not be sent; the sweep makes up for them", "of", len(due),
			"taken", len(said.Successful), "error", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := 0
	for _, one := range said.Successful {
		if i, err := strconv.Atoi(one.ID); err == nil && i >= 0 && i < len(due) {
			taken++
			t.isSent(due[i], now)
		}
	}
	return taken
}

// isSent keeps that a wake-up is on its way. Where that are too many, those are forgotten that have
// come out, and all where none has: they are sent twice then. (A cache by last use is a library
// away, and its 20 KB are too much for every function.)
func (t *Timer) isSent(w WakeUp, now time.Time) {
	if len(t.sent) >= maxSent {
		maps.DeleteFunc(t.sent, func(_ Thing, on sent) bool { return !on.at.After(now) })
	}
	if len(t.sent) >= maxSent {
		clear(t.sent)
	}
	t.sent[w.Thing] = sent{w.comesOut(now), w.UpTo, w.Again}
}

// Flushing is a handler behind which what was noted is sent.
func Flushing[E, A any](t *Timer, handle func(context.Context, E) (A, error)) func(context.Context,
	E) (A, error) {
	return func(ctx context.Context, event E) (A, error) {
		defer t.Flush(ctx)
		return handle(ctx, event)
	}
}
