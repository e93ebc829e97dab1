package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/streamsort/streamsort/internal/dev/faulty"
)

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
