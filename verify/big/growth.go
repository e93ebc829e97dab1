package big

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// shape is how a load comes in: in bursts of messages of one queue, each of which is delivered
// to one consumer when all of it is stored.
type shape struct {
	name string
	// places are by how much each message of a burst is behind the burst's first seq, as they come.
	places []int64
	// together says that a burst is one request, appended that it is one item, of a queue in arrival order.
	together, appended bool
}

// shapes are those that are measured.
var shapes = []shape{
	{name: "singles", places: inOrder(1)},
	{name: "10 singles, shuffled", places: []int64{3, 0, 1, 7, 2, 4, 9, 5, 8, 6}},
	{name: "a batch of 25", places: inOrder(25), together: true},
	{name: "100 appended", places: inOrder(100), together: true, appended: true},
}

func inOrder(n int64) []int64 {
	places := make([]int64, n)
	for i := range places {
		places[i] = int64(i)
	}
	return places
}

func (s shape) size() int64 { return int64(len(s.places)) }

// grown is by how much a message may cost more where there is more of everything: a seq has a
// digit more here and there, and a look begins a page.
const grown = 1.02

// manyLoaded puts the same load on 10, 1,000 and 100,000 queues: what a message costs must
// not grow with them, but for the look that a process takes at a queue which it has not delivered
// of before: a request, and half a read unit, for a burst.
func manyLoaded(w *world) error {
	ctx := context.Background()
	growth := &growth{world: w, what: "queues", messages: 100_000, look: perMessage{requests: 1, reads: 0.5}}
	for _, full := range []int64{10, 1_000, 100_000} {
		queues := max(w.of(full), 2)
		for _, s := range shapes {
			if err := w.renew(); err != nil {
				return err
			}
			name := func(n int64) string { return fmt.Sprintf("%s/%d/%07d", s.name, full, n) }
			if err := each(queues, func(n int64) error {
				if err := w.quiet(ctx, name(n), 1, s.appended); err != nil {
					return err
				}
				return w.reads(ctx, name(n), 1)
			}); err != nil {
				return err
			}
			// One burst after the other is to another queue, all around.
			if err := growth.measure(s, queues, func(n int64) burst { return burst{name(n % queues), 2 + n/queues*s.size()} }); err != nil {
				return err
			}
		}
	}
	return growth.tell()
}

// storedLoaded puts the same load on a queue in which 10,000 to 1,000,000 messages are stored
// that its consumer has: what a message costs must not grow with them.
func storedLoaded(w *world) error {
	ctx := context.Background()
	growth := &growth{world: w, what: "stored", messages: 2_000}
	for _, full := range []int64{10_000, 100_000, 1_000_000} {
		if err := w.renew(); err != nil {
			return err
		}
		ends := map[bool]int64{} // of the queue of singles, and of that of items of many
		for _, s := range shapes {
			queue := fmt.Sprintf("big/%d/%t", full, s.appended)
			if ends[s.appended] == 0 {
				ends[s.appended] = max(w.of(full), 100)
				if err := w.stored(ctx, queue, ends[s.appended], s.appended); err != nil {
					return err
				}
			}
			end := ends[s.appended]
			if err := growth.measure(s, end, func(n int64) burst { return burst{queue, end + 1 + n*s.size()} }); err != nil {
				return err
			}
			ends[s.appended] += growth.bursts(s) * s.size()
		}
	}
	return growth.tell()
}

// burst is where messages of a load go: their queue, and the first seq.
type burst struct {
	queue string
	first int64
}

// growth is what a message costs where there is ever more of something.
type growth struct {
	*world
	what string
	// messages are those of each load, at full size.
	messages int64
	// look is by how much a burst may cost more than with the least there is.
	look perMessage

	rows []row
}

// row is what a message of a shape costs where there is so much.
type row struct {
	shape
	size int64
	perMessage
}

// bursts is how many a load of a shape has.
func (g *growth) bursts(s shape) int64 { return max(g.of(g.messages)/s.size(), 10) }

// measure measures a load where there is so much.
func (g *growth) measure(s shape, size int64, at func(n int64) burst) error {
	got, err := g.load(s, g.bursts(s), at)
	g.rows = append(g.rows, row{s, size, got})
	return err
}

// tell has the rows be lines, by shape, and says where a message costs more than with the least there was.
func (g *growth) tell() error {
	var errs []error
	for _, s := range shapes {
		var least perMessage
		for _, r := range g.rows {
			if r.name != s.name {
				continue
			}
			g.lines = append(g.lines, fmt.Sprintf("%-20s %7d %s: %s", r.name, r.size, g.what, r))
			if least == (perMessage{}) {
				n := float64(s.size())
				if s.appended {
					n /= 2 // its reader has to look too: the kind of the queue says where the messages are
				}
				least = perMessage{r.requests*grown + g.look.requests/n, r.writes*grown + g.look.writes/n, r.reads*grown + g.look.reads/n}
			}
			if r.requests > least.requests || r.writes > least.writes || r.reads > least.reads {
				errs = append(errs, fmt.Errorf("%s, %d %s: %s; want at most %s", r.name, r.size, g.what, r, least))
			}
		}
	}
	return errors.Join(errs...)
}

// quiet makes a queue at a position.
func (w *world) quiet(ctx context.Context, queue string, position int64, appended bool) error {
	settings := cursor.DefaultSettings()
	c := cursor.Cursor{Queue: queue, Settings: settings, Position: position, MovedAt: w.now, Announced: -1}
	if appended {
		c.Settings.Kind, c.TailFrom, c.FingerprintsFrom = cursor.KindArrival, position, position
	}
	_, err := w.store.Requests(queuelog.Inside{}).CreateCursor(ctx, c)
	return err
}

// reads makes the consumer "c" of a queue, which has all up to a place.
func (w *world) reads(ctx context.Context, queue string, delivered int64) error {
	_, _, err := w.records().Requests(request.Inside{}).CreateConsumer(ctx, delivery.Consumer{Queue: queue, Name: "c", State: delivery.Idle, Delivered: delivered, Control: delivery.Control{LastOp: "made"}})
	return err
}

// stored makes a queue of so many messages, all of which its consumer has: an item each, or, of a multiple
// of 100, an item for each 100.
func (w *world) stored(ctx context.Context, queue string, count int64, appended bool) error {
	store := w.storeAppended
	if !appended {
		store = w.storeSingles
	}
	if err := store(ctx, queue, count); err != nil {
		return err
	}
	return w.reads(ctx, queue, count)
}

func (w *world) storeSingles(ctx context.Context, queue string, count int64) error {
	if err := w.quiet(ctx, queue, count, false); err != nil {
		return err
	}
	return w.fill(queue, 1, count, 100)
}

func (w *world) storeAppended(ctx context.Context, queue string, count int64) error {
	if err := w.quiet(ctx, queue, 0, true); err != nil {
		return err
	}
	return w.invoke(&spent{}, unbounded, func(s *cursor.Sorter) error {
		for first := int64(1); first <= count; first += 100 {
			if err := putTogether(ctx, s, textOf(burst{queue, first}, inOrder(100))); err != nil {
				return err
			}
		}
		return nil
	})
}

// textOf are the messages of a burst, each of 100 bytes of JSON.
func textOf(b burst, places []int64) []cursor.Message {
	messages := make([]cursor.Message, len(places))
	for i, place := range places {
		seq := b.first + place
		text := fmt.Sprintf(`{"n":%d,"text":"as any other, `, seq)
		messages[i] = cursor.Message{Queue: b.queue, Seq: seq, Body: []byte(text + strings.Repeat("-", 98-len(text)) + `"}`)}
	}
	return messages
}

// putTogether puts messages of one queue by one request.
func putTogether(ctx context.Context, s *cursor.Sorter, messages []cursor.Message) error {
	err := s.Put(ctx, messages...)[0].Err
	return err
}

// putSingly puts messages one by one.
func putSingly(ctx context.Context, s *cursor.Sorter, messages []cursor.Message) error {
	for _, m := range messages {
		if err := s.Put(ctx, m)[0].Err; err != nil {
			return err
		}
	}
	return nil
}

// perMessage is what a message costs, put and delivered.
type perMessage struct{ requests, writes, reads float64 }

func (p perMessage) String() string {
	return fmt.Sprintf("%.3f requests, %.3f write and %.3f read units a message", p.requests, p.writes, p.reads)
}

// unbounded is the budget of a process that lives as long as its load.
var unbounded = budget{math.MaxInt, math.Inf(1)}

// load puts so many bursts by one process, and delivers each by another one.
func (w *world) load(s shape, bursts int64, at func(n int64) burst) (perMessage, error) {
	ctx, got := context.Background(), int64(0)
	put := putSingly
	if s.together {
		put = putTogether
	}
	reader := delivery.Reader{Name: "c", MaxMessages: 1000, Handle: func(_ context.Context, b delivery.Batch) error {
		got += int64(len(b.Messages))
		return nil
	}}
	var all spent
	err := w.invoke(&all, unbounded, func(producer *cursor.Sorter) error {
		return w.run(&all, unbounded, func(tables ddb.Engine, sorter *cursor.Sorter) error {
			d, err := delivery.New(delivery.NewStore(tables, delivery.Names{}.Tables()), sorter, &delivery.Options{Now: w.clock, ForEach: fanout.OneByOne})
			if err != nil {
				return err
			}
			for n := range bursts {
				b := at(n)
				if err := put(ctx, producer, textOf(b, s.places)); err != nil {
					return err
				}
				if err := d.Deliver(ctx, b.queue, reader, b.first+s.size()-1).Err; err != nil {
					return err
				}
			}
			return nil
		})
	})
	messages := bursts * s.size()
	if err == nil && got != messages {
		err = fmt.Errorf("%s: %d messages were delivered of %d", s.name, got, messages)
	}
	n := float64(messages)
	return perMessage{float64(all.requests) / n, all.units.Writes / n, all.units.Reads / n}, err
}
