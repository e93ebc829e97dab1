package cost

import (
	"fmt"
	"math"
)

// queueUnits is how many write units a second one queue can take: all its messages are in one
// partition, and its cursor is one item. Neither is split by who writes at its end.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
const queueUnits = 1000

// QueueRate is how many messages a second one queue takes, by units: 1,000 where each is an item of
// its own, however many come in a request, for each is a write of its partition.
const QueueRate = queueUnits

// appendable reports whether the producer's batches can be one item each.
func (w Workload) appendable() bool { return w.Disorder == InOrder && w.batch() > 1 && !w.Keyed }

// AppendRate is how many messages a second one queue takes, by units, where each batch of JSON is
// one item: as many as its partition has units for, or as its cursor can be moved over.
func (w Workload) AppendRate() float64 {
	each := w.perItem()
	return queueUnits * each / math.Max(itemUnits(each), 1)
}

func (w Workload) perItem() float64 { return math.Min(w.batch(), mostTogether) }

func (w Workload) perQueue() float64 { return w.Rate / float64(w.Queues) }

// singly reports whether the queues take the rate where each message is an item.
func (w Workload) singly() bool { return w.perQueue() <= QueueRate }

// queueRate is the most that one queue takes of this workload.
func (w Workload) queueRate() float64 {
	if w.appendable() {
		return math.Max(QueueRate, w.AppendRate())
	}
	return QueueRate
}

// checkQueues reports a rate that so few queues cannot take.
func (w Workload) checkQueues() error {
	most := w.queueRate()
	if w.perQueue() <= most {
		return nil
	}
	return fmt.Errorf("rate is %g on queues %d; a queue takes %.0f messages a second at most%s, so write queues %d or more",
		w.Rate, w.Queues, most, w.asOne(), int(math.Ceil(w.Rate/most)))
}

// asOne says of a workload whose batches can be one item each that they are.
func (w Workload) asOne() string {
	if w.appendable() {
		return fmt.Sprintf(" in batches of %.3g that are one item", w.batch())
	}
	return ""
}
