//go:build unix

package producer_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// cpu is the processor time that this process has taken.
func cpu(tb testing.TB) time.Duration {
	var u syscall.Rusage
	check.OK(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
