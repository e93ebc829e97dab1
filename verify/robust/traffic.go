package main

import (
	"context"
	"math/rand/v2"
	"time"
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
	random.Shuffle(n, func(i, j int) {
		l.window[from+i], l.window[from+j] = l.window[from+j], l.window[from+i]
	})
}

// rest is what is missing in the windows.
func (l *line) rest() []int64 {
	rest := l.window
	l.window = nil
	return rest
}

// batchSize is how many messages a request has where the scenario says nothing else.
const batchSize = 25

// sayEvery is the time between two lines of progress while messages are sent.
const sayEvery = 5 * time.Second

// pace hands so many messages a second to send until there were as many as fall due in a time, as
// many at once as have fallen due. Where send takes longer than they take to fall due, more are due
// the next time.
func (w *world) pace(ctx context.Context, during time.Duration, rate int,
	send func(due int) error) error {
	tick := time.Tick(100 * time.Millisecond)
	began, said, total := time.Now(), time.Now(), int(during.Seconds()*float64(rate))
	for made := 0; made < total; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick:
		}
		due := min(int(time.Since(began).Seconds()*float64(rate)), total) - made
		made += due
		if err := send(due); err != nil {
			return err
		}
		if time.Since(said) >= sayEvery {
			said = time.Now()
			sent, _ := w.Account.Count()
			w.Say("%.0fs: %d sent, %d out", time.Since(w.Began).Seconds(), sent, w.Came())
		}
	}
	return nil
}

// stay waits until there was so much time since the traffic began.
func (w *world) stay(ctx context.Context, began time.Time, least time.Duration) error {
	return w.pace(ctx, least-time.Since(began), 10, func(int) error { return nil })
}
