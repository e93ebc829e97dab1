package request

import "time"

// Bounds and defaults of a queue's consumers.
const (
	DefaultMessages = 100
	MaxMessages     = 1000
	DefaultBytes    = 4 << 20
	MaxBytes        = 16 << 20
	MaxReplies      = 500
	DefaultAttempts = 5
	MinAttempts     = 2
	MaxAttempts     = 1000
	MinLease        = 30 * time.Second
	MaxLease        = 12 * time.Hour
	MaxDelays       = 10
	MinDelay        = 100 * time.Millisecond
	MaxDelay        = time.Hour
	DefaultBlock    = time.Hour
	MinBlock        = time.Second
	MaxBlock        = 30 * 24 * time.Hour
	DefaultFailing  = 3
	MinFailing      = 2
	MaxFailing      = 10
	DefaultWakeRate = 50
	MaxWakeRate     = 1000
)

// DefaultRetries is how long after each failure a message is tried again where nothing else is set,
// the last one again and again.
var DefaultRetries = []time.Duration{time.Second, 10 * time.Second, time.Minute, 5 * time.Minute}

// DefaultProbes is how long after each probe of a sink that is away the next one is made.
var DefaultProbes = []time.Duration{5 * time.Second, 15 * time.Second, time.Minute, 2 * time.Minute}

// RetryAfter is how long after its n-th failure a message is tried again, by a schedule.
func RetryAfter(n int, schedule []time.Duration) time.Duration {
	return schedule[min(max(n, 1), len(schedule))-1]
}
