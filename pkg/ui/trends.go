package ui

import (
	"fmt"
	"math"
	"strings"
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

// sample is a figure at a time.
type sample struct {
	at    time.Time
	value int64
}

// trends remembers how figures went while somebody looked, such as the lag of a consumer.
type trends struct {
	mu    sync.Mutex
	lines *lru.Cache[string, []sample]
}

func newTrends() *trends {
	lines, err := lru.New[string, []sample](mostLines)
	if err != nil {
		panic(err) // the size is positive
	}
	return &trends{lines: lines}
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

// trend is how a figure goes.
type trend struct {
	PerSecond float64
	Known     bool
	Points    string // of a polyline, in a box of 100 by 20
}

// slow is what would be 0.0 a second.
const slow = 0.05

// Text is the direction in words.
func (t trend) Text() string {
	switch {
	case !t.Known:
		return "–"
	case t.PerSecond == 0:
		return "steady"
	case math.Abs(t.PerSecond) < slow && t.PerSecond > 0:
		return "slowly up"
	case math.Abs(t.PerSecond) < slow:
		return "slowly down"
	}
	return fmt.Sprintf("%+.1f/s", t.PerSecond)
}

// trendOf draws samples, and takes their slope from the first to the last.
func trendOf(samples []sample) trend {
	first, last := samples[0], samples[len(samples)-1]
	took := last.at.Sub(first.at).Seconds()
	if took <= 0 {
		return trend{}
	}
	most := int64(1)
	for _, s := range samples {
		most = max(most, s.value)
	}
	var points strings.Builder
	for _, s := range samples {
		fmt.Fprintf(&points, "%.1f,%.1f ", s.at.Sub(first.at).Seconds()/took*100, 19-18*float64(s.value)/float64(most))
	}
	return trend{float64(last.value-first.value) / took, true, strings.TrimSpace(points.String())}
}
