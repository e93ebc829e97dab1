package streamsort

import (
	"cmp"
	"strings"
	"time"
)

// withDefaults is a copy of p, for the stack of this id, with every zero field filled in.
func (p *Props) withDefaults(id string) Props {
	d := *cmp.Or(p, &Props{})
	d.Tables = cmp.Or(d.Tables, strings.ToLower(id))
	d.Removal = cmp.Or(d.Removal, Retain)

	d.setQueueDefaults()
	d.Retention = cmp.Or(d.Retention, new(14*24*time.Hour))

	d.setFunctionDefaults()

	d.WebhookRate = cmp.Or(d.WebhookRate, 100)
	d.SlowShare = cmp.Or(d.SlowShare, 10)

	d.Tombstone = cmp.Or(d.Tombstone, 7*24*time.Hour)

	d.SweepInterval = cmp.Or(d.SweepInterval, 4*time.Minute)
	d.FullSweepEvery = cmp.Or(d.FullSweepEvery, min(24*time.Hour, d.longestFullSweep()))
	d.SweepSegments = cmp.Or(d.SweepSegments, 4)
	d.EventBus = cmp.Or(d.EventBus, new("default"))
	d.AnnounceTopic = cmp.Or(d.AnnounceTopic, new(""))
	d.PageTopic = cmp.Or(d.PageTopic, new(""))
	d.AnnounceFunction = cmp.Or(d.AnnounceFunction, new(""))
	d.LagAfter = cmp.Or(d.LagAfter, 15*time.Minute)
	d.SavedQueries = cmp.Or(d.SavedQueries, new(true))
	d.SettleWithin = cmp.Or(d.SettleWithin, time.Hour)

	d.APIRate = cmp.Or(d.APIRate, 1000)
	d.Tracing = cmp.Or(d.Tracing, new(false))
	d.LogSuccesses = cmp.Or(d.LogSuccesses, new(1))
	d.LogRetentionDays = cmp.Or(d.LogRetentionDays, 30)
	d.Architecture = cmp.Or(d.Architecture, ARM64)
	d.Binaries = cmp.Or(d.Binaries, "../../dist/"+string(d.Architecture))
	return d
}

// longestFullSweep is the most that may lie between two looks at every queue: a quarter of the
// retention, so that a message which still waits is pushed forward long before it expires. Messages
// kept for ever set no limit but a year.
func (p Props) longestFullSweep() time.Duration {
	if *p.Retention <= 0 {
		return 365 * 24 * time.Hour
	}
	return *p.Retention / 4
}
