package claimstest

import (
	"context"
	"errors"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// Arrived is [Env].Arrived on a Sorter.
func Arrived(t *testing.T, sorter *cursor.Sorter) func(queue string) []cursor.Message {
	return func(queue string) (messages []cursor.Message) {
		t.Helper()
		it, err := sorter.Status(context.Background(), queue)
		if errors.Is(err, cursor.ErrNoQueue) {
			return nil
		}
		check.OK(t, err)
		for m, err := range sorter.Read(context.Background(), queue, 0, it.Position) {
			check.OK(t, err)
			messages = append(messages, m)
		}
		return messages
	}
}
