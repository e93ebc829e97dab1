package logsim

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim/simtest"
	"github.com/streamsort/streamsort/verify/sim/world"
)

func TestEverySmallSchedule(t *testing.T) { simtest.Small(t, Suite()) }

func TestRandomSchedules(t *testing.T) { simtest.Random(t, Suite(), 40_000) }

// arrived is a message of the reference: where it belongs, and when it came by its writer's clock.
type arrived struct {
	key sortkey.SortKey
	id  string
	at  time.Time
}

// reference is a keyed queue as its promise says, and nothing else: what waits is sorted, and a
// settle takes it from the start up to the last one that has waited for the window.
type reference struct {
	late      cursor.LatePolicy
	waiting   []arrived
	watermark sortkey.SortKey
	log       []string
}

func (r *reference) put(a arrived) {
	switch {
	case a.key > r.watermark:
		r.waiting = append(r.waiting, a)
	case r.late == cursor.LateDrop && a.key.Key() < r.watermark.Key():
		r.log = append(r.log, "dropped")
	default:
		r.log = append(r.log, a.id+" late")
	}
}

func (r *reference) settle(now time.Time) {
	slices.SortFunc(r.waiting, func(a, b arrived) int { return cmp.Compare(a.key, b.key) })
	due := 0
	for i, a := range r.waiting {
		if now.Sub(a.at) >= window {
			due = i + 1
		}
	}
	for _, a := range r.waiting[:due] {
		r.log, r.watermark = append(r.log, a.id), a.key
	}
	r.waiting = r.waiting[due:]
}

// TestAReferenceSortAgrees: on random streams, with clocks that are off by a little.
func TestAReferenceSortAgrees(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 2))
		late := []cursor.LatePolicy{cursor.LateDeliver, cursor.LateDrop}[seed%2]
		settings, now, store := with(window, late), world.Start, cursor.NewMemory()
		processes, clocks := make([]*cursor.Sorter, 4), make([]time.Duration, 4)
		for i := range processes {
			clocks[i] = time.Duration(random.IntN(2000)-1000) * time.Millisecond
			s, err := cursor.New(store, &cursor.Options{Defaults: &settings, Now: func() time.Time {
				return now.Add(clocks[i])
			}})
			check.OK(t, err)
			processes[i] = s
		}
		want := reference{late: late}
		for n := range 100 {
			now = now.Add(time.Duration(random.IntN(2000)) * time.Millisecond)
			who := random.IntN(len(processes))
			if random.IntN(4) == 0 && n > 0 {
				want.settle(now.Add(clocks[who]))
				check.Get(processes[who].Settle(t.Context(), queue, sortkey.EverySortKey))
				continue
			}
			// Keys rise with time, as times of senders do, and are out of order by up to 15 s.
			k := one(now.Sub(world.Start).Milliseconds()/1000-int64(random.IntN(15)),
				fmt.Sprint("id", n), "")
			want.put(arrived{k.sortKey(), k.messages[0].ID, now.Add(clocks[who])})
			check.OK(t, processes[who].Put(t.Context(), k.messages...)[0].Err)
		}
		got := logOf(t.Context(), t, processes[0])
		check.Need(t, slices.Equal(got, want.log), "stream %d:\n%v, want\n%v", seed, got, want.log)
	}
}

// logOf reads a queue as the reference writes it.
func logOf(ctx context.Context, t *testing.T, s *cursor.Sorter) []string {
	t.Helper()
	cur, err := s.Status(ctx, queue)
	check.OK(t, err)
	var log []string
	for m, err := range s.Read(ctx, queue, 0, cur.Position) {
		switch {
		case err != nil:
			t.Fatal(err)
		case m.Tombstone != "":
			log = append(log, "dropped")
		case m.Late:
			log = append(log, m.ID+" late")
		default:
			log = append(log, m.ID)
		}
	}
	return log
}
