package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
)

func TestBatchesHaveABoundInBytes(t *testing.T) {
	k := newDesk(t)
	for seq, size := range []int{4, 4, 4, 20, 10} {
		k.must(k.sorter.Put(t.Context(),
			cursor.Message{Queue: "q", Seq: int64(seq) + 1, Body: make([]byte, size)})[0].Err)
	}
	r := k.reader()
	r.MaxMessages, r.MaxBytes = 100, 10
	k.to(r, "q", "")
	// One message may be larger than a batch.
	k.gets("q 1,2 #1", "q 3 #1", "q 4 #1", "q 5 #1")
}

// TestAProcessThatDiedIsNotABadMessage: its batch comes again as it was, and only where a second
// one dies of it in parts. What is blocked in the end stood alone.
func TestAProcessThatDiedIsNotABadMessage(t *testing.T) {
	k := newDesk(t, upTo(1, 100)...)
	check.Get(k.d.Create(t.Context(), "q", "c", delivery.First))
	r := k.reader()
	r.MaxMessages, r.MaxAttempts = 100, 5
	var widths []int64
	// die has a process claim what it would, and die.
	die := func() {
		k.pass(time.Minute)
		doomed := r
		doomed.Handle = func(_ context.Context, b delivery.Batch) error {
			widths = append(widths, b.To-b.From)
			runtime.Goexit()
			return nil
		}
		var died sync.WaitGroup
		died.Go(func() { k.d.Deliver(t.Context(), "q", doomed, -1) })
		died.Wait()
		k.pass(2 * time.Minute)
	}
	die()
	k.to(r, "q", "")
	if c := k.at("q", 100, delivery.Idle); c.Token.N != 2 || widths[0] != 100 {
		t.Errorf("one death made %d claims of %d", c.Token.N, widths)
	}
	k.put("q", upTo(101, 200)...)
	widths = nil
	for range 9 {
		die()
	}
	want := []int64{100, 100, 50, 25, 1, 1, 1, 1, 1}
	check.That(t, slices.Equal(widths, want), "claims of %d messages, want %d", widths, want)
	k.to(r, "q", endedBlocked)
	k.at("q", 100, delivery.Blocked)
}

func TestAPermanentFailureBlocksAtOnce(t *testing.T) {
	k := newDesk(t, 1, 2, 3)
	k.poison(2, delivery.Permanent(errors.New("too large")))
	done := k.ends("q", endedBlocked)
	k.gets("q 1,2,3 #1", "q 1 #2", "q 2 #2")
	k.at("q", 1, delivery.Blocked)
	check.That(t, done.Cause != nil && done.Batches == 1, "%+v; want why, and one batch", done)
	check.That(t, delivery.Permanent(nil) == nil, "no error became one")
}

// TestAPanicIsAFailure, and why it failed is kept short. A log says where.
func TestAPanicIsAFailure(t *testing.T) {
	var log strings.Builder
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	k := newDesk(t, 1)
	k.fails = func(delivery.Batch) error { panic("\xffx" + strings.Repeat("é", 1000)) }
	k.ends("q", endedFailed)
	check.Is(t, k.standing("q").Error, "panic: ?x"+strings.Repeat("é", 145))
	check.Has(t, log.String(), "deliver_test.go")
}

// TestDeliverEndsWhereTheStoreFails: what the store could not do is an error, and the next call
// goes on.
func TestDeliverEndsWhereTheStoreFails(t *testing.T) {
	for request, known := range map[string]int64{"cursor": -1, "messages": 2} {
		k := newDesk(t, 1)
		k.ends("q", endedCaughtUp)
		k.put("q", 2)
		k.away(request, "")
		done := k.d.Deliver(t.Context(), "q", k.reader(), known)
		check.That(t, errors.Is(done.Err, errFlaky),
			"%s fails: error %v, ended %q", request, done.Err, ending(done))
		k.queues.fail = nil
		k.ends("q", endedCaughtUp)
		k.at("q", 2, delivery.Idle)
	}
}

// TestWhyItFailedIsToldThoughItCannotBeNoted: that there were two failures is no reason to be
// silent about the first.
func TestWhyItFailedIsToldThoughItCannotBeNoted(t *testing.T) {
	k := newDesk(t, 1)
	k.see = func(r ddb.Request) error { return map[string]error{"fail": errFlaky}[r.Name()] }
	k.poison(1, errNo)
	done := k.d.Deliver(t.Context(), "q", k.reader(), -1)
	check.That(t, errors.Is(done.Err, errFlaky) && errors.Is(done.Cause, errNo),
		"%+v; want both", done)
}

// TestMissing: what is not there any more is not stepped over; what is before it is delivered. It
// is listed until an operator goes elsewhere.
func TestMissing(t *testing.T) {
	k := newDesk(t, upTo(1, 5)...)
	check.Get(k.d.Create(t.Context(), "q", "c", delivery.First))
	k.queues.lose("q", 2)
	for range 2 {
		done := k.ends("q", endedMissing)
		var missing *cursor.MissingError
		check.That(t, errors.As(done.Cause, &missing) && missing.Seq == 2, "cause %v", done.Cause)
		k.at("q", 1, delivery.Idle)
		k.pass(time.Minute)
	}
	k.gets("q 1 #1")
	k.sweep(delivery.SweepOptions{})
	k.troubled("missing", "missing q|c 2m0s")
	k.operates(rewinds(orderOf("q"), delivery.At(3)))
	k.troubled("rewound", "")
	k.ends("q", endedCaughtUp)
	k.gets("q 3,4,5 #1")
}

// TestWhatArrivesMeanwhileIsHandedOn: the record of a message that comes while a claim is in flight
// may be dropped, and one whose range the claim has, or that somebody noted, writes nothing.
func TestWhatArrivesMeanwhileIsHandedOn(t *testing.T) {
	k := newDesk(t, 1, 2)
	next := int64(3)
	k.fails = func(b delivery.Batch) error {
		if next < 6 {
			k.put("q", next)
			next++
		}
		for _, asked := range []struct{ known, noted int64 }{{b.To, 0}, {-1, next - 1},
			{next - 1, next - 1}, {next - 2, next - 1}} {
			before := k.standing("q").Asked
			done := k.d.Deliver(t.Context(), "q", k.reader(), asked.known)
			check.Is(t, ending(done), endedBusy, asked.known, b.To, done.Err)
			check.Is(t, k.standing("q").Asked, max(asked.noted, before), asked.known, b.To, asked.noted)
		}
		return nil
	}
	k.ends("q", endedCaughtUp)
	k.gets("q 1,2 #1", "q 3 #1", "q 4 #1", "q 5 #1")
}

// TestStopsBeforeTheDeadline: what is done by then is committed, and nothing is begun that would
// not end in time.
func TestStopsBeforeTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sorter := check.Get(cursor.New(cursor.NewMemory(), nil))
		store := delivery.NewMemory()
		d := check.Get(delivery.New(store, sorter,
			&delivery.Options{Margin: time.Second, Grace: 5 * time.Second}))
		for seq := range int64(10) {
			check.OK(t, sorter.Put(t.Context(), cursor.Message{Queue: "q", Seq: seq + 1})[0].Err)
		}
		began := time.Now()
		ctx, cancel := context.WithDeadline(t.Context(), began.Add(40*time.Second))
		defer cancel()
		r := delivery.Reader{Name: "c", MaxMessages: 1,
			Handle: func(ctx context.Context, b delivery.Batch) error {
				if deadline, ok := ctx.Deadline(); !ok || !deadline.Equal(began.Add(39*time.Second)) {
					t.Errorf("the handler's time ends %s after the start, want 39s", deadline.Sub(began))
				}
				c, err := store.Requests(request.Inside{}).Consumer(ctx, "q", "c")
				// 30 seconds at least, else the deadline and a grace.
				want := max(45*time.Second, time.Since(began)+30*time.Second)
				check.That(t, err == nil && c.LeaseUntil.Equal(began.Add(want)),
					"the claim is good until %s after the start (%v), want %s", c.LeaseUntil.Sub(began), err, want)
				bubble.Sleep(11 * time.Second)
				return nil
			}}
		done := d.Deliver(ctx, "q", r, -1)
		check.That(t, done.Err == nil && ending(done) == endedOutOfTime && done.Batches == 3 &&
			time.Since(began) == 33*time.Second,
			"%s after %d batches and %s (%v); want out-of-time after 3, and 33s", ending(done), done.Batches,
			time.Since(began), done.Err)
		c := check.Get(store.Requests(request.Inside{}).Consumer(t.Context(), "q", "c"))
		check.That(t, c.Delivered == 3 && c.State == delivery.Idle, "%+v", c)
		// A handler that sleeps on is notified, and its batch comes again.
		r.Handle = func(ctx context.Context, _ delivery.Batch) error { <-ctx.Done(); return ctx.Err() }
		ctx, cancel = context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if done := d.Deliver(ctx, "q", r, -1); ending(done) != endedFailed || ctx.Err() != nil {
			t.Errorf("%s (%v), the context's error %v; want a failure before the deadline", ending(done),
				done.Err, ctx.Err())
		}
	})
}

func TestWhatIsOutOfBounds(t *testing.T) {
	k := newDesk(t, 1)
	long := strings.Repeat("x", 129)
	second := []time.Duration{time.Second}
	for _, c := range []struct {
		field  string
		change func(r *delivery.Reader)
	}{
		{"consumer", func(r *delivery.Reader) { r.Name = long }},
		{"maxMessages", func(r *delivery.Reader) { r.MaxMessages = 1001 }},
		{"maxBytes", func(r *delivery.Reader) { r.MaxBytes = 16<<20 + 1 }},
		{"maxAttempts", func(r *delivery.Reader) { r.MaxAttempts = 1 }},
		{"start", func(r *delivery.Reader) { r.Start = delivery.At(3) }},
		{"retries[0]", func(r *delivery.Reader) { r.Retries = []time.Duration{time.Millisecond} }},
		{"retries[1]", func(r *delivery.Reader) { r.Retries = append(second, 61*time.Minute) }},
		{"retries", func(r *delivery.Reader) { r.Retries = slices.Repeat(second, 11) }},
		{"blockAfter", func(r *delivery.Reader) { r.BlockAfter = time.Millisecond }},
		{"blockAfter", func(r *delivery.Reader) { r.BlockAfter = 31 * 24 * time.Hour }},
		{"circuit.queues", func(r *delivery.Reader) { r.Circuit.Queues = 1 }},
		{"circuit.wakeRate", func(r *delivery.Reader) { r.Circuit.WakeRate = 1001 }},
		{"circuit.probes[1]", func(r *delivery.Reader) { r.Circuit.Probes = append(second, time.Millisecond) }},
		{"circuit.probes", func(r *delivery.Reader) { r.Circuit.Probes = slices.Repeat(second, 11) }},
		{"track", func(r *delivery.Reader) { r.Apart, r.Track = true, time.Minute }},
		{"inline", func(r *delivery.Reader) { r.Inline = time.Millisecond }},
	} {
		r := k.reader()
		c.change(&r)
		invalid(t, k.d.Deliver(t.Context(), "q", r, -1).Err, c.field)
	}
	for _, c := range []delivery.Circuit{{}, {Queues: 2, WakeRate: 1},
		{Queues: 10, WakeRate: 1000, Probes: []time.Duration{time.Hour}}} {
		check.OK(t, (delivery.Reader{Name: "c", Retries: slices.Repeat(second, 10), Circuit: c}).
			Validate())
	}
	for _, name := range []string{"", "a b", "ä", "a/b", long} {
		invalid(t, delivery.ValidateConsumer(name), "consumer")
		invalid(t, check.Err(k.d.Create(t.Context(), "q", name, delivery.First)), "consumer")
	}
	for _, queue := range []string{"", strings.Repeat("q", 1025), "\xff"} {
		invalid(t, k.d.Deliver(t.Context(), queue, k.reader(), -1).Err, "queue")
		invalid(t, check.Err(k.d.Status(t.Context(), queue)), "queue")
	}
	k.gets()
	for field, options := range map[string]delivery.Options{
		"lease":  {Lease: 30*time.Second - 1},
		"grace":  {Grace: time.Hour + 1},
		"margin": {Margin: time.Millisecond},
	} {
		invalid(t, check.Err(delivery.New(k.store, k.sorter, &options)), field)
	}
}

func TestObserve(t *testing.T) {
	k := newDesk(t, 1)
	var seen []delivery.Delivery
	d := k.deliverer(delivery.Options{Observe: func(done delivery.Delivery) {
		seen = append(seen, done)
	}})
	d.Deliver(t.Context(), "q", k.reader(), 1)
	d.Deliver(t.Context(), "", k.reader(), 1)
	check.That(t, len(seen) == 2 && seen[0].Messages == 1 && ending(seen[0]) == endedCaughtUp &&
		seen[1].Err != nil,
		"it was notified %+v", seen)
}

// TestHanded: a reader is notified of each batch, in which order things were, and of which it is
// known that it was committed.
func TestHanded(t *testing.T) {
	k := newDesk(t, 1, 2, 3, 4, 5)
	var got []string
	r := k.reader()
	k.poison(4, errors.New("bad"))
	r.Handed = func(h delivery.Handed) {
		check.That(t, !h.Claimed.IsZero() && !h.Returned.Before(h.Claimed) &&
			(h.Committed.IsZero() || !h.Committed.Before(h.Returned)),
			"%+v", h)
		got = append(got, fmt.Sprintf("%d-%d %v %v", h.Batch.From+1, h.Batch.To,
			!h.Committed.IsZero(), h.Err))
	}
	k.to(r, "q", endedFailed)
	check.Is(t, strings.Join(got, ", "), "1-3 true <nil>, 4-5 false bad")

	// Another took its claim over meanwhile: it is not known to be committed.
	k.put("other", 1)
	got = nil
	r.Handle = func(context.Context, delivery.Batch) error {
		k.pass(time.Hour)
		k.d.Deliver(t.Context(), "other", k.reader(), -1)
		return nil
	}
	k.to(r, "other", endedLost)
	check.Is(t, strings.Join(got, ", "), "1-1 false <nil>")
}

// A caller that says nothing of it has the queues of a batch of records delivered side by side.
func TestQueuesAreDeliveredSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sorter := check.Get(cursor.New(cursor.NewMemory(), nil))
		d := check.Get(delivery.New(delivery.NewMemory(), sorter, nil))
		var all sync.WaitGroup
		handle := check.Get(delivery.OnStream(d, cursor.Names{},
			delivery.Reader{Name: "books", Handle: func(context.Context, delivery.Batch) error {
				all.Done()
				all.Wait()
				return nil
			}}))
		event := table.StreamEvent{}
		for i := range 3 {
			queue := fmt.Sprint("q", i)
			check.OK(t, sorter.Put(t.Context(), cursor.Message{Queue: queue, Seq: 1})[0].Err)
			event.Records = append(event.Records, moved(i+1, queue, 0, 1))
		}
		all.Add(3)
		check.Is(t, len(check.Get(handle(t.Context(), event)).BatchItemFailures), 0)
	})
}

// TestAConsumerThatCannotBeReadStopsNoOther: the sweep handles the others of its queue, and says
// that it failed. Nothing is deleted, and all is kept: it may need everything.
func TestAConsumerThatCannotBeReadStopsNoOther(t *testing.T) {
	k := newDesk(t, 1, 2)
	k.ends("q", endedCaughtUp)
	for _, name := range []string{"a", "dead"} {
		check.Get(k.d.Create(t.Context(), "q", name, delivery.First))
	}
	dead := check.Get(k.store.Requests(request.Inside{}).Consumer(t.Context(), "q", "dead"))
	claim := request.Claim{Req: "dead", To: 2, Now: k.now, LeaseUntil: k.now.Add(time.Minute)}
	check.Get2(k.store.Requests(request.Inside{}).Claim(t.Context(), dead, claim))
	check.Get(k.consumers.Do(t.Context(), ddb.Update{
		Op:  ddb.Op{Op: "newer layout", Table: &delivery.Names{}.Tables()[0]},
		Key: ddb.Fields{"queue": ddb.Text("q"), "consumer": ddb.Text("a")}.Item(),
		Do:  []ddb.Action{ddb.Path("v").Set(ddb.Int(99))},
	}))
	k.pass(time.Hour)
	report, err := k.d.Sweep(t.Context(), delivery.SweepOptions{Delete: true})
	check.That(t, errors.Is(err, table.ErrNewerLayout) && report.Failed == 1 &&
		report.Cancelled == 1 && report.Notified == 1 && report.Deleted == 0,
		"%+v, %v; want the dead claim cancelled, and the other consumer named", report, err)
	cur := check.Get(k.sorter.Status(t.Context(), "q"))
	check.Is(t, cur.Floor, cur.Settings.First-1)
	seq, found, err := k.d.Inside(request.Inside{}).Delivered(t.Context(), "q")
	check.That(t, seq < 0 && found && err == nil, "delivered %d, %v, %v", seq, found, err)
	check.Fails(t, check.Err(k.d.Status(t.Context(), "q")), table.ErrNewerLayout)
}

// TestAnOperatorSeesWhatWasJustDone: in the audit log, and in the consumers' states.
func TestAnOperatorSeesWhatWasJustDone(t *testing.T) {
	k := newDesk(t, 1, 2, 3)
	k.block("q", 2)
	k.pass(time.Second)
	k.store = k.storeOn(ddbtest.NewStale(k.consumers, nil).Do)
	k.restarted()
	k.operates(skips(order("op"), 2))
	k.operations("skip 2 done=true ")
	list := check.Get(k.d.Status(t.Context(), "q"))
	check.That(t, len(list) == 1 && list[0].Delivered == 2 && list[0].State == delivery.Idle,
		"%+v, want the consumer at 2", list)
}

// putKeyed puts messages of a queue of numbers, each with its key for its id and its body.
func (k *desk) putKeyed(queue string, keys ...int) {
	k.t.Helper()
	for _, key := range keys {
		k.must(k.sorter.Put(k.t.Context(), cursor.Message{
			KeyParts: []any{key}, KeyType: "number", Queue: queue, ID: fmt.Sprint(key),
			Body: fmt.Append(nil, key),
		})[0].Err)
	}
}

// settles lets the settle window pass, and settles the queue.
func (k *desk) settles(queue string) {
	k.t.Helper()
	k.pass(5 * time.Second)
	check.Get(k.sorter.Settle(k.t.Context(), queue, sortkey.EverySortKey))
}

// sorted tells the messages of a batch with their keys, such as "2:20 late".
func sorted(b delivery.Batch) string {
	var all []string
	for _, m := range b.Messages {
		text := fmt.Sprintf("%d:%s", m.Seq, m.Key.JSON())
		if m.Late {
			text += " late"
		}
		all = append(all, text)
	}
	for _, seq := range b.Skipped {
		all = append(all, fmt.Sprintf("no %d", seq))
	}
	return fmt.Sprintf("%s #%d", strings.Join(all, ", "), b.Attempt)
}

// TestKeyedQueuesAreDelivered in the order of their keys, late ones behind and marked; a batch that
// failed comes again as it was.
func TestKeyedQueuesAreDelivered(t *testing.T) {
	for policy, want := range map[cursor.LatePolicy][]string{
		cursor.LateDeliver: {`1:10, 2:20 #1`, `3:5 late, 4:15 late, 5:30 #1`, `3:5 late, 4:15 late, 5:30 #2`, `6:25 late #1`},
		cursor.LateDrop:    {`1:10, 2:20 #1`, `5:30, no 3, no 4 #1`, `5:30, no 3, no 4 #2`, `no 6 #1`},
	} {
		t.Run(string(policy), func(t *testing.T) {
			k := newDesk(t)
			kind, keys := cursor.KindKeyed, sortkey.KeyType("number")
			check.Get(k.sorter.Configure(t.Context(), "q",
				cursor.Change{Kind: &kind, KeyType: &keys, Late: &policy}))
			check.Get(k.createOf(cursor.KindKeyed, delivery.Who{}, "q", "c", delivery.First))
			fails := 0
			r := k.reader()
			r.Handle = func(_ context.Context, b delivery.Batch) error {
				k.got = append(k.got, sorted(b))
				if fails--; fails == 0 {
					return errNo
				}
				return nil
			}
			deliver := func(want string) { t.Helper(); k.to(r, "q", want) }
			k.putKeyed("q", 20, 10)
			deliver(endedCaughtUp) // they wait
			k.settles("q")
			deliver(endedCaughtUp)
			k.putKeyed("q", 30, 5, 15)
			k.settles("q")
			fails = 1
			deliver(endedFailed)
			k.pass(time.Hour)
			deliver(endedCaughtUp)
			k.putKeyed("q", 25)
			deliver(endedCaughtUp)
			k.gets(want...)
			k.at("q", 6, delivery.Idle)
		})
	}
}
