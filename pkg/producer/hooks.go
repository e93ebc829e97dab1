package producer

import "time"

// Hooks are told what happens, for metrics. Each may be nil. They are called by many goroutines, and must
// return soon: the queues that they are told of wait for them.
type Hooks struct {
	// Requested is told of each request that has ended.
	Requested func(Requested)
	// Settled is told of each message that has an outcome.
	Settled func(Settled)
}

// Requested is a request that has ended.
type Requested struct {
	// Queues and Messages are how many it had, Bytes what its body had.
	Queues, Messages, Bytes int
	// Again is how many of the messages are sent again.
	Again int
	// Status is HTTP's, 0 where there was no answer; Err is why, or what the answer says.
	Status int
	Err    error
	Took   time.Duration
}

// Settled is a message that has an outcome.
type Settled struct {
	Queue string
	// Document is the message as it was sent, which must not be changed or kept.
	Document []byte
	Result   Result
	Err      error
	// Tries is how often it was sent, After how long it took since Send.
	Tries int
	After time.Duration
}

// Stats are what is there at a moment.
type Stats struct {
	// Messages are those that are not answered for, and Bytes what they have.
	Messages int
	Bytes    int64
	// Queues are those of these messages, Troubled those among them that go alone.
	Queues, Troubled int
	// Requests are those under way.
	Requests int
}
