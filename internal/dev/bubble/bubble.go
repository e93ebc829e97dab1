// Package bubble lets time pass in tests: only where it is the time of testing/synctest.
package bubble

import (
	"strings"
	"time"
)

// Sleep lets time pass in a bubble of testing/synctest. It panics outside of one, where a test
// would wait for seconds.
func Sleep(d time.Duration) {
	// The real clock has a monotonic reading, which a bubble's has not.
	if strings.Contains(time.Now().String(), " m=") {
		panic("bubble: a test waits for a state (internal/dev/await), and sleeps in testing/synctest only")
	}
	time.Sleep(d)
}
