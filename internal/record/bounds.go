package record

import "time"

// Bounds and defaults of a queue's consumers.
const (
	DefaultMessages = 100
	MaxMessages     = 1000
	DefaultBytes    = 4 << 20
	MaxBytes        = 16 << 20
	DefaultAttempts = 5
	MinAttempts     = 2
	MaxAttempts     = 1000
	MinLease        = 30 * time.Second
	MaxLease        = 12 * time.Hour
)

// RetryAfter is how long after its n-th failure a message is tried again: long
// enough that a sink which is away for minutes does not block its queues.
func RetryAfter(n int) time.Duration {
	switch n {
	case 1:
		return time.Second
	case 2:
		return 10 * time.Second
	case 3:
		return time.Minute
	}
	return 5 * time.Minute
}
