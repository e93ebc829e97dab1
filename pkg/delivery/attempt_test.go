package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/delivery"
)

type called struct{ error }

func (called) Called() (by, id string) { return "arn:of:books", "r-1" }

// TestAttemptsAreKept: when, how long, by whom and what was answered, the last five, until the
// message is taken; a redrive keeps them.
func TestAttemptsAreKept(t *testing.T) {
	k := newDesk(t, 1, 2)
	n := 0
	k.fails = func(delivery.Batch) error {
		n++
		k.pass(time.Duration(n) * time.Second) // the handler takes so long
		return called{errors.New(strings.Repeat("é", 400) + fmt.Sprint(n))}
	}
	reader := k.reader()
	reader.MaxMessages, reader.MaxAttempts, reader.BlockAfter = 1, 7, time.Minute
	for k.standing("q").State != delivery.Blocked {
		k.to(reader, "q", "")
		k.pass(10 * time.Minute)
	}
	c := k.standing("q")
	for i, a := range c.Last {
		want := i + n - request.KeptAttempts + 1
		check.That(t, a.N == want && a.Took == time.Duration(want)*time.Second && a.From == 0 &&
			a.To == 1 && a.By == "arn:of:books" && a.CallID == "r-1" && !a.Died,
			"attempt %d is %+v", want, a)
		check.That(t, len(a.Answer) == request.MaxAnswer && strings.HasPrefix(a.Answer, "éé") &&
			a.Token != "" && !a.At.IsZero(),
			"attempt %d has %d bytes of an answer, token %q, at %s", want, len(a.Answer), a.Token, a.At)
	}
	size := 0
	for _, it := range k.consumers.Items("streamsort-consumers") {
		size = max(size, it.Size())
	}
	check.That(t, size <= 5<<10, "the item has %d bytes, want 5 KB at most", size)
	k.operates(redrives(order("o"), 1))
	check.Is(t, k.standing("q").Last, c.Last)
	k.fails = nil
	k.to(reader, "q", endedCaughtUp)
	check.Is(t, k.at("q", 2, delivery.Idle).Last, request.Attempts{})
}

// TestAWorkerThatDiesIsAnAttempt: nothing was answered until the lease was over, and the consumer
// is listed.
func TestAWorkerThatDiesIsAnAttempt(t *testing.T) {
	k := newDesk(t, 1)
	check.Get(k.d.Create(t.Context(), "q", "c", delivery.First))
	dead := k.claims("q", 1, time.Minute).Token
	k.pass(2 * time.Minute)
	k.sweep(delivery.SweepOptions{})
	c := k.standing("q")
	a := c.Last[0]
	check.That(t, a.Died && a.N == 1 && a.Token == dead.String() && a.At.Equal(c.LeaseUntil) &&
		c.Retries() && !c.Fails(), "%+v of %+v", a, c)
	k.failing("q 1: ")
	k.ends("q", endedCaughtUp)
	k.failing()
}

// failing checks what is listed of messages that fail, such as "q 2: no", and returns the rows.
func (k *desk) failing(want ...string) []trouble.Row {
	k.t.Helper()
	rows, _ := check.Get2(k.trouble().Page(k.t.Context(), trouble.Failing, "", "", 100))
	var got []string
	for _, row := range rows {
		got = append(got, fmt.Sprintf("%s %d: %s", row.Queue, row.Seq, row.Error))
	}
	check.Is(k.t, cmp.Diff(want, got), "")
	return rows
}

// TestTheFirstFailureIsListed: with one write, and one at its end; another cause is one more,
// another attempt and healthy traffic none.
func TestTheFirstFailureIsListed(t *testing.T) {
	k := newDesk(t)
	var writes []string
	k.see = func(r ddb.Request) error {
		if ddb.Writes(r) && strings.HasSuffix(r.Name(), " trouble") {
			writes = append(writes, r.Name())
		}
		return nil
	}
	noted := func(what string, want ...string) {
		t.Helper()
		check.That(t, slices.Equal(writes, want), "%s: the writes are %q, want %q", what, writes, want)
		writes = nil
	}
	reader := k.reader()
	reader.MaxAttempts, reader.BlockAfter = 100, 24*time.Hour
	fail := func(why string) {
		t.Helper()
		k.fails = func(delivery.Batch) error { return errors.New(why) }
		k.to(reader, "q", "")
		k.pass(10 * time.Minute)
	}
	k.put("q", 1)
	k.to(reader, "q", "")
	noted("healthy traffic")
	k.put("q", 2)
	fail("order 17 is bad")
	noted("the first failure", "put trouble")
	k.failing("q 2: order 17 is bad")
	fail("order 18 is bad")
	fail("order 19 is bad")
	noted("further attempts")
	fail("the database is away")
	noted("another cause", "put trouble")
	k.fails = nil
	k.to(reader, "q", "")
	noted("its end", "delete trouble")
	k.put("q", 3)
	k.to(reader, "q", "")
	noted("healthy traffic after it")
	k.failing()
}

// TestTheFirstFailureOfAPuller: an abort lists the consumer, and its commit ends that.
func TestTheFirstFailureOfAPuller(t *testing.T) {
	k := newDesk(t, 1)
	claims := check.Get(delivery.NewClaims(k.d, nil))
	k.must(claims.Create(t.Context(), "q", "c"))
	claim := func(id string) delivery.Held {
		return check.Get(claims.Claim(t.Context(), delivery.Request{Queue: "q", Consumer: "c", ID: id})).
			Held()
	}
	check.Get(claims.Abort(t.Context(), claim("a"), "no card"))
	k.failing("q 1: no card")
	check.Is(t, k.standing("q").Last[0].Answer, "no card")
	k.pass(time.Hour)
	h := claim("b")
	check.Get(claims.Prepare(t.Context(), h))
	check.Get(claims.Commit(t.Context(), h))
	k.failing()
	k.at("q", 1, delivery.Idle)
}

// TestAMessageRefusedForGoodIsListed: also where the delivery has no time left before the message
// is alone.
func TestAMessageRefusedForGoodIsListed(t *testing.T) {
	k := newDesk(t, 1, 2, 3)
	deadline := k.now.Add(100 * 365 * 24 * time.Hour) // by the clock of the machine there is time
	k.fails = func(delivery.Batch) error {
		k.now = deadline
		return delivery.Permanent(errors.New("order 3 is bad"))
	}
	ctx, cancel := context.WithDeadline(t.Context(), deadline)
	defer cancel()
	check.Is(t, ending(k.d.Deliver(ctx, "q", k.reader(), -1)), endedOutOfTime)
	k.failing("q 1: order 3 is bad")
}

// TestTriesAreThoseOfTheAttempts: how often a message was tried is the number of its last attempt,
// however its batch came by parts.
func TestTriesAreThoseOfTheAttempts(t *testing.T) {
	k := newDesk(t, 1, 2, 3)
	reader := k.reader()
	reader.MaxAttempts, reader.BlockAfter = 10, time.Hour
	for n := range 9 {
		if k.poison(3, errNo); n > 6 {
			k.poison(3, delivery.SinkAway(errNo))
		}
		k.to(reader, "q", "")
		k.pass(10 * time.Minute)
		c := k.standing("q")
		last := 0
		for _, a := range c.Last {
			last = max(last, a.N)
		}
		if c.Tries() != last || n > 3 && (c.Delivered != 2 || last <= c.Attempts) {
			t.Errorf("after %d deliveries behind %d: %d tries, attempts up to %d, %d of its own",
				n+1, c.Delivered, c.Tries(), last, c.Attempts)
		}
	}
	k.operates(redrives(orderOf("q"), 3))
	c := k.standing("q")
	check.Is(t, c.Tries(), 0)
	check.That(t, c.Last != request.Attempts{}, "the attempts are gone after a redrive")
}

// TestASinkThatIsAwayBlocksNothing: however often it is away, nothing is counted; the times between
// the tries grow all the same, and the batch comes again as it was.
func TestASinkThatIsAwayBlocksNothing(t *testing.T) {
	k := newDesk(t, upTo(1, 3)...)
	k.fails = func(delivery.Batch) error { return fmt.Errorf("call: %w", delivery.SinkAway(errNo)) }
	waits := []time.Duration{time.Second, 10 * time.Second, time.Minute, 5 * time.Minute,
		5 * time.Minute}
	for i := range 20 {
		done := k.ends("q", endedFailed)
		check.Is(t, done.Record.RetryAt.Sub(k.now), waits[min(i, len(waits)-1)], i+1)
		k.gets("q 1,2,3 #1")
		k.pass(5 * time.Minute)
	}
	c := k.at("q", 0, delivery.Idle)
	check.That(t, c.Attempts == 0 && c.Away == 20 && c.Error == "call: no", "%+v; want no attempt", c)
	// What is the message's own counts as ever.
	k.poison(2, errNo)
	k.ends("q", endedFailed)
	c = k.at("q", 0, delivery.Idle)
	check.That(t, c.Attempts == 1 && c.Away == 0, "%+v; want one attempt", c)
	k.fails = nil
	k.pass(time.Second)
	k.ends("q", endedCaughtUp)
	check.That(t, delivery.SinkAway(nil) == nil, "no error became one")
}

// TestNotBefore: a sink is not tried again before it asks to be, an hour at most, and no sooner
// than the schedule says; what else the error says counts as ever.
func TestNotBefore(t *testing.T) {
	for name, c := range map[string]struct {
		asks, want time.Duration
		away       bool
	}{
		"later than the schedule":  {90 * time.Second, 90 * time.Second, false},
		"sooner than the schedule": {time.Millisecond, time.Second, false},
		"in the past":              {-time.Hour, time.Second, false},
		"far ahead":                {48 * time.Hour, time.Hour, false},
		"it is away":               {90 * time.Second, 90 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			k := newDesk(t, 1)
			k.fails = func(delivery.Batch) error {
				err := delivery.NotBefore(errNo, k.now.Add(c.asks))
				if c.away {
					err = delivery.SinkAway(err)
				}
				return err
			}
			done := k.ends("q", endedFailed)
			check.Is(t, done.Record.RetryAt.Sub(k.now), c.want)
			attempts := map[bool]int{false: 1, true: 0}[c.away]
			check.That(t, done.Record.Attempts == attempts && done.Record.Error == "no", "%+v", done.Record)
			k.got = nil
			k.pass(c.want - time.Millisecond)
			k.ends("q", endedWait)
			k.fails = nil
			k.pass(time.Millisecond)
			k.ends("q", endedCaughtUp)
		})
	}
	k := newDesk(t, 1)
	k.fails = func(delivery.Batch) error {
		return delivery.Permanent(delivery.NotBefore(errNo, k.now.Add(time.Hour)))
	}
	k.ends("q", endedBlocked)
	check.That(t, delivery.NotBefore(nil, k.now) == nil, "no error became one")
}

// TestAPartIsDone: what is before the first failure is committed by the same write that gives the
// claim back; what is behind it comes again, as often as it may.
func TestAPartIsDone(t *testing.T) {
	k := newDesk(t, 1, 2, 3, 4, 5)
	r := k.reader()
	r.MaxMessages, r.BlockAfter = 4, time.Second
	k.poison(3, delivery.DoneUpTo(errors.New("no 3"), 2))
	done := k.to(r, "q", endedFailed)
	check.Is(t, done.Messages, 2)
	c := k.at("q", 2, delivery.Idle)
	check.That(t, c.Attempts == 1 && c.Together == 1 && c.IsolateTo == 4, "%+v", c)
	for k.standing("q").State != delivery.Blocked {
		k.pass(time.Hour)
		k.to(r, "q", "")
	}
	k.operates(skips(orderOf("q"), 3))
	k.to(r, "q", endedCaughtUp)
	got := strings.Join(k.got, ", ")
	check.That(t, strings.HasPrefix(got, "q 1,2,3,4 #1, q 3,4 #2"), "it got %q", got)
	check.That(t, strings.HasSuffix(got, "q 5 #1") ||
		strings.HasSuffix(got, "q 4,5 #1"), "it got %q", got)
}

// TestTheAttemptGoesOnByHalves: no message comes under a lower attempt than before, nor one that
// was never tried under any but the first.
func TestTheAttemptGoesOnByHalves(t *testing.T) {
	k := newDesk(t, 1, 2, 3, 4, 5, 6, 7, 8)
	r := k.reader()
	r.MaxMessages, r.MaxAttempts = 4, 6
	k.poison(2, errNo)
	for range 4 {
		k.to(r, "q", "")
		k.pass(time.Hour)
	}
	k.fails = nil
	k.to(r, "q", endedCaughtUp)
	k.gets("q 1,2,3,4 #1", "q 1,2,3,4 #2", "q 1,2 #3", "q 1 #4", "q 2 #4", "q 2 #5",
		"q 3,4,5,6 #5", "q 7,8 #1")
}

// TestAPartThatCannotBeCommitted: a batch with replies is committed whole; and a seq must be in the
// batch.
func TestAPartThatCannotBeCommitted(t *testing.T) {
	for name, done := range map[string]func(b delivery.Batch) int64{
		"a reply":        func(b delivery.Batch) int64 { _ = b.Reply(delivery.Reply{Queue: "r", Body: []byte("x")}); return 2 },
		"all of it":      func(b delivery.Batch) int64 { return b.To },
		"more than all":  func(b delivery.Batch) int64 { return b.To + 1 },
		"none of it":     func(b delivery.Batch) int64 { return b.From },
		"less than none": func(b delivery.Batch) int64 { return b.From - 1 },
	} {
		k := newDesk(t, 1, 2, 3)
		r := k.reader()
		r.Handle = func(_ context.Context, b delivery.Batch) error {
			return delivery.DoneUpTo(errors.New("no"), done(b))
		}
		check.Is(t, k.to(r, "q", endedFailed).Messages, 0, name)
		k.at("q", 0, delivery.Idle)
	}
	check.That(t, delivery.DoneUpTo(nil, 1) == nil, "nothing failed, and that is an error")
}
