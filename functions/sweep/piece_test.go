package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/timer"
)

// delays is the timer's queue, in a bubble's time.
type delays struct {
	waits []delayed
	// longest is how long a call took at most, calls how many there were.
	longest time.Duration
	calls   int
}

// delayed is a message that comes out at a time.
type delayed struct {
	at   time.Time
	body string
}

// RoundTrip takes a request of the timer.
func (d *delays) RoundTrip(r *http.Request) (*http.Response, error) {
	var in struct {
		Entries []struct {
			ID           string `json:"Id"`
			MessageBody  string
			DelaySeconds int
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, err
	}
	var taken []string
	for _, e := range in.Entries {
		d.waits = append(d.waits, delayed{time.Now().Add(time.Duration(e.DelaySeconds) * time.Second),
			e.MessageBody})
		taken = append(taken, fmt.Sprintf(`{"Id":%q}`, e.ID))
	}
	w := httptest.NewRecorder()
	_, _ = io.WriteString(w, `{"Successful":[`+strings.Join(taken, ",")+`]}`)
	return w.Result(), nil
}

// timed is a handler whose wake-ups go to a queue in a bubble.
func timed(t *testing.T, sorter *cursor.Sorter) (*bench, *delays) {
	t.Helper()
	d, was := &delays{}, http.DefaultTransport
	t.Cleanup(func() { http.DefaultTransport = was })
	http.DefaultTransport = d
	s := sweeperOf(t, sorter)
	s.sends(t, "http://127.0.0.1:1")
	return s, d
}

// play calls the function with each wake-up when it comes out, until none is left, or it is done.
func (d *delays) play(t *testing.T, s *bench, done func() bool) {
	t.Helper()
	for len(d.waits) > 0 && !done() {
		slices.SortStableFunc(d.waits, func(a, b delayed) int { return a.at.Compare(b.at) })
		next := d.waits[0]
		d.waits = d.waits[1:]
		bubble.Sleep(time.Until(next.at))
		d.call(t, s, next.body)
	}
}

// call calls the function with wake-ups.
func (d *delays) call(t *testing.T, s *bench, bodies ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	began := time.Now()
	answers(ctx, t, s, batch(t, bodies...))
	d.calls++
	d.longest = max(d.longest, time.Since(began))
}

// slow is tables of which each write of a kind takes a time.
func slow(t *testing.T, name string, takes time.Duration) *cursor.Store {
	t.Helper()
	return storeBehind(t, func(_ context.Context, r *ddb.Request) error {
		if (*r).Name() == name {
			bubble.Sleep(takes)
		}
		return nil
	})
}

// backlog has so many messages wait in a queue until they are due.
func backlog(t *testing.T, sorter *cursor.Sorter, queue string, messages int) {
	t.Helper()
	var group []cursor.Message
	for n := range messages {
		group = append(group,
			cursor.Message{KeyType: "number", KeyParts: []any{n}, Queue: queue, ID: "x"})
	}
	for part := range slices.Chunk(group, 512) {
		check.OK(t, sorter.Put(t.Context(), part...)[0].Err)
	}
	bubble.Sleep(time.Minute)
}

// TestALargeBacklogIsSettledByWakeUps: what takes longer than ten turns of five seconds goes on in
// pieces of four minutes, without the sweep.
func TestALargeBacklogIsSettledByWakeUps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const messages = 80 * 128
		store := slow(t, "give places", 4*time.Second) // more than five minutes
		sorter := check.Get(cursor.New(store, nil))
		backlog(t, sorter, "q", messages)
		s, d := timed(t, sorter)
		d.call(t, s, settleOf(t, "q", messages))
		d.play(t, s, func() bool { return position(t, sorter, "q") == messages })
		at := position(t, sorter, "q")
		check.That(t, at == messages && d.calls <= 4 && d.longest <= piece+20*time.Second,
			"at %d of %d after %d calls, the longest of %v", at, messages, d.calls, d.longest)
	})
}

// TestALargeBacklogOfTheSweep: what a run has no time for goes on by wake-ups, and does not wait
// for the next round.
func TestALargeBacklogOfTheSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := slow(t, "give places", 4*time.Second)
		sorter := check.Get(cursor.New(store, nil))
		const messages = 40 * 128
		backlog(t, sorter, "q", messages)
		s, d := timed(t, sorter)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		began := time.Now()
		check.Get(s.run(ctx, nil))
		took := time.Since(began)
		check.That(t, took <= calls, "a run took %v", took)
		d.play(t, s, func() bool { return false })
		at := position(t, sorter, "q")
		check.That(t, at == messages && d.calls <= 2, "at %d, by %d wake-ups", at, d.calls)
	})
}

// TestAPieceHoldsUpNobody: what another wake-up of the call has noted is sent at once; and where
// wake-ups come late, as no call is free, a piece is a turn.
func TestAPieceHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := slow(t, "give places", 2*time.Second)
		sorter := check.Get(cursor.New(store, nil))
		backlog(t, sorter, "q", 20*128)
		s, d := timed(t, sorter)
		young := keyedOfLater(t, "young", 1, time.Now().Add(10*time.Second))
		began := time.Now()
		d.call(t, s, settleOf(t, "q", 5000), young)
		check.That(t, len(d.waits) == 1 && d.waits[0].at.Sub(began) <= 20*time.Second,
			"the other comes out %v later: %+v", d.waits[0].at.Sub(began), d.waits)
		check.Is(t, position(t, sorter, "q"), 20*128)
		d.waits = nil
		late := settleOf(t, "late", 5000)
		backlog(t, sorter, "late", 20*128)
		began = time.Now()
		d.call(t, s, late)
		took := time.Since(began)
		check.That(t, took <= 2*turn && len(d.waits) == 1, "it took %v, %+v", took, d.waits)
	})
}

// keyedOfLater is a wake-up of a keyed queue that is due later.
func keyedOfLater(t *testing.T, queue string, upTo int, due time.Time) string {
	t.Helper()
	w := check.Get(timer.Parse(settleOf(t, queue, upTo)))
	w.Due = due
	return w.String()
}

// TestWhatIsDueLaterKeepsItsWakeUp: of the wake-ups of a queue that come together, those that are
// due are one; the others come again when they are due, each up to its bound, whatever comes first.
func TestWhatIsDueLaterKeepsItsWakeUp(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}} {
		synctest.Test(t, func(t *testing.T) {
			sorter := check.Get(cursor.New(cursor.NewMemory(), nil))
			hour := time.Hour
			kind, keyType := cursor.KindKeyed, sortkey.KeyType("number")
			check.Get(sorter.Configure(t.Context(), "q",
				cursor.Change{Kind: &kind, KeyType: &keyType, Settle: &hour}))
			var all []string
			for n := range 4 {
				check.OK(t,
					sorter.Put(t.Context(), cursor.Message{KeyParts: []any{n}, Queue: "q", ID: "x"})[0].Err)
				all = append(all, keyedOfLater(t, "q", n, time.Now().Add(hour)))
				bubble.Sleep(10 * time.Minute)
			}
			bubble.Sleep(31 * time.Minute) // 0 and 1 are due
			s, d := timed(t, sorter)
			began := time.Now()
			var together []string
			for _, n := range order {
				together = append(together, all[n])
			}
			d.call(t, s, together...)
			at := func(want int64) {
				t.Helper()
				check.Is(t, position(t, sorter, "q"), want, order, time.Since(began))
			}
			at(2)
			d.play(t, s, func() bool { return time.Since(began) > 9*time.Minute+5*time.Second })
			at(3)
			d.play(t, s, func() bool { return false })
			at(4)
			took := time.Since(began)
			check.That(t, took <= 20*time.Minute, "%v: it took %v", order, took)
		})
	}
}

// TestWhatASettleLeavesHasAWakeUp: one that placed one message, and left another that is not due,
// by the clock of who stored it.
func TestWhatASettleLeavesHasAWakeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := cursor.NewMemory()
		sorter := check.Get(cursor.New(store, nil))
		ahead := check.Get(cursor.New(store, &cursor.Options{Now: func() time.Time {
			return time.Now().Add(20 * time.Second)
		}}))
		for n, of := range []*cursor.Sorter{sorter, ahead} {
			check.OK(t,
				of.Put(t.Context(), cursor.Message{KeyType: "number", KeyParts: []any{n}, Queue: "q",
					ID: "x"})[0].Err)
		}
		s, d := timed(t, sorter)
		w := keyedOfLater(t, "q", 1, time.Now().Add(5*time.Second))
		bubble.Sleep(5 * time.Second)
		began := time.Now()
		d.call(t, s, w)
		d.play(t, s, func() bool { return false })
		at, took := position(t, sorter, "q"), time.Since(began)
		check.That(t, at == 2 && took <= 22*time.Second, "at %d, after %v", at, took)
	})
}
