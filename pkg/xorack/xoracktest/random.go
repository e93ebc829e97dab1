package xoracktest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/streamsort/streamsort/pkg/xorack"
)

// testRacingEnds lets many end one chain at once: one of them changes it.
func testRacingEnds(t *testing.T, s xorack.Store) {
	create(t, s, newChain("a"))
	const racers = 12
	var wait sync.WaitGroup
	changed := make([]bool, racers)
	errs := make([]error, racers)
	for i := range racers {
		wait.Go(func() {
			switch i % 3 {
			case 0:
				_, changed[i], errs[i] = s.Apply(t.Context(), work("a", -100, i))
			case 1:
				_, changed[i], errs[i] = s.Fail(t.Context(), failure("a", i))
			case 2:
				_, changed[i], errs[i] = s.TimeOut(t.Context(), overdue("a", at.Add(time.Hour)))
			}
		})
	}
	wait.Wait()
	winners := 0
	for i := range racers {
		check(t, errs[i])
		if changed[i] {
			winners++
		}
	}
	same(t, "ends", winners, 1)
}

// testAsInMemory gives a store and [xorack.Memory] the same random requests,
// and compares every answer.
func testAsInMemory(t *testing.T, s xorack.Store) {
	memory := &xorack.Memory{}
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1))
		tag := fmt.Sprint("tag ", seed)
		for step := range 10 {
			request, name := randomRequest(random, tag)
			want, wanted, err := request(t.Context(), memory)
			check(t, err)
			got, changed, err := request(t.Context(), s)
			check(t, err)
			what := fmt.Sprintf("seed %d, step %d, %s", seed, step, name)
			same(t, what+": changed", changed, wanted)
			same(t, what, got, want)
			if t.Failed() {
				return
			}
		}
	}
}

type request = func(context.Context, xorack.Store) (xorack.Chain, bool, error)

// randomRequest is a write with parameters that meet often.
func randomRequest(random *rand.Rand, tag string) (request, string) {
	own := inc
	if random.IntN(8) == 0 {
		own = stranger
	}
	n := random.IntN(4)
	now := at.Add(time.Duration(random.IntN(3)) * 30 * time.Minute)
	switch random.IntN(13) {
	case 0, 1:
		c := newChain(tag)
		c.Incarnation, c.Created = own, now
		return func(ctx context.Context, s xorack.Store) (xorack.Chain, bool, error) { return s.Create(ctx, c) }, "create"
	case 2:
		c := newStamped(tag, fmt.Sprintf("mark0%daa", n))
		c.Incarnation = own
		return func(ctx context.Context, s xorack.Store) (xorack.Chain, bool, error) { return s.Create(ctx, c) }, "create of stamps"
	case 3:
		c := newChain(tag)
		c.Incarnation, c.Created = stranger, at.Add(time.Duration(n)*24*time.Hour)
		return func(ctx context.Context, s xorack.Store) (xorack.Chain, bool, error) {
			seen, err := s.Chain(ctx, tag)
			if err != nil || !seen.Exists() {
				return xorack.Chain{}, false, err
			}
			return s.Replace(ctx, c, seen)
		}, "replace"
	case 4, 5:
		w := work(tag, []int64{-100, 100, 5, -5}[n], n, 4+random.IntN(4))
		w.Incarnation, w.Now = own, now
		return func(ctx context.Context, s xorack.Store) (xorack.Chain, bool, error) { return s.Apply(ctx, w) }, "apply"
	case 6:
		f := failure(tag, n)
		f.Incarnation, f.Now = own, now
		return func(ctx context.Context, s xorack.Store) (xorack.Chain, bool, error) { return s.Fail(ctx, f) }, "fail"
	case 7:
		return func(ctx context.Context, s xorack.Store) (xorack.Chain, bool, error) {
			return s.Extend(ctx, tag, own, now.Add(time.Hour))
		}, "extend"
	case 8:
		o := overdue(tag, now)
		o.Incarnation = own
		if n == 0 {
			o.Seen = at
		}
		return func(ctx context.Context, s xorack.Store) (xorack.Chain, bool, error) { return s.TimeOut(ctx, o) }, "time out"
	case 9:
		o := overdue(tag, now)
		o.Incarnation = own
		return func(ctx context.Context, s xorack.Store) (xorack.Chain, bool, error) { return s.Abandon(ctx, o) }, "abandon"
	case 10:
		return func(ctx context.Context, s xorack.Store) (xorack.Chain, bool, error) {
			if n == 0 {
				return s.Delete(ctx, tag, op(n), now)
			}
			return s.DeleteStamps(ctx, tag, op(n), now, now.Add(24*time.Hour))
		}, "delete"
	case 11:
		return func(ctx context.Context, s xorack.Store) (xorack.Chain, bool, error) {
			if n == 0 {
				return s.Settle(ctx, tag, own, 2, now)
			}
			return s.Seal(ctx, tag, own, now, now.Add(24*time.Hour))
		}, "settle or seal"
	}
	return func(ctx context.Context, s xorack.Store) (xorack.Chain, bool, error) {
		return s.AddStamp(ctx, stamp(tag, fmt.Sprintf("mark0%daa", n)))
	}, "stamp"
}

func testEndedContext(t *testing.T, s xorack.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Create(ctx, newChain("a")); !errors.Is(err, context.Canceled) {
		t.Errorf("create: %v", err)
	}
	if _, _, err := s.Apply(ctx, work("a", 1, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("apply: %v", err)
	}
	if _, err := s.Chain(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("chain: %v", err)
	}
	if _, err := s.Due(ctx, xorack.DueQuery{At: at, Limit: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("due: %v", err)
	}
	same(t, "chain", standing(t, s, "a"), xorack.Chain{})
}
