package settings

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/trouble"
)

// After returns what a function does at the end of an invocation that takes messages in, or hands
// them on: it sends the wake-ups that were told of, and counts what the metrics say was stored
// and delivered, by which the summary has its rates.
func (s Settings) After(client *dynamodb.Client) func(context.Context, *emf.Metrics) {
	counter := trouble.NewCounter(s.Trouble(client), time.Now)
	return func(ctx context.Context, metrics *emf.Metrics) {
		s.SendWakeUps(ctx, metrics)
		counter.Add(trouble.Counts{Stored: int64(metrics.Counted("MessagesStored")), Delivered: int64(metrics.Counted("Delivered"))})
		counter.Flush(ctx)
	}
}
