package cost

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
