package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/dev/faulty"
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

// network is the way to a server. Once it is disturbed, about one request in a hundred goes wrong.
type network struct {
	faulty *faulty.Transport
	kinds  []faulty.Fault

	mu        sync.Mutex
	random    *rand.Rand
	disturbed bool
	requests  int
	faults    map[faulty.Fault]int // planned
}

// between is how many requests there are from one that goes wrong to the next, on average.
const between = 100

// newNetwork is one on which requests go wrong in these ways.
func newNetwork(next http.RoundTripper, seed int64, kinds ...faulty.Fault) *network {
	return &network{
		faulty: faulty.New(next), kinds: kinds,
		random: rand.New(rand.NewPCG(uint64(seed), 0x0e7)), faults: map[faulty.Fault]int{},
	}
}

// disturb has requests go wrong, or lets all of them pass.
func (n *network) disturb(on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.disturbed = on
	if !on {
		n.faulty.Fail(0, "")
	}
}

// RoundTrip implements http.RoundTripper.
func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	n.requests++
	if n.disturbed && !n.faulty.Pending() {
		kind := n.kinds[n.random.IntN(len(n.kinds))]
		n.faults[kind]++
		n.faulty.Fail(1+n.random.IntN(2*between), kind)
	}
	n.mu.Unlock()
	return n.faulty.RoundTrip(r)
}

// String is the counts, in words.
func (n *network) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(n.faults)) {
		parts = append(parts, fmt.Sprintf("%d %s", n.faults[kind], kind))
	}
	return fmt.Sprintf("of %d requests: %s", n.requests, strings.Join(parts, ", "))
}

// count is how many requests were made to go wrong.
func (n *network) count() (sum int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, times := range n.faults {
		sum += times
	}
	return sum
}
