package settings

import (
	"context"

	"github.com/streamsort/streamsort/internal/emf"
)

// SendWakeUps sends what was told of due times, at the end of an invocation. What cannot be
// sent is counted, and nothing else: the sweep makes up for it.
func (s Settings) SendWakeUps(ctx context.Context, metrics *emf.Metrics) {
	sent, failed := s.Timer.Flush(ctx)
	metrics.Count("WakeUpsSent", sent)
	metrics.Count("WakeUpsFailed", failed)
}
