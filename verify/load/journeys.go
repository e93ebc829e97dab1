package main

import (
	"slices"
	"sync"
	"time"
)

// journeys are how long messages were under way, from when the request with them was sent to when the
// consumer has logged the batch with them.
type journeys struct {
	mu    sync.Mutex
	began map[string]map[int64]time.Time // of those under way, by queue and seq
	took  []time.Duration
	last  time.Time // when the last one ended
}

func newJourneys() *journeys { return &journeys{began: map[string]map[int64]time.Time{}} }

// begin notes that the messages of a request are sent.
func (j *journeys) begin(r request) {
	now := time.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.began[r.queue] == nil {
		j.began[r.queue] = map[int64]time.Time{}
	}
	for _, seq := range r.seqs {
		j.began[r.queue][seq] = now
	}
}

// end notes that a message came out.
func (j *journeys) end(queue string, seq int64) {
	now := time.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	if began, known := j.began[queue][seq]; known {
		j.took = append(j.took, now.Sub(began))
		delete(j.began[queue], seq)
	}
	j.last = now
}

// forget forgets those that have ended.
func (j *journeys) forget() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.took = nil
}

// sorted are those that have ended, the shortest first, and when the last one did.
func (j *journeys) sorted() ([]time.Duration, time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	all := slices.Clone(j.took)
	slices.Sort(all)
	return all, j.last
}

// percentile is the shortest of sorted durations that so many of a hundred are no longer than; 0 of none.
func percentile(sorted []time.Duration, of float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(float64(len(sorted))*of/100), len(sorted)-1)]
}
