package trouble_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/trouble"
)

// pagesRows are the rows that a list begins with, pagesSeeds how many orders of events it is read in:
// fewer on the emulators, which are slower.
const pagesRows, pagesSeeds, emulatedSeeds = 300, 20, 2

// crowd are rows that come and go while they are listed.
type crowd struct {
	*bench
	random *rand.Rand
	prefix string
	// in says which queues are listed now, stayed which of them always were.
	in, stayed map[string]bool
	n          int64
}

func newCrowd(b *bench, seed uint64) *crowd {
	k := &crowd{
		bench: b, random: rand.New(rand.NewPCG(seed, 0)), prefix: fmt.Sprintf("seed %d/", seed),
		in: map[string]bool{}, stayed: map[string]bool{},
	}
	for i := range pagesRows {
		queue := k.name(2 * i)
		k.put(trouble.Lagging, queue)
		k.in[queue], k.stayed[queue] = true, true
	}
	return k
}

// name is that of a queue: those with an odd number come later, between the others.
func (k *crowd) name(i int) string { return fmt.Sprintf("%s%04d", k.prefix, i) }

func (k *crowd) row(state trouble.State, queue string) trouble.Row {
	k.n++
	return trouble.Row{State: state, Queue: queue, Consumer: "c", Since: since.Add(time.Duration(k.n) * time.Millisecond), N: k.n}
}

func (k *crowd) put(state trouble.State, queue string) {
	k.Helper()
	k.check(k.Put(k.Context(), k.row(state, queue)))
}

// happen has a queue come, go, change its state, or be written again where it stands.
func (k *crowd) happen() {
	k.Helper()
	queue := k.name(k.random.IntN(2 * pagesRows))
	switch {
	case !k.in[queue]:
		k.put(trouble.Lagging, queue)
		k.in[queue] = true
	case k.random.IntN(3) == 0:
		k.put(trouble.Lagging, queue) // it stays, and is newer
	default:
		if k.random.IntN(2) == 0 {
			k.put(trouble.Blocked, queue)
		}
		k.check(k.Delete(k.Context(), k.row(trouble.Lagging, queue)))
		delete(k.in, queue)
		delete(k.stayed, queue)
	}
}

// list reads all pages, of lengths that change, and counts how often each queue is shown.
func (k *crowd) list() map[string]int {
	k.Helper()
	shown := map[string]int{}
	for after := ""; ; {
		page, next, err := k.Page(k.Context(), trouble.Lagging, k.prefix, after, 1+k.random.IntN(20))
		k.check(err)
		for _, r := range page {
			shown[r.Queue]++
		}
		if after = next; next == "" {
			return shown
		}
		for range k.random.IntN(10) {
			k.happen()
		}
		if at := page[len(page)-1]; k.random.IntN(4) == 0 && k.in[at.Queue] {
			// The row that the next page begins behind goes.
			k.check(k.Delete(k.Context(), k.row(trouble.Lagging, at.Queue)))
			delete(k.in, at.Queue)
			delete(k.stayed, at.Queue)
		}
	}
}

// TestPagesWhileRowsChange: pages are read while rows come, go and change their state. A row that was there all the
// while is listed once, and none twice.
func TestPagesWhileRowsChange(t *testing.T) {
	each(t, func(b *bench) {
		seeds := uint64(emulatedSeeds)
		if b.kind == ddbtest.Memory {
			seeds = pagesSeeds
		}
		for seed := range seeds {
			k := newCrowd(b, seed)
			shown := k.list()
			if left := len(k.stayed); left == 0 || left == pagesRows {
				b.Fatalf("seed %d: %d of %d rows stayed: nothing is tested", seed, left, pagesRows)
			}
			for queue := range k.stayed {
				check.That(b, shown[queue] == 1,
					"seed %d: %q was there all the while, and listed %d times", seed, queue, shown[queue])
			}
			for queue, times := range shown {
				check.That(b, times <= 1, "seed %d: %q was listed %d times", seed, queue, times)
			}
		}
	})
}
