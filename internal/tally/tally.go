// Package tally is what the visits of a sweep's round have counted.
package tally

import "time"

// Tally is what the visits of a round have counted, and the highest that they have seen of each
// other thing, by names.
type Tally struct {
	Sums  map[string]int64 `ddb:"sums,omitzero"`
	Peaks map[string]int64 `ddb:"peaks,omitzero"`
}

// Add counts.
func (t *Tally) Add(name string, n int) {
	if n == 0 {
		return
	}
	if t.Sums == nil {
		t.Sums = map[string]int64{}
	}
	t.Sums[name] += int64(n)
}

// Peak notes a time that was seen, if it is the longest so far.
func (t *Tally) Peak(name string, d time.Duration) {
	if t.Peaks == nil {
		t.Peaks = map[string]int64{}
	}
	t.Peaks[name] = max(t.Peaks[name], d.Milliseconds())
}

// Count is what was added under a name.
func (t *Tally) Count(name string) int { return int(t.Sums[name]) }

// Longest is the longest time that was seen under a name, to the millisecond.
func (t *Tally) Longest(name string) time.Duration {
	return time.Duration(t.Peaks[name]) * time.Millisecond
}

// Merge adds what another has counted, and its longest times.
func (t *Tally) Merge(o Tally) {
	for name, n := range o.Sums {
		t.Add(name, int(n))
	}
	for name, n := range o.Peaks {
		t.Peak(name, time.Duration(n)*time.Millisecond)
	}
}
