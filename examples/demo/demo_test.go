package main

import (
	"context"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestTreesSeeWhatIsEarly: what is committed and has no line of its work is found.
func TestTreesSeeWhatIsEarly(t *testing.T) {
	w := &trees{done: map[string]map[int64]bool{"q": {}}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.line(`{"message":"work","queue":"q","seq":1}`)
	w.line(`{"message":"other","queue":"q","seq":2}`)
	w.line(`no JSON`)
	check.That(t, w.isDone(ctx, "q", 1) && !w.isDone(ctx, "q", 2), "done: %v", w.done)
}

func TestFromEnvironment(t *testing.T) {
	for name, value := range map[string]string{"MODE": "both", "CHAOS": "maybe", "TRACKED": "yes", "STAY": "2"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			_, err := fromEnvironment()
			check.That(t, err != nil && strings.Contains(err.Error(), name), "error %v", err)
		})
	}
}
