package deliverylambda

import (
	"context"
	"fmt"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
)

// environment sets what AddConsumer does. Nothing answers at the endpoint: no request is made.
func environment(t *testing.T) {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
		"STREAMSORT_MESSAGES_TABLE": "m", "STREAMSORT_CURSORS_TABLE": "c", "STREAMSORT_CONSUMERS_TABLE": "h",
		"STREAMSORT_ARRIVALS_TABLE": "a", "STREAMSORT_TIMER_QUEUE": "https://sqs.eu-west-1.amazonaws.com/123456789012/timer",
	} {
		t.Setenv(name, value)
	}
}

func nothing(context.Context, delivery.Batch) error { return nil }

// A function whose environment is complete starts, and takes an event without records.
func TestNewHandler(t *testing.T) {
	environment(t)
	for _, timer := range []string{"https://sqs.eu-west-1.amazonaws.com/123456789012/timer", ""} {
		t.Setenv("STREAMSORT_TIMER_QUEUE", timer)
		handle := check.Get(newHandler(delivery.Reader{Name: "books", Handle: nothing}))
		check.Is(t, len(check.Get(handle(t.Context(), table.StreamEvent{})).BatchItemFailures), 0, timer)
	}
}

// One start reports everything that is wrong with the environment.
func TestNewHandlerRefuses(t *testing.T) {
	environment(t)
	blanks := delivery.Reader{Name: "not a name", Handle: nothing}
	check.Has(t, fmt.Sprint(check.Err(newHandler(blanks))), "not a name")
	wrong := map[string]string{
		"STREAMSORT_MESSAGES_TABLE": "", "STREAMSORT_CURSORS_TABLE": "", "STREAMSORT_CONSUMERS_TABLE": "", "AWS_ENDPOINT_URL": "", "AWS_REGION": "",
	}
	t.Setenv("AWS_DEFAULT_REGION", "")
	for name, value := range wrong {
		t.Setenv(name, value)
	}
	_, err := newHandler(delivery.Reader{Name: "books", Handle: nothing})
	for _, want := range []string{
		"STREAMSORT_MESSAGES_TABLE is not set: ", "STREAMSORT_CURSORS_TABLE is not set: ", "STREAMSORT_CONSUMERS_TABLE is not set: ", "AWS_REGION is not set",
	} {
		check.Has(t, fmt.Sprint(err), want)
	}
}
