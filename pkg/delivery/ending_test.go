package delivery_test

import (
	"errors"
	"strings"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// How a delivery ended, as [ending] says it.
const (
	endedCaughtUp    = "EMPTY"
	endedBusy        = "BUSY"
	endedOutOfTime   = "WAIT TIME"
	endedFailed      = "WAIT FAILED, and tried now"
	endedWait        = "WAIT FAILED"
	endedBlocked     = "BLOCKED"
	endedCircuitOpen = "WAIT CIRCUIT"
	endedPaused      = "PAUSED"
	endedReplying    = "FULL"
	endedMissing     = "MISSING"
	endedLost        = "LOST"
	endedDeferred    = "DEFERRED"
	endedAside       = "WAIT ISOLATED"
	endedErased      = "erased"
)

// ending is the outcome of a delivery and, of one that waits, the reason.
func ending(d delivery.Delivery) string {
	switch {
	case errors.Is(d.Err, cursor.ErrErased):
		return endedErased
	case d.Outcome != delivery.Wait:
		return string(d.Outcome)
	case d.Reason == "FAILED" && d.Cause != nil:
		return endedFailed
	}
	return strings.TrimSpace(string(d.Outcome) + " " + d.Reason)
}
