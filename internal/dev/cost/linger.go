package cost

import "math"

// batch is how many messages of one queue come together. The first of those of a lingering producer
// waits for all of the linger where its queue is alone; with others, whose requests it goes along
// with, for three quarters of it at least: each queue has waited for half. TestLingerFigures of
// pkg/producer pins both. What more comes while the request before is under way is left out.
func (w Workload) batch() float64 {
	if w.Linger == 0 {
		return float64(w.Batch)
	}
	waits := w.Linger
	if w.Queues > 1 {
		waits *= 0.75
	}
	return math.Min(1+w.perQueue()*waits, maxBatch)
}

// batches are those of one queue, a second.
func (w Workload) batches() float64 { return w.Rate / w.batch() }

// requests are those of the producer, a second. One that lingers makes two in each linger at most,
// with several queues each, or more where they would have more than 500 messages.
func (w Workload) requests() float64 {
	if w.Linger == 0 {
		return w.batches()
	}
	return math.Max(math.Min(w.batches(), 2/w.Linger), w.Rate/maxBatch)
}
