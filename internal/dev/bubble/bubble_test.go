package bubble_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/dev/bubble"
)

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		bubble.Sleep(100 * 365 * 24 * time.Hour)
		if passed := time.Since(began); passed < 100*365*24*time.Hour {
			t.Errorf("%v have passed", passed)
		}
		done := make(chan struct{})
		go func() { bubble.Sleep(time.Hour); close(done) }()
		<-done
	})
	defer func() {
		if recover() == nil {
			t.Error("it sleeps outside of a bubble")
		}
	}()
	bubble.Sleep(time.Nanosecond)
}
