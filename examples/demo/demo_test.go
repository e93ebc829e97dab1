package main

import (
	"context"
	"strings"
	"testing"
)

// TestTreesSeeWhatIsEarly: what is committed and has no line of its work is found.
func TestTreesSeeWhatIsEarly(t *testing.T) {
	w := &trees{done: map[string]map[int64]bool{"q": {}}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.line(`{"message":"work","queue":"q","seq":1}`)
	w.line(`{"message":"other","queue":"q","seq":2}`)
	w.line(`no JSON`)
	if !w.isDone(ctx, "q", 1) || w.isDone(ctx, "q", 2) {
		t.Errorf("done: %v", w.done)
	}
}

func TestFromEnvironment(t *testing.T) {
	for name, value := range map[string]string{"MODE": "both", "CHAOS": "maybe", "TRACKED": "yes", "STAY": "2"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			if _, err := fromEnvironment(); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("error %v", err)
			}
		})
	}
}
