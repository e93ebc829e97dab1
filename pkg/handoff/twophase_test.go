package handoff_test

import (
	"testing"

	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/handoff/handofftest"
)

func TestMemoryConformsInTwoPhases(t *testing.T) {
	handofftest.RunTwoPhase(t, func(*testing.T) handoff.Store { return &handoff.Memory{} })
}
