package cost

import "math"

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
