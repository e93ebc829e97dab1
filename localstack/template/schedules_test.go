package template

import (
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
)

func TestRate(t *testing.T) {
	for expression, want := range map[string]time.Duration{
		"rate(1 minute)": time.Minute, "rate(5 minutes)": 5 * time.Minute,
		"rate(2 days)": 48 * time.Hour, "rate(1 hour)": time.Hour, "cron(0 10 * * ? *)": 0,
	} {
		check.Is(t, check.Get(rate(expression)), want, expression)
	}
	for _, expression := range []string{
		"rate(0 minutes)", "rate(1 minutes)", "rate(2 minute)", "rate(5 seconds)", "5 minutes",
	} {
		_, err := rate(expression)
		check.That(t, err != nil && strings.Contains(err.Error(), "rate"), "%s %v", expression, err)
	}
}
