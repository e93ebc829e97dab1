package streamsort

import (
	"cmp"
	"reflect"
	"strings"
	"time"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// fill gives each zero field of a struct the value that it has in another one.
func fill[T any](into *T, defaults T) {
	fields, values := reflect.ValueOf(into).Elem(), reflect.ValueOf(defaults)
	for i := range fields.NumField() {
		if field := fields.Field(i); field.IsZero() {
			field.Set(values.Field(i))
		}
	}
}

// withDefaults is a copy of p, for the stack of this id, with every zero field filled in.
func (p *Props) withDefaults(id string) Props {
	d, queue := *cmp.Or(p, &Props{}), cursor.DefaultSettings()
	fill(&d, Props{
		Tables: strings.ToLower(id), Removal: Retain,
		FirstSeq: &queue.First, Policy: queue.Policy, GapAfter: queue.GapAfter,
		MaxAhead: queue.MaxAhead, Mode: queue.Mode, Settle: &queue.Settle, Late: queue.Late,
		Retention: new(14 * 24 * time.Hour), Tombstone: 7 * 24 * time.Hour,
		WebhookRate: 100, SlowShare: 10, APIRate: 1000,
		SweepInterval: 4 * time.Minute, SweepSegments: 4, SettleWithin: time.Hour,
		EventBus: new("default"), AnnounceTopic: new(""), PageTopic: new(""), AnnounceFunction: new(""),
		LagAfter: 15 * time.Minute, SavedQueries: new(true), Tracing: new(false),
		LogSuccesses: new(1), LogRetentionDays: 30, Architecture: ARM64,
	})
	d.setFunctionDefaults()
	d.FullSweepEvery = cmp.Or(d.FullSweepEvery, min(24*time.Hour, d.longestFullSweep()))
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
