package settings

import (
	"io"
	"os"

	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// CountSettled counts what was done to a keyed queue.
func CountSettled(metrics *emf.Metrics, done cursor.Settled) {
	metrics.Count("Settled", done.Placed)
	metrics.Count("Late", done.Late)
	metrics.Count("Dropped", done.Dropped)
	metrics.Count("Unlinked", done.Unlinked)
	metrics.Count("Stale", done.Stale)
}

// NewEmitter makes the Emitter of a function's metrics, which writes to out, under
// the names that Powertools for AWS Lambda gives the variables.
func NewEmitter(out io.Writer) *emf.Emitter {
	return emf.New(out, emf.Names{
		Namespace: os.Getenv("POWERTOOLS_METRICS_NAMESPACE"),
		Service:   os.Getenv("POWERTOOLS_SERVICE_NAME"),
		Function:  os.Getenv("AWS_LAMBDA_FUNCTION_NAME"),
	})
}
