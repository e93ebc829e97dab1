package big

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

const (
	// grown is by how much a message may cost more: a seq has a digit more here and there.
	grown = 1.02
	// loaded is how many messages a load has, also at a part of the full size: 24 appended items
	// fill a tail, so that each load flushes one.
	loaded = 2_400
)

// storedLoaded puts the same load on a queue in which 10,000 and 1,000,000 messages are stored that
// its consumer has: what a message costs must not grow with them. A load is ten singles at a time,
// shuffled, or appended items of 100.
func storedLoaded(w *world) {
	var errs []error
	for _, places := range [][]int64{{3, 0, 1, 7, 2, 4, 9, 5, 8, 6}, inOrder(100)} {
		var most [3]float64
		for _, full := range []int64{10_000, 1_000_000} {
			w.renew()
			stored := max(w.of(full), 100)
			w.stored(stored, len(places) == 100)
			got := w.load(stored, places)
			line := fmt.Sprintf("%d at a time behind %d: a message takes %.3f requests, %.3f write "+
				"and %.3f read units", len(places), stored, got[0], got[1], got[2])
			w.lines = append(w.lines, line)
			for i, cost := range got {
				if most[i] > 0 && cost > most[i] {
					errs = append(errs, fmt.Errorf("%s; want %.3f at most", line, most))
				}
				most[i] = cost * grown
			}
		}
	}
	check.Must(errors.Join(errs...))
}

func inOrder(n int64) []int64 {
	places := make([]int64, n)
	for i := range places {
		places[i] = int64(i)
	}
	return places
}

// stored makes the queue "big" of so many messages, all of which its consumer has: an item each, or
// appended, of a multiple of 100.
func (w *world) stored(count int64, appended bool) {
	ctx, settings, position := context.Background(), cursor.DefaultSettings(), count
	if appended {
		settings.Kind, position = cursor.KindArrival, 0
	}
	check.Get(w.store.Requests(queuelog.Inside{}).CreateCursor(ctx, cursor.Cursor{
		Queue: "big", Settings: settings, Position: position, MovedAt: w.now, Announced: -1,
	}))
	if !appended {
		w.fill("big", count, 100)
	} else {
		w.run(&spent{}, unbounded, func(_ ddb.Engine, s *cursor.Sorter) {
			for first := int64(1); first <= count; first += 100 {
				check.Must(s.Put(ctx, textOf(first, inOrder(100))...)[0].Err)
			}
		})
	}
	check.Get2(w.records().Requests(request.Inside{}).CreateConsumer(ctx, delivery.Consumer{
		Queue: "big", Name: "c", State: delivery.Idle, Delivered: count,
		Control: delivery.Control{LastOp: "made"},
	}))
}

// textOf are messages of the queue "big", each of 100 bytes of JSON.
func textOf(first int64, places []int64) []cursor.Message {
	messages := make([]cursor.Message, len(places))
	for i, place := range places {
		text := fmt.Sprintf(`{"n":%d,"text":"as any other, `, first+place)
		text += strings.Repeat("-", 98-len(text)) + `"}`
		messages[i] = cursor.Message{Queue: "big", Seq: first + place, Body: []byte(text)}
	}
	return messages
}

// unbounded is the budget of a process that lives as long as its load.
var unbounded = budget{math.MaxInt, math.Inf(1)}

// load puts messages behind a seq by one process, at these places one after the other, or 100
// together, and delivers them by another one. It returns what a message cost: requests, write and
// read units.
func (w *world) load(behind int64, places []int64) (cost [3]float64) {
	ctx, got, size := context.Background(), int64(0), int64(len(places))
	reader := delivery.Reader{
		Name: "c", MaxMessages: 1000,
		Handle: func(_ context.Context, b delivery.Batch) error {
			got += int64(len(b.Messages))
			return nil
		},
	}
	together := 1
	if size == 100 {
		together = 100
	}
	bursts := loaded / size
	var all spent
	w.run(&all, unbounded, func(_ ddb.Engine, producer *cursor.Sorter) {
		w.run(&all, unbounded, func(tables ddb.Engine, sorter *cursor.Sorter) {
			options := &delivery.Options{Now: w.clock, ForEach: fanout.OneByOne}
			d := check.Get(delivery.New(delivery.NewStore(tables, delivery.Names{}.Tables()),
				sorter, options))
			for n := range bursts {
				first := behind + 1 + n*size
				for some := range slices.Chunk(textOf(first, places), together) {
					check.Must(producer.Put(ctx, some...)[0].Err)
				}
				check.Must(d.Deliver(ctx, "big", reader, first+size-1).Err)
			}
		})
	})
	messages := bursts * size
	if got != messages {
		check.Must(fmt.Errorf("%d messages were delivered of %d", got, messages))
	}
	n := float64(messages)
	return [3]float64{float64(all.requests) / n, all.units.Writes / n, all.units.Reads / n}
}
