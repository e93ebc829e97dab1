package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/internal/runtime/runtimetest"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/timer"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// gapOf makes a Sorter whose queue "q" has a gap that is a minute old and announced after a second.
func gapOf(t *testing.T) *cursor.Sorter {
	t.Helper()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	defaults := cursor.DefaultSettings()
	defaults.Policy, defaults.GapAfter = cursor.PolicySkip, time.Second
	s := check.Get(cursor.New(cursor.NewMemory(),
		&cursor.Options{Defaults: &defaults, Now: func() time.Time {
			return now
		}}))
	check.OK(t, s.Put(t.Context(), cursor.Message{Queue: "q", Seq: 3})[0].Err)
	now = now.Add(time.Minute)
	return s
}

// sweeperOf makes the handler on a sorter and on consumers in memory. What it announces is noted by
// its id.
func sweeperOf(t *testing.T, sorter *cursor.Sorter) *bench {
	t.Helper()
	deliverer := check.Get(delivery.New(delivery.NewMemory(), sorter, nil))
	acker := check.Get(xorack.New(xorack.NewMemory(), nil))
	b := &bench{t: t, said: map[string]int{}, after: func(context.Context, *emf.Metrics) {}}
	var saying sync.Mutex // wake-ups are done side by side
	say := func(what string) error {
		saying.Lock()
		defer saying.Unlock()
		b.said[what]++
		return nil
	}
	b.sweeper = &sweeper{
		sorter: sorter, deliverer: deliverer, acker: acker,
		chains: func(_ context.Context, c xorack.Chain) error { return say(string(c.End())) },
		consumers: delivery.SweepOptions{
			Sorter: cursor.SweepOptions{Announce: func(_ context.Context, a cursor.Announcement) error {
				return say(string(a.Kind))
			}},
			Announce: func(_ context.Context, a delivery.Announcement) error { return say(a.Kind) },
		},
	}
	return b
}

// bench is the function, its metrics, and how often it announced what.
type bench struct {
	t     *testing.T
	out   bytes.Buffer
	said  map[string]int
	after func(context.Context, *emf.Metrics)
	*sweeper
}

func (b *bench) run(ctx context.Context, event json.RawMessage) (report, error) {
	return runtime.Around(&b.out, headroom, b.sweeper.run, b.after)(ctx, event)
}

func (b *bench) handle(ctx context.Context, event json.RawMessage) (any, error) {
	return runtime.Around(&b.out, headroom, b.sweeper.handle, b.after)(ctx, event)
}

// sends has wake-ups sent to an SQS queue of an endpoint.
func (b *bench) sends(t *testing.T, endpoint string) {
	t.Helper()
	t.Setenv("AWS_ENDPOINT_URL_SQS", endpoint)
	b.timer = check.Get(timer.New("https://queue"))
	b.after = func(ctx context.Context, m *emf.Metrics) {
		_, failed := b.timer.Flush(ctx)
		m.Count("WakeUpsFailed", failed)
	}
}

// storeBehind is a store on tables in memory, before whose requests something is done.
func storeBehind(t *testing.T, before func(context.Context, *ddb.Request) error) *cursor.Store {
	t.Helper()
	tables := runtimetest.Tables()
	return check.Get(
		cursor.NewStore(ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
			if err := before(ctx, &r); err != nil {
				return ddb.Answer{}, err
			}
			return tables.Do(ctx, r)
		}), cursor.Names{}))
}

// position is how far a queue is.
func position(t *testing.T, sorter *cursor.Sorter, queue string) int64 {
	t.Helper()
	return check.Get(sorter.Status(t.Context(), queue)).Position
}

func (b *bench) hasMetrics(metrics ...string) {
	b.t.Helper()
	for _, metric := range metrics {
		check.That(b.t, strings.Contains(b.out.String(), metric),
			"no %s in the metrics: %s", metric, &b.out)
	}
	b.out.Reset()
}

func TestHandlerSweeps(t *testing.T) {
	s := sweeperOf(t, gapOf(t))
	done, err := s.run(t.Context(),
		[]byte(`{"source":"aws.events","detail-type":"Scheduled Event","detail":{}}`))
	check.That(t, err == nil && done.Consumers.Sorter.Skipped == 2 && s.said["gap.opened"] == 1 &&
		s.said["gap.skipped"] == 1,
		"%+v, %v, said %v", done, err, s.said)
	s.hasMetrics(`"OpenGaps":1`, `"GapAge":60`, `"Skipped":2`, `"GapsOpened":1`, `"GapsSkipped":1`)
	check.Get(s.run(t.Context(), nil))
	s.hasMetrics(`"OpenGaps":0`, `"ConsumersBlocked":0`, `"ConsumersLagging":0`, `"ConsumerLag":0`,
		`"ConsumersInDoubt":0`, `"ConsumersQuarantined":0`)
	// What failed is reported.
	deaf := errors.New("nobody there")
	s = sweeperOf(t, gapOf(t))
	s.consumers.Sorter.Announce = func(context.Context, cursor.Announcement) error { return deaf }
	done, err = s.run(t.Context(), nil)
	check.That(t, errors.Is(err, deaf) && done.Consumers.Sorter.Failed > 0, "%+v, %v", done, err)
}

// A consumer that is stuck is announced by every run.
func TestHandlerSweepsConsumers(t *testing.T) {
	sorter := check.Get(cursor.New(cursor.NewMemory(), nil))
	s := sweeperOf(t, sorter)
	check.OK(t, sorter.Put(t.Context(), cursor.Message{Queue: "q", Seq: 1, Body: []byte("1")})[0].Err)
	bad := delivery.Reader{Name: "c", Handle: func(context.Context, delivery.Batch) error {
		return delivery.Permanent(errors.New("no luck"))
	}}
	done := s.deliverer.Deliver(t.Context(), "q", bad, -1)
	check.Need(t, done.Outcome == delivery.Blocked, "%+v", done)
	for range 2 {
		check.Is(t, check.Get(s.run(t.Context(), nil)).Consumers.Blocked, 1)
		s.hasMetrics(`"ConsumersBlocked":1`, `"ConsumersLagging":1`, `"Notified":1`)
	}
	check.That(t, s.said["consumer.blocked"] == 2,
		"said %v, want that it is blocked in each of two runs", s.said)
	// A chain whose deadline has come is timed out.
	now := time.Now()
	s.acker = check.Get(xorack.New(xorack.NewMemory(), &xorack.Options{Now: func() time.Time {
		return now
	}}))
	check.Get(s.acker.Create(t.Context(), "tree", &xorack.CreateOptions{Deadline: time.Minute}))
	now = now.Add(2 * time.Minute)
	check.Is(t, check.Get(s.run(t.Context(), nil)).Chains.TimedOut, 1)
	check.Is(t, s.said["TIMED_OUT"], 1)
	s.hasMetrics(`"ChainsTimedOut":1`, `"SweptChains":1`)
}

// A claim in doubt is announced, and counted, and so is one in quarantine.
func TestHandlerSweepsDoubts(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	sorter := check.Get(cursor.New(cursor.NewMemory(), &cursor.Options{Now: clock}))
	s := sweeperOf(t, sorter)
	s.deliverer = check.Get(delivery.New(delivery.NewMemory(), sorter, &delivery.Options{Now: clock}))
	check.OK(t, sorter.Put(t.Context(), cursor.Message{Queue: "q", Seq: 1, Body: []byte("1")})[0].Err)
	check.Get(s.deliverer.Create(t.Context(), "q", "c", delivery.First))
	claims := check.Get(delivery.NewClaims(s.deliverer, nil))
	a := check.Get(claims.Claim(t.Context(), delivery.Request{Queue: "q", Consumer: "c", ID: "r"}))
	check.Get(claims.Prepare(t.Context(), a.Held()))
	s.tenants = true
	for _, kind := range []string{"consumer.in-doubt", "consumer.quarantined"} {
		now = now.Add(31 * time.Minute)
		if kind == "consumer.quarantined" {
			now = now.Add(31 * time.Minute)
		}
		check.Get(s.run(t.Context(), nil))
		check.That(t, s.said[kind] == 1, "said %v, want %s", s.said, kind)
	}
	of := byTenant(t, bytes.NewBufferString(s.out.String()))
	check.That(t, of["(none) ConsumersInDoubt"] == 1 && of["(none) ConsumersQuarantined"] == 1,
		"by tenant: %v", of)
	s.hasMetrics(`"ConsumersInDoubt":1`, `"ConsumersQuarantined":1`)
}

func TestHandlerStopsBeforeItsTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
		defer cancel()
		s := sweeperOf(t, gapOf(t))
		s.consumers.Sorter.Announce = func(ctx context.Context, _ cursor.Announcement) error {
			<-ctx.Done()
			return ctx.Err()
		}
		check.Fails(t, check.Err(s.run(ctx, nil)), context.DeadlineExceeded)
		check.OK(t, ctx.Err())
	})
}

func TestStart(t *testing.T) {
	runtimetest.Starts(t, newHandler, "MESSAGES", "CURSORS", "TROUBLE", "CONSUMERS", "AUDIT", "CHAINS")
}

// TestHandlerErases: what is stored of an erased queue goes, consumers too, and the metrics say so.
func TestHandlerErases(t *testing.T) {
	sorter := gapOf(t)
	s := sweeperOf(t, sorter)
	check.Get(s.deliverer.Create(t.Context(), "q", "c", delivery.First))
	check.Get(sorter.Erase(t.Context(), "q", "op"))
	check.Get(s.run(t.Context(), nil))
	s.hasMetrics(`"Erased":1`)
	there, all, err := s.deliverer.Inside(request.Inside{}).Erasable(t.Context(), "q")
	check.That(t, err == nil && there.Messages == 0 && len(all) == 0, "%+v, %v", there, err)
}

// What a whole round saw is written by the run in which it ends, and the age of a round by every
// run.
func TestMetricsAreOfTheWholeRound(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	defaults := cursor.DefaultSettings()
	defaults.Policy, defaults.GapAfter = cursor.PolicyAlert, time.Second
	store := cursor.NewMemory()
	sorter := check.Get(cursor.New(store, &cursor.Options{
		Defaults: &defaults, Now: func() time.Time { return now }, ForEach: fanout.OneByOne,
	}))
	const gaps = 40
	for i := range gaps {
		check.OK(t, sorter.Put(t.Context(), cursor.Message{Queue: fmt.Sprint("q", i), Seq: 3})[0].Err)
	}
	now = now.Add(time.Minute)
	schedule := []byte(`{"source":"aws.events","detail-type":"Scheduled Event","detail":{}}`)
	s := sweeperOf(t, sorter)
	s.consumers.Sorter.Every, s.consumers.Sorter.Segments = 4*time.Minute, 1
	ctx, cancel := context.WithCancel(t.Context())
	announce := s.consumers.Sorter.Announce
	var announced atomic.Int32
	s.consumers.Sorter.Announce = func(ctx context.Context, a cursor.Announcement) error {
		if announced.Add(1) > gaps/4 {
			cancel()
		}
		return announce(ctx, a)
	}
	done, err := s.run(ctx, schedule)
	check.That(t, err != nil && !done.Consumers.Sorter.Round.Ended, "without time: %+v, %v", done, err)
	check.That(t, !strings.Contains(s.out.String(), "OpenGaps"),
		"a run that saw a part tells of all gaps: %s", s.out.String())
	s.out.Reset()
	for _, daily := range []string{"full", "kept"} {
		begun := check.Get(store.Requests(queuelog.Inside{}).SweepProgress(t.Context(), daily))
		begun.Name, begun.Segments, begun.Left, begun.Began = daily, 1, oneSegment(begun.Left), now
		check.OK(t, store.Requests(queuelog.Inside{}).SaveSweepProgress(t.Context(), begun))
	}
	now = now.Add(3 * time.Minute)
	for _, c := range []struct {
		event []byte
		want  []string
	}{
		{schedule, []string{`"OpenGaps":40`, `"RoundAge":180`, `"FullRoundAge":180`, `"KeepingRoundAge":180`}},
		{schedule, []string{`"RoundAge":0`}},
		{nil, []string{`"OpenGaps":40`, `"RoundAge":0`}}, // somebody wants one now
	} {
		check.Get(s.run(t.Context(), c.event))
		check.That(t, strings.Contains(s.out.String(), "OpenGaps") == (len(c.want) > 1),
			"%s, want gaps only from the run in which the round ends", s.out.String())
		for _, metric := range []string{"FullRoundAge", "KeepingRoundAge"} {
			check.That(t, strings.Contains(s.out.String(), metric) == (len(c.want) == 4),
				"%s, want %s only of a round that is under way, or ends", s.out.String(), metric)
		}
		s.hasMetrics(c.want...)
	}
}

// oneSegment is the places of a round that begins, in one segment.
func oneSegment[Place any](map[int]Place) map[int]Place { return map[int]Place{0: *new(Place)} }
