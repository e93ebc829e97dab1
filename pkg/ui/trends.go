package ui

import (
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// The bounds of what is remembered: so many lines, those that were looked at last, and of each the
// last half hour.
const (
	mostLines   = 2000
	mostSamples = 120
	remembered  = 30 * time.Minute
)

type sample struct {
	at    time.Time
	value int64
}

// trends remembers how figures went while somebody looked, such as the lag of a consumer.
type trends struct {
	mu    sync.Mutex
	lines *lru.Cache[string, []sample]
}

func newTrends() *trends { return &trends{lines: latest[[]sample](mostLines)} }

// latest keeps what was used last, so many of it.
func latest[V any](most int) *lru.Cache[string, V] {
	kept, err := lru.New[string, V](most)
	if err != nil {
		panic(err) // the size is positive
	}
	return kept
}

// note adds what a figure is now, and returns its samples. Looks of several browsers within a tenth
// of a second are one. Samples are apart by a hundredth of their time at least, but for the last;
// where there are too many all the same, every second one goes.
func (t *trends) note(line string, now time.Time, value int64) []sample {
	t.mu.Lock()
	defer t.mu.Unlock()
	before, _ := t.lines.Get(line)
	samples := make([]sample, 0, len(before)+1)
	for i, s := range before {
		if (len(before) < mostSamples || i%2 == 0) && now.Sub(s.at) <= remembered {
			samples = append(samples, s)
		}
	}
	n := len(samples)
	if n > 1 && samples[n-1].at.Sub(samples[n-2].at) < now.Sub(samples[0].at)/100 {
		samples, n = samples[:n-1], n-1
	}
	if n == 0 || now.Sub(samples[n-1].at) >= shortest/2 {
		samples = append(samples, sample{now, value})
	}
	t.lines.Add(line, samples)
	return samples
}
