package traffic

import (
	"context"
	"time"
)

// tick is how often it is looked how many messages are due.
const tick = 100 * time.Millisecond

// Pace hands so many messages a second to send for a time, as many at once as have fallen due. Where send takes
// longer than they take to fall due, more are due the next time.
func Pace(ctx context.Context, during time.Duration, rate int, send func(due int) error) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	began, made := time.Now(), 0
	for time.Since(began) < during {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		due := int(min(time.Since(began), during).Seconds()*float64(rate)) - made
		made += due
		if err := send(due); err != nil {
			return err
		}
	}
	return nil
}
