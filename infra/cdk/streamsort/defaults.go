package streamsort

import (
	"cmp"
	"strings"
	"time"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// withDefaults is a copy of p, for the stack of this id, with every zero field
// filled in.
func (p *Props) withDefaults(id string) Props {
	if p == nil {
		p = &Props{}
	}
	d := *p
	prefix := strings.ToLower(id)
	d.MessagesTable = cmp.Or(d.MessagesTable, prefix+"-messages")
	d.CursorsTable = cmp.Or(d.CursorsTable, prefix+"-cursors")
	d.SweepsTable = cmp.Or(d.SweepsTable, prefix+"-sweeps")
	d.ConsumersTable = cmp.Or(d.ConsumersTable, prefix+"-consumers")
	d.AuditTable = cmp.Or(d.AuditTable, prefix+"-audit")
	d.TroubleTable = cmp.Or(d.TroubleTable, prefix+"-trouble")
	d.ArrivalsTable = cmp.Or(d.ArrivalsTable, prefix+"-arrivals")
	d.QuotasTable = cmp.Or(d.QuotasTable, prefix+"-quotas")
	d.ChainsTable = cmp.Or(d.ChainsTable, prefix+"-chains")
	d.TagKey = cmp.Or(d.TagKey, "tag")
	d.Dedup = orNew(d.Dedup, true)
	d.DedupTable = cmp.Or(d.DedupTable, prefix+"-dedup")
	d.QueueKey = cmp.Or(d.QueueKey, "queue")
	d.SeqKey = cmp.Or(d.SeqKey, "seq")
	d.Removal = cmp.Or(d.Removal, Retain)
	d.WarmTables = cmp.Or(d.WarmTables, defaultWarmTables)

	d.setQueueDefaults()
	d.Retention = orNew(d.Retention, 14*24*time.Hour)
	d.BatchSize = cmp.Or(d.BatchSize, 25)

	d.SortBatchSize = cmp.Or(d.SortBatchSize, 1000)
	d.SortBatchWindow = orNew(d.SortBatchWindow, defaultWindow(d.Mode))
	d.SortParallelization = cmp.Or(d.SortParallelization, 10)
	d.SortRetries = cmp.Or(d.SortRetries, 50)
	d.SortMaxRecordAge = cmp.Or(d.SortMaxRecordAge, 12*time.Hour)
	d.ArrivalsBatchWindow = orNew(d.ArrivalsBatchWindow, time.Second)

	d.ProcessBatchSize = cmp.Or(d.ProcessBatchSize, 100)
	d.ProcessParallelization = cmp.Or(d.ProcessParallelization, 10)
	d.ProcessRetries = cmp.Or(d.ProcessRetries, 50)
	d.ProcessMaxRecordAge = cmp.Or(d.ProcessMaxRecordAge, 12*time.Hour)

	d.WebhookRate = cmp.Or(d.WebhookRate, 100)
	d.WebhookBurst = cmp.Or(d.WebhookBurst, 50)
	d.WebhookRefusals = cmp.Or(d.WebhookRefusals, 5)
	d.SlowShare = cmp.Or(d.SlowShare, 10)

	d.Tombstone = cmp.Or(d.Tombstone, 7*24*time.Hour)
	d.EndsBatchSize = cmp.Or(d.EndsBatchSize, 100)

	d.SweepInterval = cmp.Or(d.SweepInterval, 4*time.Minute)
	d.FullSweepEvery = cmp.Or(d.FullSweepEvery, min(24*time.Hour, d.longestFullSweep()))
	d.SweepSegments = cmp.Or(d.SweepSegments, 4)
	d.Timer = orNew(d.Timer, true)
	d.EventBus = orNew(d.EventBus, "default")
	d.AnnounceTopic = orNew(d.AnnounceTopic, "")
	d.AnnounceFunction = orNew(d.AnnounceFunction, "")
	d.LagAfter = cmp.Or(d.LagAfter, 15*time.Minute)
	d.SettleWithin = cmp.Or(d.SettleWithin, time.Hour)
	d.GapAlarmAfter = cmp.Or(d.GapAlarmAfter, 15*time.Minute)
	d.SavedQueries = orNew(d.SavedQueries, true)

	d.EnqueueMemory = cmp.Or(d.EnqueueMemory, 512)
	d.SortMemory = cmp.Or(d.SortMemory, 512)
	d.SweepMemory = cmp.Or(d.SweepMemory, 512)
	d.ProcessMemory = cmp.Or(d.ProcessMemory, 512)
	d.DeliveryMemory = cmp.Or(d.DeliveryMemory, 512)
	d.AckMemory = cmp.Or(d.AckMemory, 512)
	d.WebhookMemory = cmp.Or(d.WebhookMemory, 512)
	d.EnqueueTimeout = cmp.Or(d.EnqueueTimeout, 29*time.Second)
	d.SortTimeout = cmp.Or(d.SortTimeout, time.Minute)
	d.ProcessTimeout = cmp.Or(d.ProcessTimeout, time.Minute)
	d.DeliveryTimeout = cmp.Or(d.DeliveryTimeout, 29*time.Second)
	d.AckTimeout = cmp.Or(d.AckTimeout, 29*time.Second)
	d.WebhookTimeout = cmp.Or(d.WebhookTimeout, 29*time.Second)

	d.APIRate = cmp.Or(d.APIRate, 1000)
	d.APIBurst = cmp.Or(d.APIBurst, 500)
	if d.hasTenants() {
		d.TenantRate = cmp.Or(d.TenantRate, 1000)
		d.TenantBurst = cmp.Or(d.TenantBurst, 500)
	}
	d.Tracing = orNew(d.Tracing, true)
	d.LogSuccesses = orNew(d.LogSuccesses, 1)
	d.LogRetentionDays = cmp.Or(d.LogRetentionDays, 30)
	d.Architecture = cmp.Or(d.Architecture, ARM64)
	d.Binaries = cmp.Or(d.Binaries, "../../dist/"+string(d.Architecture))
	return d
}

// defaultWindow is how long stream records are gathered for sort.
func defaultWindow(mode cursor.Mode) time.Duration {
	if mode == cursor.ModeAsync {
		return 0
	}
	return time.Second
}

// longestFullSweep is the most that may lie between two looks at every queue:
// a quarter of the retention, so that a message which still waits is pushed
// forward long before it expires. Messages kept for ever set no limit but a
// year.
func (p Props) longestFullSweep() time.Duration {
	if *p.Retention <= 0 {
		return 365 * 24 * time.Hour
	}
	return *p.Retention / 4
}

func orNew[T any](value *T, fallback T) *T {
	if value == nil {
		return &fallback
	}
	return value
}
