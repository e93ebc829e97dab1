package settings

import (
	"os"
	"time"

	"github.com/streamsort/streamsort/pkg/xorack"
)

// Acks are what a function that works on chains gets from its environment.
type Acks struct {
	// Names are the chains' table and its key: STREAMSORT_CHAINS_TABLE must be
	// set, STREAMSORT_TAG_KEY may.
	Names xorack.Names
	// Tombstone is STREAMSORT_TOMBSTONE; 0 means the acker's own default.
	Tombstone time.Duration
}

// AcksFromEnvironment reads and checks the variables. The error joins
// everything that is wrong.
func AcksFromEnvironment() (Acks, error) {
	var r reader
	a := Acks{
		Names:     xorack.Names{Chains: r.required("STREAMSORT_CHAINS_TABLE"), TagKey: os.Getenv("STREAMSORT_TAG_KEY")},
		Tombstone: r.duration("STREAMSORT_TOMBSTONE", 0),
	}
	if a.Tombstone != 0 && a.Tombstone < xorack.MinTombstone {
		r.fail("STREAMSORT_TOMBSTONE", "must be at least "+xorack.MinTombstone.String())
	}
	if err := a.Names.Validate(); err != nil {
		r.fail("STREAMSORT_TAG_KEY", err.Error())
	}
	return a, r.err()
}
