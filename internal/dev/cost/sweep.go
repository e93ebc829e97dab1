package cost

import "math"

// What a look at all queues takes. Measured by TestSweep.
const (
	// cursorBytes is what a cursor's item counts for, of a queue with a name of 12 bytes. A scan
	// takes half a unit for each 4 KB of them, and a request for 1 MB.
	cursorBytes = 117
	scanUnits   = cursorBytes / 2.0 / page
	scanPage    = 1 << 20
	// fullReads is what the full round takes of a queue that is quiet: a look behind its position.
	// movedReads is what a round takes of one that moved: a look at its consumers.
	fullReads, movedReads = 0.5, 1
	// runReads are those of a call that has nothing to do: three rounds' progress, and the 16 parts
	// of the chains that are due.
	runReads = 3 + 16*0.5
)

// The stack calls sweep every minute; a round begins every 4 minutes and sees each queue that moved
// since 10 minutes before the last one began. The full round, and that of what has to be kept, come
// once a day.
const (
	sweepCalls, roundEvery, movedFor, fullEvery = 60, 240, roundEvery + 600, 24 * 3600
	// width is how many requests a call has under way, segments how many pages.
	width, segments = 64, 4
)

// Sweep is what looking after all queues costs, in dollars a month.
type Sweep struct {
	// Rounds is for the looks at all cursors, Full for the day's round, Calls for Lambda and for
	// what a call takes that has nothing to do. They come whatever the rate.
	Rounds, Full, Calls float64
	// Moved is for the looks at the consumers of queues that moved.
	Moved float64
}

// Quiet is what it costs where nothing moves.
func (s Sweep) Quiet() float64 { return s.Rounds + s.Full + s.Calls }

// Total is the sum.
func (s Sweep) Total() float64 { return s.Quiet() + s.Moved }

// sweep is what it costs for so many moves of cursors a second.
func (w Workload) sweep(moves float64) Sweep {
	q := float64(w.Queues)
	rounds, days := month/float64(roundEvery), month/float64(fullEvery)
	looks := math.Min(moves*movedFor, q) * rounds // of queues that moved
	pages := math.Ceil(q * cursorBytes / scanPage)
	calls := month / float64(sweepCalls)
	waiting := calls*6*trip + rounds*pages/segments*scanTime + days*q/width*trip
	return Sweep{
		Rounds: rounds*q*scanUnits*readUnits + rounds*writeUnits,
		Full:   days * q * (2*scanUnits + fullReads) * readUnits,
		Calls: calls*(runReads*readUnits+invocation+work*memory*gbSecond+loggedGB*invocationLines/gb) +
			waiting*memory*gbSecond + traces(1.0/sweepCalls, w.Tracing),
		Moved: looks * (movedReads*readUnits + trip/width*memory*gbSecond),
	}
}
