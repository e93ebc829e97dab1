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

// Timer is what wake-ups cost, in dollars.
type Timer struct {
	// Polls is what Lambda's asking an empty queue costs a month, Million a million wake-ups that
	// come one by one, and Together a million that come ten at a time.
	Polls, Million, Together float64
}

// Lambda asks a queue by so many connections, each of which waits for so many seconds.
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
const pollers, pollTime = 5, 20

// queueCalls are the requests to SQS of a batch: sent, received, deleted.
const queueCalls = 3

// timer is what the timer costs. A wake-up takes a read of the thing; what is then done would have
// been done without it.
func (w Workload) timer() Timer {
	wakeUps := func(calls float64) float64 {
		b := w.bill("")
		b.addCalls(calls/month, trip)
		return calls*queueCalls*standardRequest + million*readUnits + b.Functions + b.Logs + b.XRay
	}
	return Timer{Polls: month / pollTime * pollers * standardRequest, Million: wakeUps(million),
		Together: wakeUps(million / 10)}
}

// Gathered is what it costs, in dollars a million messages, to have records of the streams gathered
// for so long.
type Gathered struct {
	// Seconds is how long what comes first waits at most.
	Seconds float64
	// Sort is what its calls and looks take where the producer moves the cursors, so that nobody
	// waits for it; Process what one consumer takes, for which its messages wait.
	Sort, Process float64
}

// windows are those of the curve, in seconds; 0 is at once: 4 polls a second.
var windows = [...]float64{0, 1, 2, 5, 10, 30}

func (w Workload) gathered() []Gathered {
	var curve []Gathered
	f := w.usual()
	for _, seconds := range windows {
		w.Window = seconds
		window := math.Max(seconds, 1.0/polls)
		sort := w.bill("")
		calls, looks := w.sortLooks(f.items, window)
		sort.addCalls(calls, trip)
		sort.addUnits(Heal.times(looks))
		consumer := w.delivered("", f).Total() - w.sorter("", f).Total()
		curve = append(curve, Gathered{
			Seconds: seconds, Sort: sort.Total() / w.Messages() * million,
			Process: consumer / w.Messages() * million,
		})
	}
	return curve
}

// records is how many a call of process has to take, where they are gathered for so many seconds.
func (w Workload) records(f flow, window float64) float64 {
	return math.Ceil(f.moves / math.Min(lanes, float64(w.Queues)) * window)
}
