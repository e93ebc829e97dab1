package main

import (
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

func TestFromEnvironment(t *testing.T) {
	for name, value := range map[string]string{"MODE": "both", "CHAOS": "maybe", "STAY": "2"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			_, err := fromEnvironment()
			check.That(t, err != nil && strings.Contains(err.Error(), name), "error %v", err)
		})
	}
}
