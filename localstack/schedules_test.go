package localstack

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
)

func TestScheduledEvent(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC)
	var got map[string]any
	check.OK(t, json.Unmarshal(scheduledEvent("aws.events", "arn:r", "", at), &got))
	delete(got, "id")
	want := map[string]any{
		"version": "0", "detail-type": "Scheduled Event", "source": "aws.events", "account": "000000000000",
		"time": "2026-11-21T10:30:00Z", "region": "us-east-1", "resources": []any{"arn:r"}, "detail": map[string]any{},
	}
	check.Is(t, cmp.Diff(want, got), "")
	input := `{"full":true}`
	check.Is(t, string(scheduledEvent("aws.events", "arn:r", input, at)), input)
}
