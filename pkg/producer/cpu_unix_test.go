//go:build unix

package producer_test

import (
	"syscall"
	"testing"
	"time"
)

// cpu is the processor time that this process has taken.
func cpu(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
