// Package big does what is rare and large at its full size, on tables in memory with DynamoDB's
// pages and units, by invocations that are killed when they have made as many requests, or read as
// many bytes, as a Lambda function has time for. Each case prints how many invocations, requests
// and units it took, and fails where one took more than its bound, was never done, or kept others
// waiting.
//
//	make verify S=big                     all, at full size
//	make verify S=big PART=100            all, at a hundredth of it
//	make verify S=big/queues              one
//
// A case has a file of its own and a line in [Cases].
package big

import "github.com/streamsort/streamsort/internal/dev/check"

// Case is something large.
type Case struct {
	Name, Shows string
	// run does it on a fresh world, at a part of its full size, and panics with what was not as it
	// must be ([check.Must]).
	run func(w *world)
}

// Cases are all of them.
var Cases = []Case{
	{"queues", "100,000 queues and a sweep", manyQueues},
	{"stored", "the same load behind 10,000 and 1,000,000 stored messages", storedLoaded},
}

// Run runs a case at a part of its full size: 100 is a hundredth. It returns what it took, line by
// line.
func (c Case) Run(part int64) (lines []string, err error) {
	w := &world{part: part}
	err = check.Try(func() {
		w.renew()
		c.run(w)
	})
	return w.lines, err
}
