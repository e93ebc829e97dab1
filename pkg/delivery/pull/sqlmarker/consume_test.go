package sqlmarker_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/claimstest"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/pull"
	"github.com/streamsort/streamsort/pkg/delivery/pull/sqlmarker"
)

// flaky loses the answer to every other commit, and some of them before they are made: nobody
// knows.
type flaky struct {
	delivery.Claims
	commits, prepares int
}

var errAway = errors.New("no answer")

func (f *flaky) CommitAndClaim(ctx context.Context, h delivery.Held, r delivery.Request,
	replies ...delivery.Reply) (done, next delivery.Answer, err error) {
	if f.commits++; f.commits%4 == 1 {
		return done, next, errAway
	}
	done, next, err = f.Claims.CommitAndClaim(ctx, h, r, replies...)
	if f.commits%4 == 3 {
		return delivery.Answer{}, delivery.Answer{}, errAway
	}
	return done, next, err
}

func (f *flaky) Prepare(ctx context.Context, h delivery.Held) (delivery.Answer, error) {
	a, err := f.Claims.Prepare(ctx, h)
	if f.prepares++; f.prepares%3 == 1 {
		return delivery.Answer{}, errAway
	}
	return a, err
}

// TestItSaysWhatItWasAt: the error names the consumer that is not there; and one of a context that
// ends has what failed before, unless something worked since.
func TestItSaysWhatItWasAt(t *testing.T) {
	onTables(t, 1, func(b *bench, tb *tables) {
		err := b.Consume(b.Context(), tb.puller(0), "q", "nobody", book, tb.options())
		check.That(b, errors.Is(err, delivery.ErrNoConsumer) &&
			err.Error() == `consumer "nobody" of queue "q": no such consumer`,
			"error %v", err)

		for name, c := range map[string]struct {
			claims delivery.Claims
			want   string
		}{
			"nothing works":     {&away{Claims: tb.puller(0)}, "context canceled: what failed last: connection refused"},
			"it works by now":   {&away{Claims: tb.puller(0), times: 1}, "context canceled"},
			"nothing was wrong": {tb.puller(0), "context canceled"},
		} {
			ctx, cancel := context.WithCancel(b.Context())
			o := tb.options()
			o.UntilEmpty = false
			waits := 0
			o.Wait = func(ctx context.Context, _ time.Duration) error {
				if waits++; waits == 3 {
					cancel()
				}
				return ctx.Err()
			}
			err := b.Consume(ctx, c.claims, "q", "c", book, o)
			check.That(b, errors.Is(err, context.Canceled) && err.Error() == c.want, "%s: %v", name, err)
			cancel()
		}
	})
}

// away answers no claim, or not the first ones; where the context has ended it says no more than
// that.
type away struct {
	delivery.Claims
	times, asked int
}

var errRefused = errors.New("connection refused")

func (a *away) Claim(ctx context.Context, r delivery.Request) (delivery.Answer, error) {
	switch a.asked++; {
	case a.times > 0 && a.asked > a.times:
		return a.Claims.Claim(ctx, r)
	case a.asked == 2:
		return delivery.Answer{}, context.DeadlineExceeded // of one request
	}
	return delivery.Answer{}, errRefused
}

var errBlocked = errors.New("blocked")

// untilBlocked ends a Consume with errBlocked where the consumer is blocked.
func untilBlocked(o *pull.ConsumeOptions) {
	var last pull.Step
	o.Observe = func(s pull.Step) { last = s }
	wait := o.Wait
	o.Wait = func(ctx context.Context, d time.Duration) error {
		if last.Outcome == delivery.Blocked {
			return errBlocked
		}
		return wait(ctx, d)
	}
}

// TestAMessageThatNoTransactionTakes ends blocked, alone; those before it go through.
func TestAMessageThatNoTransactionTakes(t *testing.T) {
	onTables(t, 4, func(b *bench, tb *tables) {
		tries := 0
		effect := func(ctx context.Context, tx *sql.Tx, batch delivery.Batch) error {
			if err := book(ctx, tx, batch); err != nil {
				return err
			}
			for _, m := range batch.Messages {
				if m.Seq == 3 {
					tries++
					panic("no such account")
				}
			}
			return nil
		}
		o := tb.options()
		o.MaxMessages = 4
		untilBlocked(o)
		check.Fails(b, b.Consume(b.Context(), tb.puller(0), "q", "c", effect, o), errBlocked)
		b.booked(1, 2)
		c, err := tb.store.Requests(request.Inside{}).Consumer(b.Context(), "q", "c")
		check.That(b, err == nil && c.State == delivery.Blocked && c.Delivered == 2 &&
			c.Error == "panic: no such account" && tries == 5,
			"%+v, %v, after %d tries", c, err, tries)
	})
}

// TestAnEffectThatEndsTheTransaction ends Consume, whatever it returns: there is no marker beside
// what it committed. What a context's end rolls back is nobody's mistake.
func TestAnEffectThatEndsTheTransaction(t *testing.T) {
	refused := errors.New("no such account")
	for name, effect := range map[string]sqlmarker.Effect{
		"committed":              func(_ context.Context, tx *sql.Tx, _ delivery.Batch) error { return tx.Commit() },
		"rolled back":            func(_ context.Context, tx *sql.Tx, _ delivery.Batch) error { return tx.Rollback() },
		"committed, and refused": func(_ context.Context, tx *sql.Tx, _ delivery.Batch) error { return errors.Join(tx.Commit(), refused) },
	} {
		t.Run(name, func(t *testing.T) {
			onTables(t, 1, func(b *bench, tb *tables) {
				o := tb.options()
				o.Wait = func(context.Context, time.Duration) error { return errAway } // it tries again
				err := b.Consume(b.Context(), tb.puller(0), "q", "c", effect, o)
				check.Fails(b, err, pull.ErrEnded)
				check.Has(b, fmt.Sprint(err), `consumer "c" of queue "q": the effect ended its transaction`)
				check.Is(b, b.count("streamsort_markers"), 0)
			})
		})
	}
	onTables(t, 1, func(b *bench, tb *tables) {
		ctx, cancel := context.WithCancel(b.Context())
		effect := func(ctx context.Context, tx *sql.Tx, _ delivery.Batch) error {
			cancel()
			_, err := tx.ExecContext(ctx, "INSERT INTO effects VALUES (1)")
			return err
		}
		err := b.Consume(ctx, tb.puller(0), "q", "c", effect, tb.options())
		check.That(b, errors.Is(err, context.Canceled) && !errors.Is(err, pull.ErrEnded), "error %v", err)
	})
}

func TestAnotherDatabasesClaimIsNotSettled(t *testing.T) {
	onTables(t, 1, func(b *bench, tb *tables) {
		p := tb.puller(0)
		h := tb.claim(p, "other-1", 1).Held()
		tb.is("prepare", delivery.OK)(p.Prepare(b.Context(), h))
		tb.now = tb.now.Add(time.Minute)
		check.Fails(b, b.Consume(b.Context(), p, "q", "c", book, tb.options()), pull.ErrOtherDatabase)
		check.Is(b, b.count("streamsort_markers"), 0)
	})
}

// TestARestoredDatabaseStops: at the start already, where nothing is ready.
func TestARestoredDatabaseStops(t *testing.T) {
	onTables(t, 2, func(b *bench, tb *tables) {
		check.OK(b, b.Consume(b.Context(), tb.puller(0), "q", "c", book, tb.options()))
		b.exec("DELETE FROM effects WHERE n = 2")
		b.exec("DELETE FROM streamsort_markers WHERE number = 2")
		var restored *pull.RestoredError
		err := b.Consume(b.Context(), tb.puller(0), "q", "c", book, tb.options())
		check.Need(b, errors.As(err, &restored) && restored.Last == 1 &&
			restored.Committed == 2, "%v", err)
		tb.put(3, 3)
		err = b.Consume(b.Context(), tb.puller(0), "q", "c", book, tb.options())
		check.Need(b, errors.As(err, &restored), "error %v, with a message that waits", err)
		b.booked(1)
		// An operator sets the consumer back, and gives the word.
		tb.now = tb.now.Add(time.Hour)
		check.Get(tb.deliverer(0).Operate(b.Context(),
			delivery.Order{Kind: "rewind", Queue: "q", Consumer: "c", Reason: "restored",
				Start: delivery.At(2)}))
		check.OK(b, b.Acknowledge(b.Context(), "q", "c", restored.Committed))
		check.OK(b, b.Consume(b.Context(), tb.puller(0), "q", "c", book, tb.options()))
		b.booked(1, 2, 3)
	})
}

// TestTheLeaseIsExtended: the work takes longer than a lease.
func TestTheLeaseIsExtended(t *testing.T) {
	onTables(t, 1, func(b *bench, tb *tables) {
		p := &beats{Claims: tb.puller(0), beaten: make(chan struct{}, 1)}
		o := tb.options()
		o.Beat = time.Millisecond
		effect := func(ctx context.Context, tx *sql.Tx, batch delivery.Batch) error {
			<-p.beaten
			return book(ctx, tx, batch)
		}
		check.OK(b, b.Consume(b.Context(), p, "q", "c", effect, o))
		b.booked(1)
	})
}

// beats reports a heartbeat.
type beats struct {
	delivery.Claims
	beaten chan struct{}
}

func (c *beats) Extend(ctx context.Context, h delivery.Held,
	lease time.Duration) (delivery.Answer, error) {
	a, err := c.Claims.Extend(ctx, h, lease)
	select {
	case c.beaten <- struct{}{}:
	default:
	}
	return a, err
}

// TestATakenOverClaimEndsTheWork: the heartbeat learns of it.
func TestATakenOverClaimEndsTheWork(t *testing.T) {
	onTables(t, 1, func(b *bench, tb *tables) {
		p := tb.puller(0)
		other := tb.puller(time.Hour)
		o := tb.options()
		o.Beat = time.Millisecond
		o.Wait = func(context.Context, time.Duration) error { return errAway }
		effect := func(ctx context.Context, _ *sql.Tx, _ delivery.Batch) error {
			tb.claim(other, "other-2", 1)
			<-ctx.Done()
			return ctx.Err()
		}
		check.Fails(b, b.Consume(b.Context(), p, "q", "c", effect, o), errAway)
		b.booked()
	})
}

// TestAnotherDatabasesQuarantineHoldsNobodyUp: its claim waits for an operator.
func TestAnotherDatabasesQuarantineHoldsNobodyUp(t *testing.T) {
	onTables(t, 2, func(b *bench, tb *tables) {
		p := tb.puller(0)
		h := tb.claim(p, "other-1", 1).Held()
		tb.is("prepare", delivery.OK)(p.Prepare(b.Context(), h))
		tb.now = tb.now.Add(2 * time.Hour)
		for range 2 {
			check.Get(tb.deliverer(0).Sweep(b.Context(), delivery.SweepOptions{}))
		}
		check.OK(b, b.Consume(b.Context(), p, "q", "c", book, tb.options()))
		b.booked(2)
		b.settles(h, delivery.Aborted) // nobody had settled it here
	})
}

// TestRestoredTables: the tables went back, and hand out again what the database has. Nothing is
// done twice; an operator sets the consumer behind it, and it goes on.
func TestRestoredTables(t *testing.T) {
	onEach(t, func(b *bench) {
		before := newTables(b.T, 3)
		check.OK(b, b.Consume(b.Context(), before.puller(0), "q", "c", book, before.options()))
		b.booked(1, 2, 3)

		restored := newTables(b.T, 5) // to before the consumer began
		var ahead *pull.AheadError
		err := b.Consume(b.Context(), restored.puller(0), "q", "c", book, restored.options())
		check.Need(b, errors.As(err, &ahead) && ahead.To == 3 && ahead.From == 0 && ahead.Queue == "q" &&
			ahead.Consumer == "c",
			"%v; want that the database is at 3", err)
		b.booked(1, 2, 3)

		order := delivery.Order{Kind: "rewind", Start: delivery.At(ahead.To + 1), Queue: "q",
			Consumer: "c", Reason: "the tables were restored"}
		check.Get(restored.deliverer(0).Operate(b.Context(), order))
		check.OK(b, b.Consume(b.Context(), restored.puller(0), "q", "c", book, restored.options()))
		b.booked(1, 2, 3, 4, 5)
	})
}

// TestAnEffectThatFailsByARestore: where the database refuses what it has already, or what is built
// on what it lost, by a constraint of its own, the restore is reported all the same, and the
// consumer is not blocked by it.
func TestAnEffectThatFailsByARestore(t *testing.T) {
	refused := errors.New("UNIQUE constraint failed")
	refuse := func(context.Context, *sql.Tx, delivery.Batch) error { return refused }
	atOnce := func(o *pull.ConsumeOptions) *pull.ConsumeOptions {
		o.Wait = func(context.Context, time.Duration) error { return errors.New("it tries again") }
		return o
	}
	onEach(t, func(b *bench) {
		before := newTables(b.T, 3)
		check.OK(b, b.Consume(b.Context(), before.puller(0), "q", "c", book, before.options()))
		var ahead *pull.AheadError
		restored := newTables(b.T, 5)
		err := b.Consume(b.Context(), restored.puller(0), "q", "c", refuse, atOnce(restored.options()))
		check.That(b, errors.As(err, &ahead) && ahead.To == 3 && errors.Is(err, refused), "%v", err)

		b.exec("DELETE FROM streamsort_markers")
		var lost *pull.RestoredError
		before.put(4, 4)
		err = b.Consume(b.Context(), before.puller(0), "q", "c", refuse, atOnce(before.options()))
		check.Fails(b, err, refused)
		check.That(b, errors.As(err, &lost) && lost.Last == 0 && lost.Committed > 0,
			"%v; want what is lost", err)
	})
}

// TestThePlaceOfAMarker: what is ahead of what.
func TestThePlaceOfAMarker(t *testing.T) {
	onEach(t, func(b *bench) {
		batch := func(n, rewinds, from, to int64) delivery.Batch {
			return delivery.Batch{Queue: "q", Consumer: "c", Token: delivery.Token{N: n, Req: "r"},
				Rewinds: rewinds, From: from, To: to}
		}
		for _, c := range []struct {
			batch delivery.Batch
			ahead bool
		}{
			{batch(5, 1, 0, 10), false},
			{batch(6, 1, 10, 20), false},
			{batch(7, 1, 19, 21), true},
			{batch(7, 1, 20, 21), false},
			{batch(4, 1, 5, 6), true},   // an older one, that another went past
			{batch(8, 0, 30, 31), true}, // before it was set back
			{batch(8, 2, 0, 1), false},  // after it was set back again
			{batch(9, 2, 0, 1), true},
		} {
			tx := b.begin()
			err := b.Mark(b.Context(), tx, c.batch, 0)
			var ahead *pull.AheadError
			check.That(b, errors.As(err, &ahead) == c.ahead && (err == nil || c.ahead),
				"%+v: %v, want ahead %v", c.batch, err, c.ahead)
			if err != nil {
				_ = tx.Rollback()
				continue
			}
			check.OK(b, tx.Commit())
		}
	})
}

// late is a process that sleeps after its first claim, while something happens.
type late struct {
	delivery.Claims
	meanwhile func()
}

func (l *late) Claim(ctx context.Context, r delivery.Request) (delivery.Answer, error) {
	a, err := l.Claims.Claim(ctx, r)
	if l.meanwhile != nil {
		l.meanwhile()
		l.meanwhile = nil
	}
	return a, err
}

// TestATakenOverClaimIsNoRestore: a process that sleeps past its lease finds what the other
// committed in the database, and goes on behind it.
func TestATakenOverClaimIsNoRestore(t *testing.T) {
	onTables(t, 2, func(b *bench, tb *tables) {
		other := tb.puller(time.Hour)
		p := &late{Claims: tb.puller(0), meanwhile: func() {
			a := tb.claim(other, b.Name()+"-other", 1)
			tx := b.begin()
			check.OK(b, errors.Join(book(b.Context(), tx, a.Batch), b.Mark(b.Context(), tx, a.Batch, 0)))
			tb.is("prepare", delivery.OK)(other.Prepare(b.Context(), a.Held()))
			check.OK(b, tx.Commit())
			tb.is("commit", delivery.OK)(other.Commit(b.Context(), a.Held()))
		}}
		check.OK(b, b.Consume(b.Context(), p, "q", "c", book, tb.options()))
		b.booked(1, 2)
	})
}

// answering books each message, and answers it to queue x.
func answering(ctx context.Context, tx *sql.Tx, b delivery.Batch) error {
	for _, m := range b.Messages {
		if err := b.Reply(delivery.Reply{Queue: "x",
			Body: fmt.Appendf(nil, "re %d", m.Seq)}); err != nil {
			return err
		}
	}
	return book(ctx, tx, b)
}

// answered checks what stands in queue x.
func (tb *tables) answered(want ...string) {
	tb.Helper()
	var got []string
	for _, m := range claimstest.Arrived(tb.T, tb.sorter())("x") {
		got = append(got, string(m.Body))
	}
	check.That(tb, slices.Equal(got, want), "queue x has %q, want %q", got, want)
}

func TestEachMessageIsAnsweredOnce(t *testing.T) {
	onTables(t, 5, func(b *bench, tb *tables) {
		// Every third prepare and every second commit is not answered.
		check.OK(b, b.Consume(b.Context(), &flaky{Claims: tb.puller(0)}, "q", "c",
			answering, tb.options()))
		b.booked(1, 2, 3, 4, 5)
		tb.answered("re 1", "re 2", "re 3", "re 4", "re 5")
	})
}

// TestSettleSendsReplies: the process before died after its transaction, or before it.
func TestSettleSendsReplies(t *testing.T) {
	for name, committed := range map[string]bool{"committed": true, "not committed": false} {
		t.Run(name, func(t *testing.T) {
			onTables(t, 2, func(b *bench, tb *tables) {
				p := tb.puller(0)
				a := tb.claim(p, b.Name()+"-a", 1)
				tb.is("prepare", delivery.OK)(p.Prepare(b.Context(), a.Held()))
				want := []string{"re 1", "re 2"}
				if committed {
					tx := b.begin()
					check.OK(b,
						b.Mark(b.Context(), tx, a.Batch, 0, delivery.Reply{Queue: "x", Body: []byte("of the dead")}))
					check.OK(b, tx.Commit())
					want[0] = "of the dead"
				}
				check.OK(b, b.Consume(b.Context(), p, "q", "c", answering, tb.options()))
				tb.answered(want...)
			})
		})
	}
}

// TestWhatIsNotCommittedAnswersNothing: the effect fails after it answered, or ignores that a reply
// was bad: the batch is not committed without a reply that it was to have.
func TestWhatIsNotCommittedAnswersNothing(t *testing.T) {
	for want, bad := range map[string]func(delivery.Batch) error{
		"no": func(delivery.Batch) error { return errors.New("no") },
		"replies[1].queue has 1025 bytes": func(batch delivery.Batch) error {
			_ = batch.Reply(delivery.Reply{Queue: strings.Repeat("x", 1025)})
			return nil
		},
	} {
		t.Run(want[:2], func(t *testing.T) {
			onTables(t, 1, func(b *bench, tb *tables) {
				o := tb.options()
				var failed []string
				o.Observe = func(s pull.Step) {
					if s.Err != nil {
						failed = append(failed, s.Err.Error())
					}
				}
				tries := 0
				effect := func(ctx context.Context, tx *sql.Tx, batch delivery.Batch) error {
					err := answering(ctx, tx, batch)
					if tries++; tries == 1 {
						err = errors.Join(err, bad(batch))
					}
					return err
				}
				check.OK(b, b.Consume(b.Context(), tb.puller(0), "q", "c", effect, o))
				check.That(b, len(failed) == 1 && strings.Contains(failed[0], want), "failed with %q", failed)
				b.booked(1)
				tb.answered("re 1")
			})
		})
	}
}

// TestSettleReadsTheReplies exactly as they were given.
func TestSettleReadsTheReplies(t *testing.T) {
	onEach(t, func(b *bench) {
		seq := int64(9007199254740993)
		replies := []delivery.Reply{
			{Queue: "x", ID: "i", Body: []byte("{ \"a\": 1 }\x00\xff"), ContentType: "text/plain", Attributes: map[string]string{"k": "ä"}},
			{Queue: "n", Seq: &seq, Body: []byte{}, ContentType: "application/json"},
		}
		tx := b.begin()
		check.OK(b, b.Mark(b.Context(), tx, batchOf(claim(1, "r")), 0, replies...))
		check.OK(b, tx.Commit())
		for range 2 {
			outcome, got := check.Get2(b.Settle(b.Context(), claim(1, "r"), 0))
			check.Is(b, outcome, delivery.Committed)
			check.Is(b, cmp.Diff(replies, got), "")
		}
		bad := b.Mark(b.Context(), b.begin(), batchOf(claim(2, "r")), 0, delivery.Reply{})
		check.Has(b, fmt.Sprint(bad), "replies[0].queue")
	})
}
