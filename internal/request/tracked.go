package request

import (
	"strings"

	"github.com/streamsort/streamsort/pkg/tenant"
)

// TrackedPrefix is how the tags of tracked batches' chains begin, behind the tenant where their
// queue is one's. No other process should create, delete or stamp chains under such a tag: see
// [TracksBatch].
const TrackedPrefix = "delivery/"

// TracksBatch reports whether a tag is that of a tracked batch's chain.
func TracksBatch(tag string) bool {
	_, name := tenant.Split(tag)
	return strings.HasPrefix(name, TrackedPrefix)
}
