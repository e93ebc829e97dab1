package figures

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/cost"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/table"
)

var update = flag.Bool("update", false,
	"write the counted part of docs/reference/figures.md, and its pictures")

// TestThePageIsWhatIsCounted holds docs/reference/figures.md to a count: each count of requests.
func TestThePageIsWhatIsCounted(t *testing.T) {
	tables := Count()
	err := File("../../..").Counted(tables, *update)
	check.That(t, err == nil, "%v", err)
	for _, r := range tables[0].Rows {
		check.That(t, r.dollars[1] <= r.dollars[2], "%s %.3f %.3f", r.Name, r.dollars[1], r.dollars[2])
	}
}

// hold reports units that are not those of internal/dev/cost.
func hold(t *testing.T, what any, size int, got Units, want cost.Units) {
	t.Helper()
	if math.Abs(got.Writes-want.Writes) > 0.0051 || math.Abs(got.Reads-want.Reads) > 0.011 {
		t.Errorf("%v, batches of %d: {%.3g, %.3g}, internal/dev/cost has {%.3g, %.3g}",
			what, size, got.Writes, got.Reads, want.Writes, want.Reads)
	}
}

// TestUnits holds the figures of the cost page to what is counted.
func TestUnits(t *testing.T) {
	for i, a := range arrivals() {
		order := cost.Orders()[i]
		hold(t, a.name+", aws-stream-sort", 1, olderPuts(a.seqs, 0), cost.Older[order])
		for j, size := range cost.Batches {
			grouped := func(mode cursor.Mode, do func(p *cursor.Sorter, batch []cursor.Message)) Units {
				s := newSorting()
				p := s.process(mode)
				return s.of(messages, func() {
					for seqs := range slices.Chunk(a.seqs, size) {
						var batch []cursor.Message
						for _, seq := range seqs {
							batch = append(batch, hundred(seq))
						}
						do(p, batch)
					}
				})
			}
			hold(t, a.name+", sync", size,
				grouped(cursor.ModeSync, func(p *cursor.Sorter, batch []cursor.Message) {
					put(p, batch...)
				}), cost.Producer[order][j])
			hold(t, a.name+", async", size,
				grouped(cursor.ModeAsync, func(p *cursor.Sorter, batch []cursor.Message) {
					var event table.StreamEvent
					for i, m := range batch {
						put(p, m)
						event.Records = append(event.Records,
							fmt.Appendf(nil, `{"eventName":"INSERT","dynamodb":{"SequenceNumber":"%d",`+
								`"Keys":{"queue":{"S":%q},"seq":{"N":"%d"}}}}`, i+1, queue, m.Seq))
					}
					r := check.Get(cursor.OnMessages(p, cursor.Names{}, nil)(t.Context(), event))
					check.That(t, len(r.BatchItemFailures) == 0, "%+v", r)
				}), cost.Asynchronous[order][j])
		}
	}
	for j, size := range cost.Batches {
		hold(t, "settled together", size, settled(size), cost.Settling[j])
	}
	for _, size := range []int{2, 5, 8, 9, 10, 12, 13, 25, 50, 75, 100, 300} {
		items := inBatches(size, cursor.KindArrival)
		n := float64(size)
		hold(t, "one item", size, Units{items.Writes * n, items.Reads * n}, cost.Appended(n))
		got, want := bytesOf(size, cursor.KindArrival), cost.ItemBytes(n)
		check.That(t, math.Abs(got-want) <= 0.03*want, "%d %.0f %.0f", size, got, want)
	}
	if got := bytesOf(1, cursor.KindNumbered); math.Abs(got-cost.SingleBytes) > 0.02*cost.SingleBytes {
		t.Errorf("%.0f bytes, internal/dev/cost has %d", got, cost.SingleBytes)
	}
	for kind, bytes := range map[cursor.Kind]float64{cursor.KindNumbered: cost.SingleBytes,
		cursor.KindArrival: cost.ItemBytes(100) / 100} {
		for _, size := range []int{1, 10, 100} {
			n := float64(size)
			got := delivered(size, kind)
			reads := cost.Deliver.Reads + math.Ceil(n*bytes/readBytes)/2
			if kind == cursor.KindArrival {
				reads++ // no record of the stream says here that the queue is in arrival order
			}
			// A query looks one message ahead, and may begin a page for it.
			if got.Writes*n != cost.Deliver.Writes || got.Reads*n < reads-0.501 ||
				got.Reads*n > reads+0.001 {
				t.Errorf("a batch of %d, %v: %g write and %g read units, internal/dev/cost has %g and %g",
					size, kind, got.Writes*n, got.Reads*n, cost.Deliver.Writes, reads)
			}
		}
	}
}

// settled is what a message of a keyed queue takes to be settled, of which so many are together.
func settled(size int) (sum Units) {
	const n = 200
	s := newSorting()
	settings := cursor.DefaultSettings()
	settings.Settle = 0
	p := check.Get(cursor.New(s.store, &cursor.Options{Defaults: &settings, Now: func() time.Time {
		return clock().Add(time.Hour)
	}}))
	stage := func(first, size int) {
		for i := first; i < first+size; i++ {
			m := hundred(int64(i))
			m.KeyParts, m.KeyType, m.ID = []any{clock().Add(time.Duration(i) * 137 * time.Millisecond)},
				"time", fmt.Sprintf("evt_%016x", i)
			m.Seq = 0
			put(p, m)
		}
	}
	settle := func() { check.Get(p.Settle(context.Background(), queue, sortkey.EverySortKey)) }
	stage(0, 1)
	settle()
	for first := 1; first <= n; first += size {
		stage(first, size)
		units := s.of(n, settle)
		sum = Units{sum.Writes + units.Writes, sum.Reads + units.Reads}
	}
	return sum
}

// bytesOf is what the item counts for that a batch of so many becomes.
func bytesOf(size int, kind cursor.Kind) float64 {
	s := newSorting()
	batch, random := jsonMessages(1, size, kind), rand.New(rand.NewPCG(1, 1))
	for i := range batch { // which deflate less well than those of the page
		batch[i].Body = fmt.Appendf(nil, "%-100s", fmt.Sprintf(`{"event":"order.updated","order":%08d,"customer":"c-%04d","amount":%d.95,"currency":"EUR"}`,
			random.IntN(1e8), random.IntN(1e4), random.IntN(1000)))
	}
	put(s.process(cursor.ModeSync), batch...)
	name := map[cursor.Kind]string{cursor.KindNumbered: "streamsort-messages",
		cursor.KindArrival: "streamsort-arrivals"}[kind]
	return float64(s.memory.Items(name)[0].Size())
}
