package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/timer"
)

// keyedQueues is a sorter with keyed queues of numbers whose settle window is 5 s, each with
// messages 1 and 2 that wait; its clock, and that of the sweep's process.
func keyedQueues(t *testing.T, store *cursor.Store, now *time.Time,
	queues ...string) *cursor.Sorter {
	t.Helper()
	sorter := check.Get(cursor.New(store, &cursor.Options{Now: func() time.Time { return *now }}))
	for _, queue := range queues {
		for _, key := range []int{2, 1} {
			check.OK(t,
				sorter.Put(t.Context(), cursor.Message{KeyType: "number", KeyParts: []any{key}, Queue: queue,
					ID: "x"})[0].Err)
		}
	}
	return sorter
}

// settleOf is a wake-up of a keyed queue, up to a number.
func settleOf(t *testing.T, queue string, upTo int) string {
	t.Helper()
	key := check.Get(sortkey.KeyType("number").Key(upTo))
	return timer.WakeUp{Thing: timer.Thing{Kind: timer.Settle, Queue: queue},
		UpTo: string(sortkey.Era("").SortKey(key, "x")), Due: time.Now()}.String()
}

// TestHandlerWakesKeyedQueues: up to the bound, and no farther; what comes too early is sent again
// for when it is due; anything else is done with.
func TestHandlerWakesKeyedQueues(t *testing.T) {
	now := time.Now().Add(time.Hour)
	sorter := keyedQueues(t, cursor.NewMemory(), &now, "q", "young")
	s, d := timed(t, sorter)
	due := now.Add(5 * time.Second)
	answers(t.Context(), t, s, batch(t, settleOf(t, "young", 2)))
	s.hasMetrics(`"WakeUpsEarly":1`)
	check.Need(t, len(d.waits) == 1, "sent %v", d.waits)
	w := check.Get(timer.Parse(d.waits[0].body))
	check.That(t, w.Again == 1 && w.UpTo != "", "sent %+v", w)
	check.Is(t, w.Due.UnixMilli(), due.UnixMilli())
	now = due
	check.OK(t, sorter.Put(t.Context(), cursor.Message{Queue: "numbered", Seq: 1})[0].Err)
	answers(t.Context(), t, s, batch(t, settleOf(t, "q", 1), settleOf(t, "gone", 1),
		settleOf(t, "numbered", 1), settleOf(t, "young", 2)))
	s.hasMetrics(`"Settled":3`, `"WakeUpsInVain":2`, `"WakeUpLate":[`)
	for queue, want := range map[string]int64{"q": 1, "young": 2} {
		check.Is(t, position(t, sorter, queue), want, queue)
	}
	check.That(t, len(d.waits) == 1, "sent %v", d.waits)
}

// TestSettlingGoesOnAtOnce where its turn did not last; by a wake-up of its own where the turn did
// nothing; and comes again where it failed.
func TestSettlingGoesOnAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var query func(context.Context) error
		store := storeBehind(t, func(ctx context.Context, r *ddb.Request) (err error) {
			if q, ok := (*r).(ddb.Query); ok && q.Table.Name == "streamsort-arrivals" {
				err, q.Limit = query(ctx), 1
				*r = q
			}
			return err
		})
		now := time.Now()
		sorter := keyedQueues(t, store, &now, "q")
		now = now.Add(time.Minute)
		was := http.DefaultTransport
		defer func() { http.DefaultTransport = was }()
		http.DefaultTransport = nobody{}
		s := sweeperOf(t, sorter)
		s.sends(t, "http://127.0.0.1:1")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for _, its := range []struct {
			name  string
			query func(context.Context) error
			turns time.Duration
			want  []string
		}{
			{"a page takes longer than a turn", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, 1, []string{`"Unfinished":1`, `"WakeUpsFailed":1`}},
			{"a page takes half of a turn", func(context.Context) error { bubble.Sleep(turn / 2); return nil }, 2, []string{`"Settled":2`, `"WakeUpLate":`}},
		} {
			query = its.query
			began := time.Now()
			answers(ctx, t, s, batch(t, settleOf(t, "q", 2)))
			s.hasMetrics(its.want...)
			took := time.Since(began)
			check.That(t, took <= its.turns*turn+time.Second, "%s: it took %v", its.name, took)
		}
		query = func(context.Context) error { return errors.New("no luck") }
		answers(t.Context(), t, s, batch(t, settleOf(t, "q", 2)), "m0")
		s.hasMetrics(`"Errors":1`)
	})
}

// nobody refuses every request.
type nobody struct{}

func (nobody) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("nobody is there")
}

// TestHandlerSweepsKeyedQueues: what wakes nobody up is settled by the sweep, which tells how long
// it waited for that, and what was late; also of a queue that cannot be settled.
func TestHandlerSweepsKeyedQueues(t *testing.T) {
	broken, died := false, false
	store := storeBehind(t, func(_ context.Context, r *ddb.Request) error {
		if get, ok := (*r).(ddb.Get); ok && get.Strong && died {
			return errors.New("the writer died")
		}
		if update, ok := (*r).(ddb.Update); ok && broken && update.Key.Get("queue").Str() == "@acme/q" {
			return errors.New("no luck")
		}
		return nil
	})
	now := time.Now().Truncate(time.Second)
	sorter := keyedQueues(t, store, &now, "@acme/q", "@young/q")
	s := sweeperOf(t, sorter)
	s.tenants, s.overdueAfter = true, 5*time.Minute
	run := func(fails bool) time.Duration {
		t.Helper()
		s.out.Reset()
		did, err := s.run(t.Context(), nil)
		check.That(t, (err != nil) == fails, "error %v", err)
		return did.Consumers.Sorter.Overdue
	}
	run(false)
	s.hasMetrics(`"Waiting":4`, `"SettleAge":0`)
	now = now.Add(5*time.Second + 4*time.Minute)
	broken = true
	run(true)
	s.hasMetrics(`"Settled":2`, `"SettleAge":240`, `"Errors":1`)
	now = now.Add(2 * time.Minute)
	check.Is(t, run(true), 6*time.Minute)
	got := byTenant(t, bytes.NewBuffer(s.out.Bytes()))
	check.That(t, cmp.Equal(got, map[string]float64{"acme SettleAge": 360}), "by tenant: %v", got)
	broken = false
	check.OK(t,
		sorter.Put(t.Context(), cursor.Message{KeyParts: []any{0}, Queue: "@young/q", ID: "x"})[0].Err)
	run(false)
	s.hasMetrics(`"Settled":2`, `"LateAnnounced":1`)
	check.That(t, s.said["message.late"] == 1, "said %v", s.said)
	drop := cursor.LateDrop
	check.Get(sorter.Configure(t.Context(), "@young/q", cursor.Change{Late: &drop}))
	m := cursor.Message{KeyParts: []any{4}, Prev: "none", Queue: "@young/q", ID: "x"}
	check.OK(t, sorter.Put(t.Context(), m)[0].Err)
	now = now.Add(5 * time.Second)
	run(false)
	s.hasMetrics(`"Settled":1`, `"Unlinked":1`)
	m.KeyParts, died = []any{3}, true
	check.That(t, sorter.Put(t.Context(), m)[0].Err != nil, "the writer lives")
	died = false
	run(false)
	s.hasMetrics(`"Settled":1`, `"Late":1`, `"Dropped":1`)
	run(false)
	check.That(t, !strings.Contains(s.out.String(), "SettleAge") &&
		!strings.Contains(s.out.String(), "Waiting"), "where nothing waits: %s", &s.out)
}

// TestWakeUpsOfOneQueueAreOne: a batch of them settles it once, up to the greatest bound; and where
// that fails, all of them come again.
func TestWakeUpsOfOneQueueAreOne(t *testing.T) {
	queries, broken := 0, true
	store := storeBehind(t, func(_ context.Context, r *ddb.Request) error {
		if _, ok := (*r).(ddb.Query); ok {
			if queries++; broken {
				return errors.New("no luck")
			}
		}
		return nil
	})
	now := time.Now().Add(-time.Hour)
	sorter := keyedQueues(t, store, &now, "q")
	now = time.Now()
	s := sweeperOf(t, sorter)
	wakeUps := batch(t, settleOf(t, "q", 1), gapOfQ("other"), settleOf(t, "q", 2), settleOf(t, "q", 1))
	answers(t.Context(), t, s, wakeUps, "m0", "m2", "m3")
	broken, queries = false, 0
	answers(t.Context(), t, s, wakeUps)
	at := position(t, sorter, "q")
	check.That(t, at == 2 && queries == 1, "at %d, by %d queries; want 2 by one", at, queries)
}
