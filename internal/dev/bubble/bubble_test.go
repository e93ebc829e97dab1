package bubble_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
)

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		bubble.Sleep(100 * 365 * 24 * time.Hour)
		passed := time.Since(began)
		check.That(t, passed >= 100*365*24*time.Hour, "%v have passed", passed)
		done := make(chan struct{})
		go func() { bubble.Sleep(time.Hour); close(done) }()
		<-done
	})
	defer func() {
		check.That(t, recover() != nil, "it sleeps outside of a bubble")
	}()
	bubble.Sleep(time.Nanosecond)
}
