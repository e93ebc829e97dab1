package cursor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// TestLateOnesSideBySide: writers of late messages of one queue, each in a process of its own, and
// no settler who would place them together, lose some moves each, and not one to each of the
// others.
func TestLateOnesSideBySide(t *testing.T) {
	const writers, most = 32, 32 * 6 // N log N, and N of those that are won
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, withSettings(func(s *cursor.Settings) { s.Settle = 0 }))
		b.putKeyed(keyedOf("z", "1"))
		b.settle(sortkey.EverySortKey)
		var one sync.Mutex
		moves := 0
		next := b.engine
		b.engine = ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
			bubble.Sleep(5 * time.Millisecond)
			if r.Name() == "give places" {
				one.Lock()
				defer one.Unlock()
				moves++
			}
			return next.Do(ctx, r)
		})
		var all sync.WaitGroup
		for i := range writers {
			s := b.process(cursor.Options{})
			all.Go(func() {
				r := s.Put(t.Context(), keyedOf("a", fmt.Sprint(i)))[0]
				err := r.Err
				check.That(t, err == nil && r.Outcome == cursor.Advanced && r.Late, "%+v, %v", r, err)
			})
		}
		began := time.Now()
		all.Wait()
		t.Logf("%d moves in %v", moves, time.Since(began))
		check.That(t, moves <= most, "%d writes for %d places, want %d at most", moves, writers, most)
	})
}

// overtaken is an engine on which another places a late message before each move.
func (b *bench) overtaken() {
	next, within, n := b.engine, false, 0
	other := b.process(cursor.Options{})
	b.engine = ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if r.Name() == "give places" && !within {
			within = true
			n++
			check.OK(b.t, other.Put(ctx, keyedOf("b", fmt.Sprint(n)))[0].Err)
			within = false
		}
		return next.Do(ctx, r)
	})
}

// TestWhoLosesEachMove waits longer and longer, and gives up in the end: a writer tells its caller
// to repeat, a settler that there is more.
func TestWhoLosesEachMove(t *testing.T) {
	var pauses []string
	pause := func(_ context.Context, most time.Duration) error {
		pauses = append(pauses, most.String())
		return nil
	}
	want := strings.Fields("10ms 20ms 40ms 80ms 160ms 320ms 640ms 1.28s 2.56s 5.12s")
	b := newBench(t, withSettings(func(s *cursor.Settings) { s.Settle = 0 }))
	b.putKeyed(keyedOf("y", "1"))
	b.settle(sortkey.EverySortKey)
	b.overtaken()
	err := b.process(cursor.Options{Pause: pause}).Put(t.Context(), keyedOf("a", "1"))[0].Err
	check.That(t, errors.Is(err, cursor.ErrThrottled) && slices.Equal(pauses, want),
		"%v after pauses of at most %v", err, pauses)
	b.putKeyed(keyedOf("z", "1"))
	pauses = nil
	did, err := b.process(cursor.Options{Pause: pause}).Settle(t.Context(), "q", sortkey.EverySortKey)
	check.That(t, err == nil && did.More && did.Placed <= 0 && slices.Equal(pauses, want),
		"%+v, %v after pauses of at most %v", did, err, pauses)
	// Whose time is over gives up at once.
	enough := errors.New("enough")
	s := b.process(cursor.Options{Pause: func(context.Context, time.Duration) error { return enough }})
	check.Fails(t, s.Put(t.Context(), keyedOf("a", "1"))[0].Err, enough, "put")
	check.Fails(t, check.Err(s.Settle(t.Context(), "q", sortkey.EverySortKey)), enough, "settle")
}
