package handoff_test

import (
	"testing"

	"github.com/streamsort/streamsort/internal/localdb"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/handoff/handofftest"
)

func TestMemoryConformsReplying(t *testing.T) {
	handofftest.RunReplying(t, func(*testing.T) handoff.Store { return &handoff.Memory{} })
}

func TestDynamoConformsReplying(t *testing.T) {
	for _, kind := range localdb.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			handofftest.RunReplying(t, func(t *testing.T) handoff.Store {
				store, _ := freshTables(t, kind, nil)
				return store
			})
		})
	}
}
