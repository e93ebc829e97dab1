package settings

import (
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/pkg/timer"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// Acks are what a function that works on chains gets from its environment.
type Acks struct {
	// Names are the chains' table and its key: STREAMSORT_CHAINS_TABLE must be
	// set, STREAMSORT_TAG_KEY may.
	Names xorack.Names
	// Tombstone is STREAMSORT_TOMBSTONE; 0 means the acker's own default.
	Tombstone time.Duration
	// TenantClaim is STREAMSORT_TENANT_CLAIM, as in Settings.
	TenantClaim string
	// EventBus is STREAMSORT_EVENT_BUS, AnnounceTopic STREAMSORT_ANNOUNCE_TOPIC,
	// AnnounceFunction STREAMSORT_ANNOUNCE_FUNCTION, the ARN of a function: each that
	// is set is notified how chains end. All empty means log and metrics only.
	EventBus, AnnounceTopic, AnnounceFunction string
}

// AcksFromEnvironment reads and checks all variables. The error joins
// everything that is wrong.
func AcksFromEnvironment() (Acks, error) {
	var r reader
	a := Acks{
		Names:            xorack.Names{Chains: r.required("STREAMSORT_CHAINS_TABLE"), TagKey: os.Getenv("STREAMSORT_TAG_KEY")},
		Tombstone:        r.duration("STREAMSORT_TOMBSTONE", 0),
		TenantClaim:      os.Getenv("STREAMSORT_TENANT_CLAIM"),
		EventBus:         os.Getenv("STREAMSORT_EVENT_BUS"),
		AnnounceTopic:    os.Getenv("STREAMSORT_ANNOUNCE_TOPIC"),
		AnnounceFunction: os.Getenv("STREAMSORT_ANNOUNCE_FUNCTION"),
	}
	if a.Tombstone != 0 && a.Tombstone < xorack.MinTombstone {
		r.fail("STREAMSORT_TOMBSTONE", "must be at least "+xorack.MinTombstone.String())
	}
	if err := a.Names.Validate(); err != nil {
		r.fail("STREAMSORT_TAG_KEY", err.Error())
	}
	return a, r.err()
}

// NewAcker makes the Acker on the table. What it tells of late chains goes to t. It makes no
// request.
func (a Acks) NewAcker(client *dynamodb.Client, t *timer.Timer) (*xorack.Acker, error) {
	store, err := xorack.NewDynamo(client, a.Names)
	if err != nil {
		return nil, err
	}
	options := &xorack.Options{Tombstone: a.Tombstone}
	if t != nil {
		options.WakeUp = t.Chain
	}
	return xorack.New(store, options)
}
