package main

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/stamps"
)

// TestACallIsAnsweredBeforeItsTimeIsOver: its requests end a second before.
func TestACallIsAnsweredBeforeItsTimeIsOver(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	end, _ := ctx.Deadline()
	engine, asked := ddbtest.NoTime(t, end.Add(-headroom))
	store, err := xorack.NewStore(engine, xorack.Names{})
	if err != nil {
		t.Fatal(err)
	}
	acker, err := xorack.New(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &service{acker: acker, stamper: stamps.New(acker), now: time.Now}
	handle := runtime.Around(io.Discard, headroom, s.handler())
	if _, err := handle(ctx, []byte(`{"operation":"get","tag":"a"}`)); !*asked {
		t.Errorf("nothing was asked for: %v", err)
	}
}
