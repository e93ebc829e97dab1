package main

// Tests on tables of which reads that are not strong show what stood there before.
var (
	dedupJust = test{"./pkg/dedup", "TestAnOperatorSeesWhatWasJustDone"}
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
	{"weak read of a position: nobody is woken up", sorterFolder, deferredSchedule(", stale reads"), []edit{
		{"sorter.go", "s.store.Cursor(ctx, queue, true)", "s.store.Cursor(ctx, queue, false)"},
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
	{"weak read of what is kept for a start", sorterFolder, deliverySchedule("rewound"), []edit{
		{"retention.go", "Last: upTo, Limit: pieceSeqs, Strong: true, Backwards", "Last: upTo, Limit: pieceSeqs, Backwards"},
	}},
	{"weak read of the oldest message", sorterFolder, deliverySchedule("begins after a quiet time"), []edit{
		{"retention.go", "Limit: 1, Strong: true, HeadsOnly", "Limit: 1, HeadsOnly"},
	}},
}
