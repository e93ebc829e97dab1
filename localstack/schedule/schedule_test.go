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
	"github.com/streamsort/streamsort/internal/dev/check"
)

func TestParse(t *testing.T) {
	for expression, want := range map[string]time.Duration{
		"rate(1 minute)": time.Minute, "rate(5 minutes)": 5 * time.Minute,
		"rate(2 days)": 48 * time.Hour, "rate(1 hour)": time.Hour, "cron(0 10 * * ? *)": 0,
	} {
		check.Is(t, check.Get(Parse(expression)).every, want, expression)
	}
	for _, expression := range []string{
		"rate(0 minutes)", "rate(1 minutes)", "rate(2 minute)", "rate(5 seconds)", "5 minutes",
	} {
		_, err := Parse(expression)
		check.That(t, err != nil && strings.Contains(err.Error(), "rate"), "%s %v", expression, err)
	}
}

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := check.Get(Parse("rate(5 minutes)"))
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 17*time.Minute)
		defer cancel()
		var got []time.Duration
		s.Run(ctx, func(at time.Time) {
			check.That(t, at.Equal(time.Now()), "called at %v for %v", time.Now(), at)
			got = append(got, at.Sub(begun))
			if len(got) == 2 {
				bubble.Sleep(6 * time.Minute) // one moment passes meanwhile
			}
		})
		want := []time.Duration{5 * time.Minute, 10 * time.Minute}
		check.That(t, slices.Equal(got, want), "moments = %v, want %v", got, want)
	})
	Schedule{}.Run(t.Context(), func(time.Time) { t.Error("a cron is due") })
}

func TestEvent(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC)
	decode := func(text []byte) map[string]any {
		var v map[string]any
		err := json.Unmarshal(text, &v)
		check.Need(t, err == nil, "%s: %v", text, err)
		delete(v, "id")
		return v
	}
	want := map[string]any{
		"version": "0", "detail-type": "Scheduled Event", "source": "aws.events", "account": "000000000000",
		"time": "2026-11-21T10:30:00Z", "region": "us-east-1", "resources": []any{"arn:r"}, "detail": map[string]any{},
	}
	check.Is(t, cmp.Diff(want, decode(Event("aws.events", "arn:r", "", at))), "")
	input := `{"full":true}`
	check.Is(t, string(Event("aws.events", "arn:r", input, at)), input)
}
