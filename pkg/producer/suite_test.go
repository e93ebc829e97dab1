package producer_test

import (
	"testing"

	"github.com/streamsort/streamsort/pkg/producer/producertest"
)

// TestSuite: the cases that every producer is held to.
func TestSuite(t *testing.T) { producertest.Run(t, producertest.Own) }
