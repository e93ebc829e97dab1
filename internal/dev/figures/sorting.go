package figures

import (
	"bytes"
	"compress/flate"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
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

type sorting struct {
	*metered
	store *cursor.Store
}

func newSorting(others ...table.Definition) sorting {
	m := newMetered(append(append(cursor.Names{}.Tables(), cursor.Names{}.ArrivalsTable()),
		others...)...)
	return sorting{m, check.Get(cursor.NewStore(m, cursor.Names{}))}
}

// process is a process that has seen no queue yet.
func (s sorting) process(mode cursor.Mode) *cursor.Sorter {
	settings := cursor.DefaultSettings()
	settings.Mode = mode
	return check.Get(cursor.New(s.store,
		&cursor.Options{Defaults: &settings, ForEach: fanout.OneByOne, Now: clock}))
}

func put(s *cursor.Sorter, messages ...cursor.Message) {
	for _, r := range s.Put(context.Background(), messages...) {
		check.Must(r.Err)
	}
}

// singles puts messages one by one, by so many processes in turn.
func singles(seqs []int64, writers int) Units {
	s := newSorting()
	processes := make([]*cursor.Sorter, writers)
	for i := range processes {
		processes[i] = s.process(cursor.ModeSync)
	}
	return s.of(len(seqs), func() {
		for i, seq := range seqs {
			put(processes[i%writers], hundred(seq))
		}
	})
}

// olderPuts are what messages take by aws-stream-sort's algorithm, but for the first so many of
// them.
func olderPuts(seqs []int64, skip int) Units {
	s := newSorting()
	older := func(seqs []int64) {
		for _, seq := range seqs {
			olderPut(s.store, hundred(seq))
		}
	}
	older(seqs[:skip])
	return s.of(len(seqs)-skip, func() { older(seqs[skip:]) })
}

func orders() Table {
	t := Table{
		Title: "Messages put one by one",
		About: "100 messages of 100 bytes by one writer; each is stored, and the position is past it, when its put is answered. " +
			"The limit is a write a message, and one each time the position can move. " +
			"What waits behind a filled gap is a strong read.",
		Case:   "order of arrival",
		Others: []string{"aws-stream-sort", fifoHead},
	}
	const why = "a put beyond a gap reads the position once, strongly, since the gap may be filled meanwhile"
	for _, order := range arrivals() {
		older := olderPuts(order.seqs, 0)
		t.Rows = append(t.Rows, counted(order.name, order.least(), singles(order.seqs, 1), &older,
			cost.FIFO(1), why))
	}
	return t
}

func writers() Table {
	t := Table{
		Title:  "Writers of one queue",
		About:  "100 messages in order, put in turn by processes that do not know what the others did.",
		Case:   "writers",
		Others: []string{"", fifoHead},
	}
	const why = "an overtaken process learns of it by a refused move, or by a read"
	inOrder := arrivals()[0]
	for _, n := range []int{1, 2, 8, 32} {
		t.Rows = append(t.Rows, counted(fmt.Sprint(n), inOrder.least(), singles(inOrder.seqs, n), nil,
			cost.FIFO(1), why))
	}
	return t
}

func batches() Table {
	t := Table{
		Title: "Batches in order",
		About: "Messages of 100 bytes of JSON, in batches of one queue. The limit is a write a message and one move for all. A batch " +
			"that is one item takes a write for each KB, deflated, and one commit. SQS FIFO takes ten in a request.",
		Case:   "batch",
		Others: []string{"aws-stream-sort", fifoHead},
	}
	for _, kind := range []cursor.Kind{cursor.KindNumbered, cursor.KindArrival} {
		for _, size := range []int{1, 25, 100} {
			name, limit := fmt.Sprint(size), Units{Writes: 1 + 1/float64(size)}
			if kind == cursor.KindArrival {
				name += ", one item"
				limit.Writes = float64((deflated(jsonMessages(2, size, kind))+1023)/1024+1) / float64(size)
			}
			older := olderPuts(arrivals()[0].seqs[:min(size+1, messages)], 1)
			t.Rows = append(t.Rows, counted(name, limit, inBatches(size, kind), &older, cost.FIFO(size), ""))
		}
	}
	return t
}

// inBatches is what a message takes in batches of a size, in a queue that is there: of those that
// are one item as many as an item of the order has.
func inBatches(size int, kind cursor.Kind) Units {
	s := newSorting()
	p, next, times := s.process(cursor.ModeSync), int64(1), 1
	if kind == cursor.KindArrival {
		times = queuelog.OrderItemEntries
	}
	more := func(n int) {
		put(p, jsonMessages(next, n, kind)...)
		next += int64(n)
	}
	more(1)
	return s.of(size*times, func() {
		for range times {
			more(size)
		}
	})
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

// jsonMessages are messages with bodies of 100 bytes as an application may send them.
func jsonMessages(first int64, n int, kind cursor.Kind) []cursor.Message {
	group := make([]cursor.Message, n)
	for i := range group {
		seq := first + int64(i)
		text := fmt.Sprintf(`{"event":"order.updated","order":%08d,"customer":"c-%04d","amount":%d.95,"currency":"EUR"}`,
			seq*7919%1e8, seq*104729%1e4, seq*31%1000)
		group[i] = cursor.Message{Queue: queue, Seq: seq,
			Body: fmt.Appendf(nil, "%-100s", text), Kind: kind}
	}
	return group
}

const olderPage = 5

// olderPut is aws-stream-sort's algorithm after its description, to compare costs with: store the
// message; read the cursor; if the message is the next, put the cursor, look ahead in pages of
// five, and put the cursor again, as long as there is more. It is right with one writer and no
// fault.
func olderPut(s *cursor.Store, m cursor.Message) {
	ctx, store := context.Background(), s.Requests(queuelog.Inside{})
	m.Digest, m.Op, m.EnqueuedAt = make([]byte, 16), make([]byte, 8), clock()
	m.ExpiresOn = m.EnqueuedAt.Add(14 * 24 * time.Hour)
	check.Get(store.PutMessage(ctx, m))
	cur := check.Get(store.Cursor(ctx, m.Queue, false))
	position := int64(0)
	if cur.Exists() {
		position = cur.Position
	}
	if m.Seq != position+1 {
		return
	}
	for end := m.Seq; ; {
		// One write, as its unconditional put is.
		if position == 0 {
			check.Get(store.CreateCursor(ctx, cursor.Cursor{Queue: m.Queue, Position: end, Announced: -1,
				Settings: cursor.DefaultSettings()}))
		} else {
			moved := cursor.Range{From: position, To: end}
			check.Get2(store.Move(ctx, m.Queue, moved, position, clock()))
		}
		position = end
		page := check.Get(store.Messages(ctx,
			queuelog.Query{Queue: m.Queue, First: end + 1, Last: cursor.MaxSeq, Limit: olderPage}))
		for _, ahead := range page.Messages {
			if ahead.Seq != end+1 {
				break
			}
			end = ahead.Seq
		}
		if end == position {
			return
		}
	}
}

// arrival is an order in which the messages 1 to 100 of a queue arrive.
type arrival struct {
	name string
	seqs []int64
}

// arrivals are the orders of arrival that algorithms are compared in: as they were made, up to 8
// and up to 32 places later than that, the last one first, and any.
func arrivals() []arrival {
	inOrder := make([]int64, messages)
	for i := range inOrder {
		inOrder[i] = int64(i) + 1
	}
	reverse, shuffled := make([]int64, messages), make([]int64, messages)
	for i, at := range rand.New(rand.NewPCG(1, 0)).Perm(messages) {
		reverse[i], shuffled[i] = int64(messages-i), int64(at)+1
	}
	return []arrival{
		{"in order", inOrder},
		{"window 8", delayed(inOrder, 8)},
		{"window 32", delayed(inOrder, 32)},
		{"reverse", reverse},
		{"random", shuffled},
	}
}

const messages = 100

// delayed has each message come up to width places later.
func delayed(inOrder []int64, width int) []int64 {
	random := rand.New(rand.NewPCG(1, uint64(width)))
	at := make([][]int64, len(inOrder)+width+1)
	for _, seq := range inOrder {
		place := int(seq) + random.IntN(width+1)
		at[place] = append(at[place], seq)
	}
	var seqs []int64
	for _, some := range at {
		seqs = append(seqs, some...)
	}
	return seqs
}

// least is what any algorithm takes that stores each message as an item, moves the position as soon
// as it can, and keeps nothing in mind: a write a message, a write a move, and a strong read of
// what waits behind a gap that is filled, of 4 KB at most each.
func (o arrival) least() Units {
	waits := map[int64]bool{}
	position, moves, read := int64(0), 0.0, 0.0
	for _, seq := range o.seqs {
		waits[seq] = true
		if seq != position+1 {
			continue
		}
		over := 0
		for position++; waits[position+1]; position++ {
			over++
		}
		if moves++; over > 0 {
			read += float64((over*itemBytes + readBytes - 1) / readBytes)
		}
	}
	n := float64(len(o.seqs))
	return Units{1 + moves/n, read / n}
}

// itemBytes is what a message of 100 bytes takes as an item, readBytes what a read unit reads.
const itemBytes, readBytes = 208, 4096
