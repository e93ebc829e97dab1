package sqlmarker_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/pull"
	"github.com/streamsort/streamsort/pkg/delivery/pull/sqlmarker"
)

// fleet is a database with markers, and queues in memory, in a bubble's time.
type fleet struct {
	*testing.T
	*sqlmarker.Markers
	db     *sql.DB
	sorter *cursor.Sorter
	d      *delivery.Deliverer
	claims *counted
	logs   *lockedBuffer
}

// lockedBuffer is a log.
type lockedBuffer struct {
	sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	return b.Buffer.Write(p)
}

// counted counts requests.
type counted struct {
	delivery.Claims
	lists, claims atomic.Int64
}

func (c *counted) Queues(ctx context.Context,
	prefix, after string) ([]delivery.Queue, string, error) {
	c.lists.Add(1)
	return c.Claims.Queues(ctx, prefix, after)
}

func (c *counted) Claim(ctx context.Context, r delivery.Request) (delivery.Answer, error) {
	c.claims.Add(1)
	return c.Claims.Claim(ctx, r)
}

// inFleet runs a test in a bubble, on SQLite.
func inFleet(t *testing.T, test func(f *fleet)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		db := servers[0].open(t)
		check.OK(t, sqlmarker.Install(t.Context(), db, servers[0].dialect))
		m := check.Get(sqlmarker.Open(t.Context(), db, servers[0].dialect, "stack 1"))
		check.Get(db.ExecContext(t.Context(),
			"CREATE TABLE books (queue TEXT NOT NULL, seq INTEGER NOT NULL)"))
		f := &fleet{T: t, Markers: m, db: db, logs: &lockedBuffer{}}
		f.sorter = check.Get(cursor.New(cursor.NewMemory(), nil))
		f.d = check.Get(delivery.New(delivery.NewMemory(), f.sorter, nil))
		p := check.Get(delivery.NewClaims(f.d, &delivery.ClaimsOptions{MaxAttempts: 2}))
		f.claims = &counted{Claims: p}
		test(f)
	})
}

// put puts messages to a queue.
func (f *fleet) put(queue string, first, last int64) {
	f.Helper()
	for seq := first; seq <= last; seq++ {
		check.OK(f,
			f.sorter.Put(f.Context(), cursor.Message{Queue: queue, Seq: seq, Body: []byte("1")})[0].Err)
	}
}

// options end where nothing waits, and log into the fleet's.
func (f *fleet) options() *pull.ConsumeOptions {
	return &pull.ConsumeOptions{
		MaxMessages: 1, Lease: 30 * time.Second, UntilEmpty: true,
		Logger: slog.New(slog.NewTextHandler(f.logs, nil)),
	}
}

// enter writes a batch into the books.
func enter(ctx context.Context, tx *sql.Tx, b delivery.Batch) error {
	for _, m := range b.Messages {
		if _, err := tx.ExecContext(ctx, "INSERT INTO books (queue, seq) VALUES (?, ?)", b.Queue,
			m.Seq); err != nil {
			return err
		}
	}
	return nil
}

// books are the entries, in the order in which they were made.
func (f *fleet) books() (entries []string) {
	f.Helper()
	rows := check.Get(f.db.QueryContext(f.Context(), "SELECT queue, seq FROM books ORDER BY rowid"))
	defer rows.Close()
	for rows.Next() {
		var queue string
		var seq int64
		check.OK(f, rows.Scan(&queue, &seq))
		entries = append(entries, fmt.Sprintf("%s %d", queue, seq))
	}
	check.OK(f, rows.Err())
	return entries
}

// has checks the books, in any order of the queues.
func (f *fleet) has(want ...string) {
	f.Helper()
	got := f.books()
	slices.Sort(got)
	slices.Sort(want)
	check.That(f, slices.Equal(got, want), "booked %q, want %q", got, want)
}

// logged checks that a part of a line was logged.
func (f *fleet) logged(parts ...string) {
	f.Helper()
	f.logs.Lock()
	defer f.logs.Unlock()
	for line := range strings.Lines(f.logs.String()) {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			return
		}
	}
	f.Errorf("no line with %q in\n%s", parts, f.logs.String())
}

// start starts a copy that runs until the returned function ends it, which returns its error.
func (f *fleet) start(workers int, effect sqlmarker.Effect,
	o *pull.ConsumeOptions) (stop func() error) {
	ctx, cancel := context.WithCancel(f.Context())
	o.UntilEmpty = false
	ended := make(chan error, 1)
	go func() { ended <- f.ConsumeAll(ctx, f.claims, "a/", "c", workers, effect, o) }()
	return func() error {
		cancel()
		return <-ended
	}
}

// TestConsumeAll: it consumes the queues with the prefix, and makes their consumers.
func TestConsumeAll(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.put("a/1", 1, 2)
		f.put("a/2", 1, 1)
		f.put("b", 1, 1)
		check.OK(f, f.ConsumeAll(f.Context(), f.claims, "a/", "c", 2, enter, f.options()))
		f.has("a/1 1", "a/1 2", "a/2 1")
		check.Is(f, len(check.Get(f.d.Status(f.Context(), "b"))), 0)
	})
}

// TestConsumeLogsWhatItWaitsFor once.
func TestConsumeLogsWhatItWaitsFor(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.put("a/1", 1, 1)
		check.OK(f, f.claims.Create(f.Context(), "a/1", "c"))
		check.Get(f.claims.Claim(f.Context(),
			delivery.Request{Queue: "a/1", Consumer: "c", ID: "other", Lease: 41 * time.Second}))
		check.OK(f, f.Consume(f.Context(), f.claims, "a/1", "c", enter, f.options()))
		f.logged("waits for the claim of another process", "queue=a/1", "outcome=BUSY", "ends_in=41s")
		check.Is(f, strings.Count(f.logs.String(), "\n"), 1, f.logs.String())
	})
}

// TestQueuesAreListedInPages, without those that were erased.
func TestQueuesAreListedInPages(t *testing.T) {
	inFleet(t, func(f *fleet) {
		want := map[string]int64{}
		for n := range 1100 {
			name := fmt.Sprintf("a/%04d", n)
			f.put(name, 1, 1)
			want[name] = 1
		}
		f.put("b", 1, 1)
		check.Get(f.sorter.Erase(f.Context(), "a/0007", "op"))
		delete(want, "a/0007")
		got, pages := map[string]int64{}, 0
		for after := ""; pages == 0 || after != ""; pages++ {
			page, next := check.Get2(f.claims.Queues(f.Context(), "a/", after))
			for _, q := range page {
				got[q.Name] = q.Position
			}
			after = next
		}
		check.That(f, maps.Equal(got, want) && pages == 2, "%d queues in %d pages", len(got), pages)
	})
}

// TestConsumeAllFindsNewQueues and new messages, while it runs.
func TestConsumeAllFindsNewQueues(t *testing.T) {
	inFleet(t, func(f *fleet) {
		stop := f.start(1, enter, f.options())
		f.put("a/1", 1, 1)
		bubble.Sleep(2 * time.Second)
		f.put("a/1", 2, 2)
		f.put("a/2", 1, 1)
		bubble.Sleep(2 * time.Second)
		f.has("a/1 1", "a/1 2", "a/2 1")
		check.Fails(f, stop(), context.Canceled)
	})
}

// TestConsumeAllIsQuiet: a queue is claimed where its position moved, and every 5 minutes.
func TestConsumeAllIsQuiet(t *testing.T) {
	inFleet(t, func(f *fleet) {
		for n := range 10 {
			f.put(fmt.Sprint("a/", n), 1, 1)
		}
		stop := f.start(2, enter, f.options())
		bubble.Sleep(time.Minute)
		// The claim without a consumer, the first one, and the one of nothing.
		lists, claims := f.claims.lists.Load(), f.claims.claims.Load()
		check.That(f, lists <= 61 && claims <= 30, "%d lists and %d claims of 10 queues", lists, claims)
		check.Get(f.d.Operate(f.Context(), delivery.Order{Kind: "rewind", Queue: "a/1", Consumer: "c",
			Reason: "again", Start: delivery.At(1)}))
		bubble.Sleep(5 * time.Minute)
		_ = stop()
		check.Is(f, len(f.books()), 11)
	})
}

// TestAQueueThatFailsHoldsUpNoOther, with one worker: it is logged, and blocked in the end.
func TestAQueueThatFailsHoldsUpNoOther(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.put("a/bad", 1, 1)
		f.put("a/good", 1, 20)
		stop := f.start(1, func(ctx context.Context, tx *sql.Tx, b delivery.Batch) error {
			if b.Queue == "a/bad" {
				return errors.New("no such account")
			}
			return enter(ctx, tx, b)
		}, f.options())
		bubble.Sleep(500 * time.Millisecond)
		check.Is(f, len(f.books()), 20)
		bubble.Sleep(2 * time.Hour)
		f.logged("level=WARN", "queue=a/bad", "no such account")
		f.logged("level=WARN", "queue=a/bad", "outcome=BLOCKED")
		_ = stop()
	})
}

// TestAnEffectThatEndsItsTransactionEndsOneQueue, and does not run again.
func TestAnEffectThatEndsItsTransactionEndsOneQueue(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.put("a/bad", 1, 1)
		f.put("a/good", 1, 2)
		var bad atomic.Int64
		stop := f.start(1, func(ctx context.Context, tx *sql.Tx, b delivery.Batch) error {
			if b.Queue == "a/bad" {
				bad.Add(1)
				return tx.Commit()
			}
			return enter(ctx, tx, b)
		}, f.options())
		bubble.Sleep(time.Hour)
		f.has("a/good 1", "a/good 2")
		f.logged("level=ERROR", "queue=a/bad", "ended its transaction")
		check.Is(f, bad.Load(), 1)
		_ = stop()
	})
}

// TestConsumeAllReturnsWhatEndedAQueue, where it ends by itself.
func TestConsumeAllReturnsWhatEndedAQueue(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.put("a/bad", 1, 1)
		f.put("a/good", 1, 1)
		err := f.ConsumeAll(f.Context(), f.claims, "a/", "c", 1,
			func(ctx context.Context, tx *sql.Tx, b delivery.Batch) error {
				if b.Queue == "a/bad" {
					return tx.Rollback()
				}
				return enter(ctx, tx, b)
			}, f.options())
		check.That(f, errors.Is(err, pull.ErrEnded) && strings.Contains(err.Error(), `"a/bad"`),
			"error %v", err)
		f.has("a/good 1")
	})
}

// TestItLogsTheClaimOfAKilledProcess, and takes it over at the end of its lease.
func TestItLogsTheClaimOfAKilledProcess(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.put("a/1", 1, 1)
		check.OK(f, f.claims.Create(f.Context(), "a/1", "c"))
		a := check.Get(f.claims.Claim(f.Context(),
			delivery.Request{Queue: "a/1", Consumer: "c", ID: f.Name() + "-1", Lease: 50 * time.Second}))
		check.Is(f, a.Outcome, delivery.OK)
		began := time.Now()
		check.OK(f, f.ConsumeAll(f.Context(), f.claims, "a/", "c", 1, enter, f.options()))
		f.has("a/1 1")
		took := time.Since(began)
		check.That(f, took >= 50*time.Second && took <= 53*time.Second, "it took %v", took)
		f.logged("claims of other processes", "queues=1", "last=a/1", "ends_in=49s")
		check.That(f, !strings.Contains(f.logs.String(), "outcome=BUSY"), "the claim is logged twice")
	})
}

// holding counts the queues of which a claim is held.
type holding struct {
	delivery.Claims
	sync.Mutex
	held map[string]bool
	most int
}

func (c *holding) note(queue string, holds bool) {
	c.Lock()
	defer c.Unlock()
	delete(c.held, queue)
	if holds {
		c.held[queue] = true
	}
	c.most = max(c.most, len(c.held))
}

func (c *holding) Claim(ctx context.Context, r delivery.Request) (delivery.Answer, error) {
	a, err := c.Claims.Claim(ctx, r)
	c.note(r.Queue, a.Outcome == delivery.OK)
	return a, err
}

func (c *holding) CommitAndClaim(ctx context.Context, h delivery.Held, r delivery.Request,
	replies ...delivery.Reply) (done, next delivery.Answer, err error) {
	done, next, err = c.Claims.CommitAndClaim(ctx, h, r, replies...)
	c.note(h.Queue, next.Outcome == delivery.OK)
	return done, next, err
}

// TestWorkersBoundTheConnections: no more effects at once, and no more connections.
func TestWorkersBoundTheConnections(t *testing.T) {
	inFleet(t, func(f *fleet) {
		for n := range 12 {
			f.put(fmt.Sprint("a/", n), 1, 3)
		}
		f.db.SetMaxOpenConns(3)
		// SQLite has one transaction at a time: the claims that are held show the workers.
		claims := &holding{Claims: f.claims, held: map[string]bool{}}
		check.OK(f, f.ConsumeAll(f.Context(), claims, "a/", "c", 3, enter, f.options()))
		n := len(f.books())
		check.That(f, n == 36 && claims.most <= 3, "%d entries, %d claims at once", n, claims.most)
	})
}

// TestALongQueueTakesTurns with those that wait for its worker.
func TestALongQueueTakesTurns(t *testing.T) {
	inFleet(t, func(f *fleet) {
		for n := range 3 {
			f.put(fmt.Sprint("a/", n), 1, 30)
		}
		check.OK(f, f.ConsumeAll(f.Context(), f.claims, "a/", "c", 1, enter, f.options()))
		first := map[string]bool{}
		for _, entry := range f.books()[:30] {
			first[entry[:3]] = true
		}
		check.That(f, len(first) == 3, "the first 30 entries are of %v, want all queues", first)
	})
}

// TestTheEndIsGraceful: the batch that runs is committed, and no other begins.
func TestTheEndIsGraceful(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.put("a/1", 1, 2)
		began := make(chan struct{})
		stop := f.start(1, func(ctx context.Context, tx *sql.Tx, b delivery.Batch) error {
			close(began)
			bubble.Sleep(3 * time.Second)
			return enter(ctx, tx, b)
		}, f.options())
		<-began
		check.Fails(f, stop(), context.Canceled)
		f.has("a/1 1")
		f.idle("a/1", 1)
	})
}

// TestAnEffectThatGoesOnIsCancelled after 10 seconds, and its claim is given back.
func TestAnEffectThatGoesOnIsCancelled(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.put("a/1", 1, 1)
		began := make(chan struct{})
		stop := f.start(1, func(ctx context.Context, _ *sql.Tx, _ delivery.Batch) error {
			close(began)
			<-ctx.Done()
			return ctx.Err()
		}, f.options())
		<-began
		at := time.Now()
		check.Fails(f, stop(), context.Canceled)
		check.Is(f, time.Since(at), 10*time.Second)
		f.has()
		f.idle("a/1", 0)
	})
}

// idle checks that a queue's consumer has no claim.
func (f *fleet) idle(queue string, delivered int64) {
	f.Helper()
	all := check.Get(f.d.Status(f.Context(), queue))
	check.That(f, len(all) == 1 && all[0].State == delivery.Idle && all[0].Delivered == delivered,
		"%+v; want it idle at %d", all, delivered)
}

func TestConsumeAllRefusesBadInput(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.put("a/1", 1, 1)
		for want, c := range map[string]struct {
			prefix, consumer string
			workers          int
			lease            time.Duration
			keep             int64
		}{
			"workers is 0: it must be from 1 to 1000": {"a/", "c", 0, 0, 0},
			"prefix must have at most 1024 bytes":     {strings.Repeat("x", 1025), "c", 1, 0, 0},
			"consumer":                                {"a/", "", 1, 0, 0},
			"lease is 1s: it must be from 30s":        {"a/", "c", 1, time.Second, 0},
			"keepMarkers must be 1 or more":           {"none/", "c", 1, 0, -1},
		} {
			o := f.options()
			o.Lease, o.KeepMarkers = c.lease, c.keep
			err := f.ConsumeAll(f.Context(), f.claims, c.prefix, c.consumer, c.workers, enter, o)
			var wrong *cursor.InvalidError
			check.That(f, errors.As(err, &wrong) && strings.Contains(err.Error(), want), "error %v", err)
		}
	})
}
