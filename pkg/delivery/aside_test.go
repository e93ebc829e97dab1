package delivery_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
)

// besideDesk is a desk whose clock goes by itself, with calls of their own for what would hold up
// others.
type besideDesk struct {
	*desk
	// asides are the calls that were asked for, refuse says why none can be.
	asides []string
	refuse error
	// wakeUps are those that were notified of last, by queue.
	wakeUps map[string]time.Time
	// slow is how long the sink takes for a queue.
	slow map[string]time.Duration
}

func newBesideDesk(t *testing.T) *besideDesk {
	b := &besideDesk{desk: newDesk(t), slow: map[string]time.Duration{},
		wakeUps: map[string]time.Time{}}
	b.sorter = check.Get(cursor.New(b.queues.on(b.queues), &cursor.Options{ForEach: fanout.OneByOne}))
	b.d = check.Get(delivery.New(b.store, b.sorter, &delivery.Options{
		ForEach: fanout.OneByOne,
		Aside: func(_ context.Context, queue, consumer string) error {
			b.asides = append(b.asides, queue+" "+consumer)
			return b.refuse
		},
		WakeUp: func(queue, consumer string, due time.Time) { b.wakeUps[queue] = due },
	}))
	return b
}

// wakesIn waits for the wake-up of a queue, which must come in this time and wake up who delivers.
func (b *besideDesk) wakesIn(queue string, want time.Duration) {
	b.t.Helper()
	due, notified := b.wakeUps[queue]
	delete(b.wakeUps, queue)
	got := time.Until(due)
	check.Need(b.t, notified && got == want, "%s is woken up in %s (%v)", queue, got, notified)
	bubble.Sleep(want)
	report, next := check.Get2(b.d.Wake(b.t.Context(), queue, "c", delivery.SweepOptions{}))
	check.That(b.t, report.Notified == 1, "%s was not woken up: %+v, again at %s", queue, report, next)
}

func (b *besideDesk) reader() delivery.Reader {
	r := b.desk.reader()
	r.Apart, r.Inline, r.MaxMessages = true, time.Second, 1
	r.Handle = func(ctx context.Context, batch delivery.Batch) error {
		if err := b.take(ctx, batch); err != nil {
			return err
		}
		select {
		case <-time.After(b.slow[batch.Queue]):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return r
}

// records are delivered, which must have no record repeated, and take no longer than this.
func (b *besideDesk) records(most time.Duration, queues ...string) {
	b.t.Helper()
	handle := check.Get(delivery.OnStream(b.d, cursor.Names{}, b.reader()))
	var event table.StreamEvent
	for i, queue := range queues {
		it := check.Get(b.sorter.Status(b.t.Context(), queue))
		event.Records = append(event.Records, moved(i+1, queue, 0, it.Position))
	}
	began := time.Now()
	answer := check.Get(handle(b.t.Context(), event))
	took := time.Since(began)
	check.That(b.t, took <= most && len(answer.BatchItemFailures) == 0, "%v took %s", queues, took)
}

func (b *besideDesk) aside(want ...string) {
	b.t.Helper()
	check.Is(b.t, strings.Join(b.asides, ", "), strings.Join(want, ", "), want)
	b.asides = nil
}

func (b *besideDesk) own(queue, want string) { b.to(b.reader(), queue, want) }

// TestASlowQueueHoldsUpNoOther: it keeps others waiting for a second, once; then it is delivered by
// calls of its own until it was not slow for a while.
func TestASlowQueueHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBesideDesk(t)
		b.put("slow", 1, 2)
		b.put("good", 1)
		b.slow["slow"] = 3 * time.Second
		b.records(time.Second, "slow", "good")
		b.gets("slow 1 #1", "good 1 #1")
		b.aside("slow c")
		c := b.standing("slow")
		check.That(t, c.State == delivery.Idle && c.Attempts == 0 && c.Error == "" && !c.Retries() &&
			c.Last[0].N <= 0, "%+v; want that the try counts for nothing", c)
		b.own("slow", endedCaughtUp)
		b.gets("slow 1 #1", "slow 2 #1")

		b.put("slow", 3)
		b.put("good", 2)
		b.records(0, "slow", "good")
		b.gets("good 2 #1")
		b.aside("slow c")
		b.own("slow", endedCaughtUp)
		b.gets("slow 3 #1")

		bubble.Sleep(10 * time.Minute)
		b.slow["slow"] = 0
		b.put("slow", 4)
		b.records(0, "slow")
		b.gets("slow 4 #1")
		b.aside()
	})
}

// TestManyBatchesHoldUpNoOther: neither does one that is fast, and has much to deliver.
func TestManyBatchesHoldUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBesideDesk(t)
		b.put("long", upTo(1, 10)...)
		b.slow["long"] = 400 * time.Millisecond
		b.records(1200*time.Millisecond, "long")
		b.gets("long 1 #1", "long 2 #1", "long 3 #1")
		b.aside("long c")
		b.own("long", endedCaughtUp)
		check.Is(t, b.standing("long").Delivered, 10)
		b.aside()

		// Where a call of its own has no time for all either, the queue is woken up.
		b.put("long", upTo(11, 20)...)
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		done := b.d.Deliver(ctx, "long", b.reader(), -1)
		check.That(t, done.Err == nil && ending(done) == endedOutOfTime, "%s, %v", ending(done), done.Err)
		b.aside()
		it := check.Get(b.sorter.Status(t.Context(), "long"))
		check.That(t, !it.Notified.IsZero(), "%+v", it)
	})
}

// TestAFailingQueueHoldsUpNoOther: no record comes again for it; nobody waits for a try, which a
// wake-up brings to a call of its own.
func TestAFailingQueueHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBesideDesk(t)
		b.put("bad", 1)
		b.put("good", 1)
		b.fails = func(batch delivery.Batch) error {
			if batch.Queue == "bad" {
				return delivery.SinkAway(errNo)
			}
			return nil
		}
		b.records(0, "bad", "good")
		b.gets("bad 1 #1", "good 1 #1")
		b.aside()
		b.records(0, "bad") // it waits
		b.own("bad", endedWait)
		b.gets()
		b.aside()
		b.wakesIn("bad", time.Second)
		b.records(0, "bad", "good")
		b.aside("bad c")
		began := time.Now()
		b.own("bad", endedFailed)
		check.Is(t, time.Since(began), 0)
		b.gets("bad 1 #1")
		b.aside()
		b.wakesIn("bad", 10*time.Second)
		b.fails = nil
		b.records(0, "bad", "good")
		b.gets()
		b.aside("bad c")
		b.own("bad", endedCaughtUp)
		b.gets("bad 1 #1")
		b.put("bad", 2)
		b.records(0, "bad")
		b.gets("bad 2 #1")
		b.aside()
	})
}

// TestACallThatCannotBeAskedFor: the queue is woken up seconds later, again and again, whether its
// batch was cut off, it is known to be slow, or it has too much; no record comes again.
func TestACallThatCannotBeAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBesideDesk(t)
		b.put("slow", 1)
		b.slow["slow"], b.refuse = 2*time.Second, errors.New("throttled")
		b.records(time.Second, "slow")
		b.aside("slow c")
		for range 2 {
			b.wakesIn("slow", 5*time.Second)
			b.records(0, "slow")
			b.aside("slow c")
		}
		b.own("slow", endedCaughtUp)
		b.put("slow", 2)
		b.records(0, "slow") // nothing of it has failed
		b.aside("slow c")
		b.wakesIn("slow", 5*time.Second)
		b.own("slow", endedCaughtUp)

		b.put("long", upTo(1, 10)...)
		b.slow["long"] = 400 * time.Millisecond
		b.records(1200*time.Millisecond, "long")
		b.aside("long c")
		b.wakesIn("long", 5*time.Second)
		b.records(1200*time.Millisecond, "long")
		b.aside("long c")
	})
}

// TestApart: where each queue has a sink of its own, nothing is asked or kept of what others
// learnt; no number of queues that fail keeps another from being tried, and a message that fails
// blocks when its time is over, though others fail too.
func TestApart(t *testing.T) {
	k := newDesk(t)
	var asked []string
	k.see = func(r ddb.Request) error {
		if name := r.Name(); name == "health" || name == "learn" {
			asked = append(asked, name)
		}
		return nil
	}
	r := k.reader()
	r.Apart, r.BlockAfter = true, time.Hour
	queues := []string{"a", "b", "c", "d", "e"}
	for _, queue := range queues {
		k.put(queue, 1)
	}
	k.refuses(queues[:4]...)
	for range 6 {
		for _, queue := range queues[:4] {
			k.to(r, queue, endedFailed)
		}
		k.to(r, "e", endedCaughtUp)
		k.pass(10 * time.Minute)
	}
	for _, queue := range queues[:4] {
		k.to(r, queue, endedBlocked)
	}
	k.at("e", 1, delivery.Idle)
	check.That(t, len(asked) == 0, "of others was asked: %v", asked)
}

// TestASinkThatIsChanged: what failed before waits for no retry, and what failed after does,
// whichever process wakes it up.
func TestASinkThatIsChanged(t *testing.T) {
	k := newDesk(t)
	r := k.reader()
	var changed time.Time
	r.Apart, r.Changed = true, func(_ context.Context, queue string, failed time.Time) bool {
		check.That(t, queue == "q", "asked of %s", queue)
		return changed.After(failed)
	}
	k.put("q", 1)
	k.fails = func(delivery.Batch) error {
		return delivery.NotBefore(delivery.SinkAway(errNo), k.now.Add(48*time.Hour))
	}
	ends := func(want string) {
		t.Helper()
		k.to(r, "q", want)
		k.pass(time.Minute)
	}
	ends(endedFailed)
	ends(endedWait)
	changed = k.now
	ends(endedFailed)
	ends(endedWait)
	changed, k.fails = k.now, nil
	ends(endedCaughtUp)
	k.gets("q 1 #1", "q 1 #1", "q 1 #1")
}

// TestAnswer: what the sink answered is kept by the commit's own write, and the last one stays
// where it says nothing. One that took longer than it may is delivered by calls of its own,
// whichever process comes next.
func TestAnswer(t *testing.T) {
	k := newDesk(t, upTo(1, 5)...)
	writes := 0
	k.see = func(r ddb.Request) error {
		if ddb.Writes(r) {
			writes++
		}
		return nil
	}
	aside := delivery.Options{Aside: func(context.Context, string, string) error { return nil }}
	said := map[int64]delivery.Response{
		1: {Status: 200, Took: 20 * time.Millisecond, Text: "first"},
		3: {Status: 202, Took: 2 * time.Second, Text: strings.Repeat("é", 500)},
	}
	r := k.reader()
	r.MaxMessages, r.Inline = 1, time.Second
	r.Handle = func(_ context.Context, b delivery.Batch) error {
		a := k.standing("q").Answer
		check.That(t, b.To != 2 || a.Status == 200, "behind the first batch the answer is %+v", a)
		if a, says := said[b.To]; says {
			a.At = k.now
			b.Answered(a)
		}
		return nil
	}
	silent := r
	silent.Name, silent.Handle = "silent", func(context.Context, delivery.Batch) error { return nil }
	counted := map[string]int{}
	for _, reader := range []delivery.Reader{silent, r} {
		writes = 0
		k.must(k.deliverer(aside).Deliver(t.Context(), "q", reader, 3).Err)
		counted[reader.Name] = writes
	}
	check.That(t, counted["c"] == counted["silent"], "writes %v: an answer costs one", counted)
	c := k.standing("q")
	if a := c.Answer; a.Status != 202 || a.Took != 2*time.Second || !a.At.Equal(k.now) ||
		len(a.Text) > 210 || !strings.HasPrefix(a.Text, "éé") {
		t.Errorf("%+v", a)
	}
	k.d = k.deliverer(aside)
	for range 2 {
		k.streamTo(r, allWell, moved(1, "q", 3, 5))
		k.at("q", 3, delivery.Idle)
	}
	k.pass(10 * time.Minute)
	k.streamTo(r, allWell, moved(1, "q", 3, 5))
	k.at("q", 5, delivery.Idle)
	check.Is(t, k.standing("q").Answer.Status, 202)
}

// sharing is a desk whose process has consumers that change what they get.
type sharing struct {
	*desk
	meter *ddbtest.Meter
	seq   int64
	mu    sync.Mutex
	// bodies are what each consumer got.
	bodies map[string]string
}

func newSharing(t *testing.T) *sharing {
	s := &sharing{desk: newDesk(t), bodies: map[string]string{}}
	s.meter = ddbtest.NewMeter(s.queues)
	s.sorter = check.Get(cursor.New(s.queues.on(s.meter), &cursor.Options{ForEach: fanout.OneByOne}))
	s.d = check.Get(delivery.New(s.store, s.sorter, nil)) // side by side
	return s
}

func (s *sharing) reader(name string, most int) delivery.Reader {
	return delivery.Reader{Name: name, MaxMessages: most,
		Handle: func(_ context.Context, b delivery.Batch) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			check.That(s.t, len(b.Messages) <= most,
				"%s gets %d at once, and takes %d", name, len(b.Messages), most)
			for _, m := range b.Messages {
				s.bodies[name] += string(m.Body) + m.Attributes["word"]
				m.Body[0], m.Attributes["word"] = 'X', "changed"
			}
			clear(b.Messages)
			return nil
		}}
}

// comes puts two messages, and has readers deliver them; it returns how many reads of the queue's
// tables that took.
func (s *sharing) comes(readers ...delivery.Reader) int {
	s.t.Helper()
	for range 2 {
		s.seq++
		s.must(s.sorter.Put(s.t.Context(), cursor.Message{Queue: "q", Seq: s.seq,
			Body: []byte{'0' + byte(s.seq)}, Attributes: map[string]string{"word": "x"}})[0].Err)
	}
	handle := check.Get(delivery.OnStream(s.d, cursor.Names{}, readers...))
	s.meter.Take()
	check.Get(handle(s.t.Context(),
		table.StreamEvent{Records: []json.RawMessage{moved(1, "q", s.seq-2, s.seq)}}))
	return s.meter.Take().Reads
}

// TestConsumersShareWhatIsRead: of one event, at the same place; and what one does to its messages
// no other sees.
func TestConsumersShareWhatIsRead(t *testing.T) {
	s := newSharing(t)
	a, b := s.reader("a", 10), s.reader("b", 10)
	s.comes(a, b) // makes them
	check.Is(t, s.comes(a, b), 1)
	check.Is(t, s.comes(a), 1)
	check.Is(t, s.comes(a, b), 2)
	check.That(t, s.bodies["a"] == "1x2x3x4x5x6x7x8x" && s.bodies["b"] == s.bodies["a"],
		"got %q", s.bodies)
}

// TestConsumersOfOtherBoundsReadForThemselves: their batches are others.
func TestConsumersOfOtherBoundsReadForThemselves(t *testing.T) {
	s := newSharing(t)
	s.d = check.Get(delivery.New(s.store, s.sorter, &delivery.Options{ForEach: fanout.OneByOne}))
	a, b := s.reader("a", 10), s.reader("b", 1)
	s.comes(a, b)
	check.Is(t, s.comes(a, b), 3)
	check.That(t, s.bodies["b"] == "1x2x3x4x" && s.bodies["a"] == s.bodies["b"], "got %q", s.bodies)
}

// TestAReadThatFailsIsNotShared: the other one reads for itself.
func TestAReadThatFailsIsNotShared(t *testing.T) {
	s := newSharing(t)
	a, b := s.reader("a", 10), s.reader("b", 10)
	s.comes(a, b)
	failed := false
	s.queues.fail = func(request, _ string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if request == "messages" && !failed {
			failed = true
			return errors.New("away")
		}
		return nil
	}
	s.comes(a, b)
	check.Is(t, len(s.bodies["a"]+s.bodies["b"]), len("1x2x")+len("1x2x3x4x"), s.bodies)
}
