package schedule

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/bubble"
)

func TestParse(t *testing.T) {
	for expression, want := range map[string]time.Duration{
		"rate(1 minute)": time.Minute, "rate(5 minutes)": 5 * time.Minute,
		"rate(2 days)": 48 * time.Hour, "rate(1 hour)": time.Hour, "cron(0 10 * * ? *)": 0,
	} {
		if got, err := Parse(expression); err != nil || got.every != want {
			t.Errorf("%s: %v, %v; want %v", expression, got.every, err, want)
		}
	}
	for _, expression := range []string{
		"rate(0 minutes)", "rate(1 minutes)", "rate(2 minute)", "rate(5 seconds)", "5 minutes",
	} {
		if _, err := Parse(expression); err == nil || !strings.Contains(err.Error(), "rate") {
			t.Errorf("%s: error %v", expression, err)
		}
	}
}

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := Parse("rate(5 minutes)")
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 17*time.Minute)
		defer cancel()
		var got []time.Duration
		s.Run(ctx, func(at time.Time) {
			if !at.Equal(time.Now()) {
				t.Errorf("called at %v for %v", time.Now(), at)
			}
			got = append(got, at.Sub(begun))
			if len(got) == 2 {
				bubble.Sleep(6 * time.Minute) // one moment passes meanwhile
			}
		})
		if want := []time.Duration{5 * time.Minute, 10 * time.Minute}; !slices.Equal(got, want) {
			t.Errorf("moments = %v, want %v", got, want)
		}
	})
	Schedule{}.Run(t.Context(), func(time.Time) { t.Error("a cron is due") })
}

func TestEvent(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC)
	decode := func(text []byte) map[string]any {
		var v map[string]any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		delete(v, "id")
		return v
	}
	want := map[string]any{
		"version": "0", "detail-type": "Scheduled Event", "source": "aws.events", "account": "000000000000",
		"time": "2026-11-21T10:30:00Z", "region": "us-east-1", "resources": []any{"arn:r"}, "detail": map[string]any{},
	}
	if diff := cmp.Diff(want, decode(Event("aws.events", "arn:r", "", at))); diff != "" {
		t.Errorf("rule (-want +got):\n%s", diff)
	}
	input := `{"full":true}`
	if got := string(Event("aws.events", "arn:r", input, at)); got != input {
		t.Errorf("a rule's input = %s", got)
	}
}
