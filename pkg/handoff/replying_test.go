package handoff_test

import (
	"testing"

	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/handoff/handofftest"
)

func TestMemoryConformsReplying(t *testing.T) {
	handofftest.RunReplying(t, func(*testing.T) handoff.Store { return &handoff.Memory{} })
}
