package main

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/record"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// TestACallIsAnsweredBeforeItsTimeIsOver: its requests end a second before.
func TestACallIsAnsweredBeforeItsTimeIsOver(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	end, _ := ctx.Deadline()
	engine, asked := ddbtest.NoTime(t, end.Add(-headroom))
	store := record.NewStore(engine, handoff.Names{}.Tables())
	sorter, err := cursor.New(cursor.NewMemory(), nil)
	if err != nil {
		t.Fatal(err)
	}
	deliverer, err := handoff.New(store, sorter, nil)
	if err != nil {
		t.Fatal(err)
	}
	handle := runtime.Around(io.Discard, headroom, (&service{deliverer: deliverer, sorter: sorter, now: time.Now}).api().Handle)
	if _, err := handle(ctx, []byte(`{"operation":"status","queue":"q"}`)); err != nil || !*asked {
		t.Errorf("error %v, asked %v", err, *asked)
	}
}
