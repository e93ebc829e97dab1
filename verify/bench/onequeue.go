package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/dev/cost"
	"github.com/streamsort/streamsort/internal/dev/figures"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// A way to fill one queue and bare puts are measured in turn, a second each, so that what else the
// machine does slows both.
const rounds, each = 5, time.Second

// way is how messages come to one queue, all in order but for what writers race for.
type way struct {
	name string
	// writers are those at a time, size is how many messages each puts at once.
	writers, size int
	appended      bool
	// why is why it is slower than its limit.
	why string
}

const whyAlone = "one writer stores, and then moves the position; the puts come from all writers"

var ways = []way{
	{name: "singles", writers: writers, size: 1, why: "each message is stored before the position moves over it; of concurrent moves all but one are refused, and read"},
	{name: "batches of 25", writers: 1, size: 25, why: whyAlone},
	{name: "batches of 100, appended", writers: 1, size: 100, appended: true, why: whyAlone},
}

// requests is how many requests that write a message takes at least: of singles, those that are put at the same time
// can have one move for all.
func (w way) requests() float64 {
	n := float64(w.size)
	if w.appended {
		return 2 / n
	}
	return 1 + 1/n/float64(w.writers)
}

// fifo is how many messages a second a message group of SQS FIFO takes: 300 calls, of ten messages at most.
func (w way) fifo() int { return 300 * min(w.size, 10) }

// putter is what a writer does in a turn: it says how many messages it has put.
type putter func(ctx context.Context, writer, turn int) (int, error)

// oneQueue measures how many messages a second one queue takes, beside bare conditional puts to one
// partition of the same server, and what its units allow on AWS.
func oneQueue(ctx context.Context) (figures.Measured, error) {
	m := figures.Measured{
		Title: "Messages a second of one queue",
		About: fmt.Sprintf("By the library, in turn with %d writers' bare conditional puts to one partition of DynamoDB Local, %d times %v each. "+
			"The limit is what those puts would store: a request a message and a move for all, or two requests for a hundred in one item.", writers, rounds, each),
		Case: "what", Others: []string{"bare conditional puts", "on AWS, by a partition's units", "SQS FIFO on AWS, a message group"},
	}
	for _, w := range ways {
		messages, bare, err := w.measure(ctx)
		if err != nil {
			return m, fmt.Errorf("%s: %w", w.name, err)
		}
		r := perSecond(fmt.Sprintf("%s, %d at a time", w.name, w.writers), messages, bare, w.requests())
		r.Others = append(r.Others, fmt.Sprintf("%.0f a second", w.byUnits()), fmt.Sprintf("%d a second", w.fifo()))
		r.Why = w.why
		m.Rows = append(m.Rows, r)
	}
	return m, nil
}

// byUnits is how many messages a second one queue takes on AWS.
func (w way) byUnits() float64 {
	if w.appended {
		return cost.Workload{Batch: w.size, Disorder: cost.InOrder}.AppendRate()
	}
	return cost.QueueRate
}

// measure is how many messages a second one queue takes, and how many bare puts one partition, on a fresh
// server.
func (w way) measure(ctx context.Context) (messages, bare float64, err error) {
	server, err := localdb.Start(ctx, localdb.DynamoDBLocal, "")
	if err != nil {
		return 0, 0, err
	}
	defer server.Close()
	put, err := w.putter(ctx, server.Endpoint)
	if err != nil {
		return 0, 0, err
	}
	return inTurn(ctx, server.Endpoint, w.writers, put)
}

// counting has each turn of each writer do what has a number of its own, from 0 on.
func counting(writers int, do func(ctx context.Context, n int) (int, error)) putter {
	turns := make([]int, writers)
	return func(ctx context.Context, writer, _ int) (int, error) {
		n := writer + turns[writer]*writers
		turns[writer]++
		return do(ctx, n)
	}
}

// putter puts to one queue, on fresh tables.
func (w way) putter(ctx context.Context, endpoint string) (putter, error) {
	store, err := freshStore(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	sorter, err := cursor.New(store, nil)
	if err != nil {
		return nil, err
	}
	return counting(w.writers, func(ctx context.Context, n int) (int, error) {
		return w.put(ctx, sorter, int64(n*w.size)+1)
	}), nil
}

// put puts what one writer puts at once.
func (w way) put(ctx context.Context, sorter *cursor.Sorter, first int64) (int, error) {
	messages := make([]cursor.Message, w.size)
	for i := range messages {
		seq := first + int64(i)
		text := fmt.Sprintf(`{"n":%d,"text":"as any other, `, seq)
		messages[i] = cursor.Message{Queue: "one", Seq: seq, Body: []byte(text + strings.Repeat("-", 98-len(text)) + `"}`)}
		if w.appended {
			messages[i].Kind = cursor.KindArrival
		}
	}
	if w.size == 1 {
		err := sorter.Put(ctx, messages[0])[0].Err
		return 1, err
	}
	err := sorter.Put(ctx, messages...)[0].Err
	return w.size, err
}

// bareMessage is what a bare put stores.
func bareMessage(seq int) cursor.Message {
	return cursor.Message{
		Queue: "one", Seq: int64(seq), Body: fmt.Appendf(nil, "%-100d", seq), Digest: make([]byte, 16), Op: make([]byte, 8), EnqueuedAt: time.Now(),
	}
}
