package main

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// line is a queue as its producer sees it: it gives its seqs out of order within windows.
type line struct {
	queue  string
	next   int64
	window []int64
}

// take gives so many seqs, in windows of so many; 0 and 1 are in order.
func (l *line) take(n, window int, random *rand.Rand) []int64 {
	for len(l.window) < n {
		l.fill(max(window, 1), random)
	}
	seqs := l.window[:n:n]
	l.window = l.window[n:]
	return seqs
}

// fill adds a window of so many seqs.
func (l *line) fill(n int, random *rand.Rand) {
	from := len(l.window)
	for range n {
		l.next++
		l.window = append(l.window, l.next)
	}
	random.Shuffle(n, func(i, j int) { l.window[from+i], l.window[from+j] = l.window[from+j], l.window[from+i] })
}

// rest is what is missing in the windows.
func (l *line) rest() []int64 {
	rest := l.window
	l.window = nil
	return rest
}

// send sends what produce gives it, by so many clients side by side, and returns when all of it has
// an answer. Requests that begin with the same queue are sent one after the other.
func (w *world) send(ctx context.Context, clients int, produce func(context.Context, func(request ...message) error) error) error {
	group, ctx := errgroup.WithContext(ctx)
	work := make([]chan []message, clients)
	for i := range work {
		work[i] = make(chan []message, 4)
		group.Go(func() error {
			for request := range work[i] {
				if err := w.put(ctx, request); err != nil {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		defer func() {
			for _, client := range work {
				close(client)
			}
		}()
		return produce(ctx, func(request ...message) error {
			if len(request) == 0 {
				return nil
			}
			hash := fnv.New32a()
			_, _ = hash.Write([]byte(request[0].queue)) // never fails
			select {
			case <-ctx.Done():
				return ctx.Err()
			case work[int(hash.Sum32())%clients] <- request:
				return nil
			}
		})
	})
	return group.Wait()
}

// batchSize is how many messages a request has where the scenario says nothing else.
const batchSize = 25

// sendAll sends messages in their order, some in each request.
func (w *world) sendAll(ctx context.Context, clients, size int, messages []message) error {
	return w.send(ctx, clients, func(_ context.Context, send func(...message) error) error { return chunks(messages, size, send) })
}

func chunks(messages []message, size int, send func(...message) error) error {
	for request := range slices.Chunk(messages, size) {
		if err := send(request...); err != nil {
			return err
		}
	}
	return nil
}

// put puts a request until all of it is accepted, and then the messages that conflict with some of
// it. A duplicate is accepted: an answer may have been lost on the way, or on the function's way to
// its tables. One that was none is a message that is lost in the end.
func (w *world) put(ctx context.Context, request []message) error {
	var documents, conflicts []json.RawMessage
	for _, m := range request {
		w.account.note(m)
		documents = append(documents, m.document)
		if m.conflict != nil {
			conflicts = append(conflicts, m.conflict)
		}
	}
	if err := w.sender.Put(ctx, documents, "advanced", "parked", "stored", "duplicate"); err != nil || conflicts == nil {
		return err
	}
	return w.sender.Put(ctx, conflicts, "conflict")
}

// sayEvery is the time between two lines of progress while messages are sent.
const sayEvery = 5 * time.Second

// pace hands so many messages a second to send until there were as many as fall due in a time, as
// many at once as have fallen due. Where send takes longer than they take to fall due, more are due
// the next time.
func (w *world) pace(ctx context.Context, during time.Duration, rate int, send func(due int) error) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	began, said, total := time.Now(), time.Now(), int(during.Seconds()*float64(rate))
	for made := 0; made < total; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		due := min(int(time.Since(began).Seconds()*float64(rate)), total) - made
		made += due
		if err := send(due); err != nil {
			return err
		}
		if time.Since(said) >= sayEvery {
			said = time.Now()
			sent, _ := w.account.count()
			w.say("%.0fs: %d sent, %d out", time.Since(w.began).Seconds(), sent, w.came())
		}
	}
	return nil
}

// stay waits until there was so much time since the traffic began.
func (w *world) stay(ctx context.Context, began time.Time, least time.Duration) error {
	return w.pace(ctx, least-time.Since(began), 10, func(int) error { return nil })
}
