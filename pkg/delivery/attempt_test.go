package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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
	k := newDesk(t)
	k.put("q", 1, 2)
	n := 0
	k.fails = func(delivery.Batch) error {
		n++
		k.pass(time.Duration(n) * time.Second) // the handler takes so long
		return called{errors.New(strings.Repeat("é", 400) + fmt.Sprint(n))}
	}
	reader := k.reader()
	reader.MaxMessages, reader.MaxAttempts, reader.BlockAfter = 1, 7, time.Minute
	deliver := func() delivery.Delivery {
		done := k.d.Deliver(t.Context(), "q", reader, -1)
		k.must(done.Err)
		return done
	}
	for k.standing("q").State != delivery.Blocked {
		deliver()
		k.pass(10 * time.Minute)
	}
	c := k.standing("q")
	for i, a := range c.Last {
		want := i + n - request.KeptAttempts + 1
		if a.N != want || a.Took != time.Duration(want)*time.Second || a.From != 0 || a.To != 1 || a.By != "arn:of:books" || a.CallID != "r-1" || a.Died {
			t.Errorf("attempt %d is %+v", want, a)
		}
		check.That(t, len(a.Answer) == request.MaxAnswer && strings.HasPrefix(a.Answer, "éé") && a.Token != "" && !a.At.IsZero(),
			"attempt %d has %d bytes of an answer, token %q, at %s", want, len(a.Answer), a.Token, a.At)
	}
	size := 0
	for _, it := range k.consumers.Items("streamsort-consumers") {
		size = max(size, it.Size())
	}
	if most := 5 << 10; size > most {
		t.Errorf("the item has %d bytes, want %d at most", size, most)
	}
	check.Get(k.d.Operate(t.Context(), redrives(delivery.Order{Queue: "q", Consumer: "c", Reason: "r", Op: "o"}, 1)))
	check.Is(t, k.standing("q").Last, c.Last)
	k.fails = nil
	deliver()
	if after := k.standing("q"); after.Delivered != 2 || after.Last != (request.Attempts{}) {
		t.Errorf("after it was taken %d: %+v", after.Delivered, after.Last)
	}
}

// TestAWorkerThatDiesIsAnAttempt: nothing was answered until the lease was over, and the consumer
// is listed.
func TestAWorkerThatDiesIsAnAttempt(t *testing.T) {
	k := newDesk(t)
	k.put("q", 1)
	check.Get(k.d.Create(t.Context(), "q", "c", delivery.First))
	check.Get2(k.store.Requests(request.Inside{}).Claim(t.Context(), k.standing("q"), request.Claim{Req: "dead", To: 1, Now: k.now, LeaseUntil: k.now.Add(time.Minute)}))
	k.pass(2 * time.Minute)
	k.sweep(delivery.SweepOptions{})
	c := k.standing("q")
	if a := c.Last[0]; !a.Died || a.N != 1 || a.Token != "1-dead" || !a.At.Equal(c.LeaseUntil) || !c.Retries() || c.Fails() {
		t.Errorf("%+v of %+v", a, c)
	}
	if rows := k.failing(); len(rows) != 1 || rows[0].Queue != "q" {
		t.Errorf("listed is %+v", rows)
	}
	k.ends("q", endedCaughtUp)
	check.Is(t, len(k.failing()), 0)
}

// failing are the rows of consumers that retry a message.
func (k *desk) failing() []trouble.Row {
	k.t.Helper()
	rows, _ := check.Get2(k.store.Requests(request.Inside{}).Trouble().Page(k.t.Context(), trouble.Failing, "", "", 100))
	return rows
}

// TestTheFirstFailureIsListed: with one write, and one at its end; another cause is one more,
// another attempt and healthy traffic none.
func TestTheFirstFailureIsListed(t *testing.T) {
	k := newDesk(t)
	noted := func(what string, want ...string) {
		t.Helper()
		check.That(t, slices.Equal(k.noted, want), "%s: the writes are %q, want %q", what, k.noted, want)
		k.noted = nil
	}
	reader := k.reader()
	reader.MaxAttempts, reader.BlockAfter = 100, 24*time.Hour
	fail := func(why string) {
		t.Helper()
		k.fails = func(delivery.Batch) error { return errors.New(why) }
		k.must(k.d.Deliver(t.Context(), "q", reader, -1).Err)
		k.pass(10 * time.Minute)
	}
	k.put("q", 1)
	k.must(k.d.Deliver(t.Context(), "q", reader, -1).Err)
	noted("healthy traffic")
	k.put("q", 2)
	fail("order 17 is bad")
	noted("the first failure", "put trouble")
	if rows := k.failing(); len(rows) != 1 || rows[0].Error != "order 17 is bad" || rows[0].Seq != 2 {
		t.Errorf("listed is %+v", rows)
	}
	fail("order 18 is bad")
	fail("order 19 is bad")
	noted("further attempts")
	fail("the database is away")
	noted("another cause", "put trouble")
	k.fails = nil
	k.must(k.d.Deliver(t.Context(), "q", reader, -1).Err)
	noted("its end", "delete trouble")
	k.put("q", 3)
	k.must(k.d.Deliver(t.Context(), "q", reader, -1).Err)
	noted("healthy traffic after it")
	check.Is(t, len(k.failing()), 0)
}

// TestTheFirstFailureOfAPuller: an abort lists the consumer, and its commit ends that.
func TestTheFirstFailureOfAPuller(t *testing.T) {
	k := newDesk(t)
	k.put("q", 1)
	claims := check.Get(delivery.NewClaims(k.d, nil))
	k.must(claims.Create(t.Context(), "q", "c"))
	claim := func(id string) delivery.Held {
		t.Helper()
		a, err := claims.Claim(t.Context(), delivery.Request{Queue: "q", Consumer: "c", ID: id})
		k.must(err)
		return a.Held()
	}
	check.Get(claims.Abort(t.Context(), claim("a"), "no card"))
	if rows := k.failing(); len(rows) != 1 || rows[0].Error != "no card" || k.standing("q").Last[0].Answer != "no card" {
		t.Errorf("listed is %+v", rows)
	}
	k.pass(time.Hour)
	h := claim("b")
	check.Get(claims.Prepare(t.Context(), h))
	check.Get(claims.Commit(t.Context(), h))
	if rows := k.failing(); len(rows) > 0 || k.standing("q").Delivered != 1 {
		t.Errorf("listed is %+v", rows)
	}
}

// TestAMessageRefusedForGoodIsListed: also where the delivery has no time left before the message
// is alone.
func TestAMessageRefusedForGoodIsListed(t *testing.T) {
	k := newDesk(t)
	k.put("q", 1, 2, 3)
	deadline := k.now.Add(100 * 365 * 24 * time.Hour) // by the clock of the machine there is time
	k.fails = func(delivery.Batch) error {
		k.now = deadline
		return delivery.Permanent(errors.New("order 3 is bad"))
	}
	ctx, cancel := context.WithDeadline(t.Context(), deadline)
	defer cancel()
	check.Is(t, ending(k.d.Deliver(ctx, "q", k.reader(), -1)), endedOutOfTime)
	rows := k.failing()
	if len(rows) != 1 || rows[0].Queue != "q" || rows[0].Seq != 1 || rows[0].Error != "order 3 is bad" {
		t.Errorf("listed is %+v", rows)
	}
}

// TestTriesAreThoseOfTheAttempts: how often a message was tried is the number of its last attempt,
// however its batch came by parts.
func TestTriesAreThoseOfTheAttempts(t *testing.T) {
	k := newDesk(t)
	k.put("q", 1, 2, 3)
	cause := errNo
	k.fails = func(b delivery.Batch) error {
		if b.To < 3 {
			return nil
		}
		return cause
	}
	reader := k.reader()
	reader.MaxAttempts, reader.BlockAfter = 10, time.Hour
	for n := range 9 {
		cause = errNo
		if n > 6 {
			cause = delivery.SinkAway(errNo)
		}
		k.must(k.d.Deliver(t.Context(), "q", reader, -1).Err)
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
	_, err := k.d.Operate(t.Context(), redrives(orderOf("q"), 3))
	k.must(err)
	if c := k.standing("q"); c.Tries() != 0 || c.Last == (request.Attempts{}) {
		t.Errorf("after a redrive %d tries, attempts %+v", c.Tries(), c.Last)
	}
}
