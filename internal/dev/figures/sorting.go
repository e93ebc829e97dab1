package figures

import (
	"bytes"
	"compress/flate"
	"context"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/dev/cost"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/table"
)

const queue = "octo-org/octo-repo"

// hundred is a message with a body of 100 bytes.
func hundred(seq int64) cursor.Message {
	return cursor.Message{Queue: queue, Seq: seq, Body: fmt.Appendf(nil, "%-100d", seq)}
}

// clock stands still: an item is charged by how many digits its times have.
func clock() time.Time { return time.Date(2026, 5, 6, 7, 8, 9, 123_000_000, time.UTC) }

// sorting are the tables of the queues.
type sorting struct {
	*metered
	store *cursor.Store
}

// newSorting makes them, and others beside them.
func newSorting(others ...table.Definition) (sorting, error) {
	m := newMetered(append(append(cursor.Names{}.Tables(), cursor.Names{}.ArrivalsTable()), others...)...)
	store, err := cursor.NewStore(m, cursor.Names{})
	return sorting{m, store}, err
}

// process is a process that has seen no queue yet.
func (s sorting) process(change func(*cursor.Settings)) (*cursor.Sorter, error) {
	settings := cursor.DefaultSettings()
	change(&settings)
	return cursor.New(s.store, &cursor.Options{Defaults: &settings, ForEach: fanout.OneByOne, Now: clock})
}

func asTheyAre(*cursor.Settings) {}

// singles puts messages one by one, by so many processes in turn.
func (s sorting) singles(ctx context.Context, seqs []int64, writers int) (Units, error) {
	processes := make([]*cursor.Sorter, writers)
	for i := range processes {
		var err error
		if processes[i], err = s.process(asTheyAre); err != nil {
			return Units{}, err
		}
	}
	return s.of(len(seqs), func() error {
		for i, seq := range seqs {
			if err := processes[i%writers].Put(ctx, hundred(seq))[0].Err; err != nil {
				return err
			}
		}
		return nil
	})
}

// older puts messages by aws-stream-sort's algorithm.
func (s sorting) older(ctx context.Context, seqs []int64) error {
	for _, seq := range seqs {
		if err := (Older{s.store}).Put(ctx, hundred(seq)); err != nil {
			return err
		}
	}
	return nil
}

// orders compares the orders of arrival.
func orders(ctx context.Context) (Table, error) {
	t := Table{
		Title: TitleOrders,
		About: "100 messages of 100 bytes by one writer; each is stored, and the position is past it, when its put is answered. " +
			"The limit is a write a message, a write each time the position can move, and a strong read of what waits behind a filled gap.",
		Case:  "order of arrival",
		Older: "aws-stream-sort",
	}
	for _, order := range Orders() {
		s, err := newSorting()
		if err != nil {
			return t, err
		}
		ours, err := s.singles(ctx, order.Seqs, 1)
		if err != nil {
			return t, err
		}
		if s, err = newSorting(); err != nil {
			return t, err
		}
		older, err := s.of(len(order.Seqs), func() error { return s.older(ctx, order.Seqs) })
		if err != nil {
			return t, err
		}
		r := Row{Name: order.Name, Limit: order.least(), Ours: ours, Older: &older, FIFO: cost.FIFO(1)}
		r.Why = "a put beyond a gap reads the position once, strongly, since the gap may be filled meanwhile"
		t.Rows = append(t.Rows, r)
	}
	return t, nil
}

// writers compares numbers of writers of one queue.
func writers(ctx context.Context) (Table, error) {
	t := Table{
		Title: "Writers of one queue",
		About: "100 messages in order, put in turn by processes that do not know what the others did.",
		Case:  "writers",
	}
	for _, n := range []int{1, 2, 8, 32} {
		s, err := newSorting()
		if err != nil {
			return t, err
		}
		inOrder := Orders()[0]
		ours, err := s.singles(ctx, inOrder.Seqs, n)
		if err != nil {
			return t, err
		}
		r := Row{Name: fmt.Sprint(n), Limit: inOrder.least(), Ours: ours, FIFO: cost.FIFO(1)}
		r.Why = "an overtaken process learns of it by a refused move, or by a read"
		t.Rows = append(t.Rows, r)
	}
	return t, nil
}

// batches compares sizes of batches.
func batches(ctx context.Context) (Table, error) {
	t := Table{
		Title: "Batches in order",
		About: "Messages of 100 bytes of JSON, in batches of one queue. The limit is a write a message and one move for all; of batches " +
			"that are one item, a write for each KB, deflated, and one commit. SQS FIFO takes ten in a request.",
		Case:  "batch",
		Older: "aws-stream-sort",
	}
	for _, kind := range []cursor.Kind{cursor.KindNumbered, cursor.KindArrival} {
		for _, size := range []int{1, 25, 100} {
			s, err := newSorting()
			if err != nil {
				return t, err
			}
			p, err := s.process(asTheyAre)
			if err != nil {
				return t, err
			}
			times := map[cursor.Kind]int{cursor.KindNumbered: 1, cursor.KindArrival: queuelog.OrderItemEntries}[kind]
			next := int64(0)
			put := func(size int) error {
				group := make([]cursor.Message, size)
				for i := range group {
					next++
					group[i] = order(next)
					group[i].Kind = kind
				}
				err := p.Put(ctx, group...)[0].Err
				return err
			}
			if err := put(1); err != nil {
				return t, err
			}
			ours, err := s.of(size*times, func() (err error) {
				for n := 0; n < times && err == nil; n++ {
					err = put(size)
				}
				return err
			})
			if err != nil {
				return t, err
			}
			group, seqs := make([]cursor.Message, size), make([]int64, size)
			for i := range group {
				group[i], seqs[i] = order(int64(i)+2), int64(i)+2
			}
			if s, err = newSorting(); err != nil {
				return t, err
			}
			if err := s.older(ctx, []int64{1}); err != nil {
				return t, err
			}
			older, err := s.of(size, func() error { return s.older(ctx, seqs) })
			if err != nil {
				return t, err
			}
			r := Row{Name: fmt.Sprint(size), Limit: Units{Writes: 1 + 1/float64(size)}, Ours: ours, Older: &older, FIFO: cost.FIFO(size)}
			if kind == cursor.KindArrival {
				r.Name += ", one item"
				r.Limit.Writes = float64((deflated(group)+1023)/1024+1) / float64(size)
			}
			t.Rows = append(t.Rows, r)
		}
	}
	return t, nil
}

// deflated is how many bytes the bodies of messages are, deflated together as well as it goes.
func deflated(group []cursor.Message) int {
	var out bytes.Buffer
	w, _ := flate.NewWriter(&out, flate.BestCompression) // a level that there is
	for _, m := range group {
		_, _ = w.Write(m.Body) // to memory
	}
	_ = w.Close()
	return out.Len()
}

// order is a message with a body of 100 bytes as an application may send it.
func order(seq int64) cursor.Message {
	text := fmt.Sprintf(`{"event":"order.updated","order":%08d,"customer":"c-%04d","amount":%d.95,"currency":"EUR"}`,
		seq*7919%1e8, seq*104729%1e4, seq*31%1000)
	return cursor.Message{Queue: queue, Seq: seq, Body: fmt.Appendf(nil, "%-100s", text)}
}
