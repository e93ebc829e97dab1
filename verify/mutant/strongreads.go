package main

// Tests on tables of which reads that are not strong show what stood there before.
var (
	ackerJust   = test{"./pkg/xorack", "TestGetSeesWhatWasJustDone"}
	deskJust    = test{"./pkg/delivery", "TestAnOperatorSeesWhatWasJustDone"}
	dedupJust   = test{"./pkg/dedup", "TestAnOperatorSeesWhatWasJustDone"}
	arrivedJust = test{"./pkg/cursor", "TestArrivalsThatJustCameAreThere"}
)

// strongReadMutants are strong reads that were made weak; those of which a protocol has
// a name are with its other bugs.
var strongReadMutants = []mutant{
	{"weak read of a consumer: a claim of one's own is not seen", deliveryFolder, deliverySchedule("stale reads of a claim of one's own"), []edit{
		{"store.go", "Key: keyOf(queue, name), Strong: true,", "Key: keyOf(queue, name),"},
	}},
	{"weak read of a consumer: a failed claim stays", deliveryFolder, deferredSchedule(", stale reads, and work that fails"), []edit{
		{"store.go", "Key: keyOf(queue, name), Strong: true,", "Key: keyOf(queue, name),"},
	}},
	{"weak read of all consumers", deliveryFolder, deskJust, []edit{
		{"store.go", "s.consumersOf(ctx, queue, after, true)", "s.consumersOf(ctx, queue, after, false)"},
	}},
	{"weak read of the audit log", deliveryFolder, deskJust, []edit{
		{"store_operate.go", "Backwards: true, Strong: true, Limit", "Backwards: true, Limit"},
	}},
	{"weak read of a position: nobody is woken up", sorterFolder, deferredSchedule(", stale reads"), []edit{
		{"sorter.go", "s.store.Cursor(ctx, queue, true)", "s.store.Cursor(ctx, queue, false)"},
	}},
	{"weak read of a chain", ackerFolder, ackerJust, []edit{
		{"store.go", "Key: s.table.Key(tag), Strong: true}", "Key: s.table.Key(tag)}"},
	}},
	{"weak read of staged replies", sorterFolder, repliesSchedule("pushed, and stale reads"), []edit{
		{"stage.go", "Keys: []sortkey.SortKey{sortkey.HashOf(id)}, Strong: true}", "Keys: []sortkey.SortKey{sortkey.HashOf(id)}}"},
	}},
	{"weak read of a row whose result is gone", dedupFolder, test{"./pkg/dedup", "TestAResultThatWasJustForgotten"}, []edit{
		{"acquire.go", "d.store.Row(ctx, a.key, true)", "d.store.Row(ctx, a.key, false)"},
	}},
	{"weak read of an id's status", dedupFolder, dedupJust, []edit{
		{"repair.go", "\tr, err := d.store.Row(ctx, k, true)\n\tif", "\tr, err := d.store.Row(ctx, k, false)\n\tif"},
	}},
	{"weak read of what is repaired", dedupFolder, dedupJust, []edit{
		{"repair.go", "r, err := d.store.Row(ctx, k, true)\n\t\tnow", "r, err := d.store.Row(ctx, k, false)\n\t\tnow"},
	}},
	{"weak read of what is invalidated", dedupFolder, dedupJust, []edit{
		{"invalidate.go", "d.store.Row(ctx, k, true)", "d.store.Row(ctx, k, false)"},
	}},
	{"weak read of a result", dedupFolder, test{"./pkg/dedup", "TestAResultThatWasJustStored"}, []edit{
		{"result.go", "range []bool{false, true} {", "range []bool{false, false} {"},
	}},
	{"weak read of the gaps", sorterFolder, test{"./pkg/cursor", "TestGapsShowsWhatWasJustParked"}, []edit{
		{"gaps.go", "min(size, maxBatchSize), Strong: true,", "min(size, maxBatchSize),"},
	}},
	{"weak read of what was skipped", sorterFolder, test{"./pkg/cursor", "TestWhatWasJustSkippedIsNotFilled"}, []edit{
		{"announce.go", "Limit: maxBatchSize, Strong: true, HeadsOnly", "Limit: maxBatchSize, HeadsOnly"},
	}},
	{"weak read of what is kept for a start", sorterFolder, deliverySchedule("rewound"), []edit{
		{"retention.go", "Last: upTo, Limit: pieceSeqs, Strong: true, Backwards", "Last: upTo, Limit: pieceSeqs, Backwards"},
	}},
	{"weak read of the oldest message", sorterFolder, deliverySchedule("begins after a quiet time"), []edit{
		{"retention.go", "Limit: 1, Strong: true, HeadsOnly", "Limit: 1, HeadsOnly"},
	}},
	{"weak read of the order item of a place", sorterFolder, arrivedJust, []edit{
		{"places.go", "Limit: 1, Strong: true}", "Limit: 1}"},
	}},
	{"weak read of the order from above", sorterFolder, arrivedJust, []edit{
		{"places.go", "itemsFor(after, last), Strong: true, Backwards", "itemsFor(after, last), Backwards"},
	}},
	{"weak read of the oldest arrival's place", sorterFolder, arrivedJust, []edit{
		{"keep_arrival.go", "First: first, Last: cur.TailFrom, Strong: true}", "First: first, Last: cur.TailFrom}"},
	}},
}
