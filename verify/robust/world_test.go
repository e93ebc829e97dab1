package main

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestMust: an error ends the scenario with the stage's name before it, and all that was started.
func TestMust(t *testing.T) {
	var folder string
	ended := false
	s := scenario{name: "one", run: func(ctx context.Context, w *world) {
		folder = w.Folder()
		w.During(ctx, func(ctx context.Context) error { <-ctx.Done(); ended = true; return nil })
		w.stages(ctx, []stage{{"a stage", func(context.Context) { check.Must(errors.New("its error")) }}})
		t.Error("it goes on")
	}}
	err := s.play(t.Context(), values{}, t.Output())
	check.Need(t, err != nil, "no error")
	check.Has(t, err.Error(), "a stage: its error")
	_, left := os.Stat(folder)
	check.That(t, ended && os.IsNotExist(left), "ended %t, folder %v", ended, left)
}
