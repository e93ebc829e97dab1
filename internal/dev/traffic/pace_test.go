package traffic

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/dev/bubble"
)

// TestPace: as many messages as fall due, and what a slow send has let fall due at once.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sum, most := 0, 0
		if err := Pace(t.Context(), 2*time.Second, 1000, func(due int) error {
			sum, most = sum+due, max(most, due)
			if sum == 500 {
				bubble.Sleep(time.Second) // in the bubble
			}
			return nil
		}); err != nil || sum != 2000 || most < 1000 {
			t.Errorf("%d messages, at most %d at once, %v", sum, most, err)
		}
	})
}

func TestPaceEnds(t *testing.T) {
	broken := errors.New("broken")
	if err := Pace(t.Context(), time.Hour, 1000, func(int) error { return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
}
