package main

import (
	"testing"

	"github.com/streamsort/streamsort/localstack/template"
)

// TestTemplatesAreThere: the soak itself runs in make check only.
func TestTemplatesAreThere(t *testing.T) {
	for _, file := range templates("../..") {
		if _, err := template.ReadFile(file); err != nil {
			t.Error(err)
		}
	}
}
