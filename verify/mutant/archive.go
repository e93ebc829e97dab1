package main

// archiveFolder has the archive's code.
const archiveFolder = "pkg/archive"

func archiveTest(pattern string) test { return test{"./pkg/archive", pattern} }

// archivings are the tests that walk the schedules of a sweep that archives.
var archivings = test{"./verify/sim/handoffsim", "TestEverySmallSchedule/(archived|kept)"}

// archiveMutants are bugs in the archive, and in the sweep that fills it.
var archiveMutants = []mutant{
	{"archive: delete, then archive", deliveryFolder, archivings, []edit{
		{"sweep_retire.go", "\tif r.options.Archive != nil {\n", "\tif err := r.delete(ctx, it, lowest); err != nil {\n\t\treturn err\n\t}\n\tif r.options.Archive != nil {\n"},
		{"sweep_retire.go", "\treturn r.delete(ctx, it, lowest)\n", "\treturn nil\n"},
	}},
	{"archive: deleted although the archive failed", deliveryFolder, archivings, []edit{
		{"sweep_retire.go", "\t\tif err != nil {\n\t\t\treturn err\n\t\t}\n\t\tlowest = min(lowest, to)\n", "\t\t_, _ = to, err\n"},
	}},
	{"archive: deleted as far as it was passed, not as it was archived", deliveryFolder, test{"./pkg/handoff", "TestArchivedBeforeDeletion"}, []edit{
		{"sweep_retire.go", "\t\tlowest = min(lowest, to)\n", "\t\t_ = to\n"},
	}},
	{"archive: a queue archives for as long as it likes", deliveryFolder, test{"./pkg/handoff", "TestArchivingHasATurn"}, []edit{
		{"sweep_retire.go", "r.more = r.more || !r.hasTime(ctx, r.until, r.margin)\n", ""},
	}},
	{"archive: what there was no time to archive is left", deliveryFolder, test{"./pkg/handoff", "TestArchivingHasATurn"}, []edit{
		{"sweep_beside.go", "\t\tif more {\n", "\t\tif false && more {\n"},
	}},
	{"archive: marked before it is archived", archiveFolder, archivings, []edit{
		{"archive.go", "\t\tif err := run.a.store.Put(ctx, messageKey(", "\t\tif err := run.a.store.Put(ctx, markKey(run.queue), encodeMark(run.queue, m.Seq)); err != nil {\n\t\t\treturn err\n\t\t}\n\t\tif err := run.a.store.Put(ctx, messageKey("},
	}},
	{"archive: a mark that failed counts", archiveFolder, archiveTest("TestEveryFault"), []edit{
		{"archive.go", "\t\trun.To = run.marked // nothing is to be deleted by it\n", "\t\tif run.To > run.marked {\n\t\t\treturn nil\n\t\t}\n"},
	}},
	{"archive: what is not archived expires", archiveFolder, archivings, []edit{
		{"archive.go", "return min(seq, to), true, err", "return max(seq, to), true, err"},
	}},
	{"archive: it takes a request more than there is time for", archiveFolder, deliverySchedule("archived and deleted, 9 requests"), []edit{
		{"archive.go", "\tto, err := a.To(ctx, queue)\n\tif err != nil {\n\t\treturn Kept{To: -1}, err\n\t}\n\tif to < 0 {", "\t_, _ = a.To(ctx, queue)\n\tto, err := a.To(ctx, queue)\n\tif err != nil {\n\t\treturn Kept{To: -1}, err\n\t}\n\tif to < 0 {"},
	}},
	{"archive: a mark past a restored queue", archiveFolder, archiveTest("TestRestoredTables"), []edit{
		{"archive.go", "return min(to, it.Position), nil", "return max(to, it.Position), nil"},
	}},
	{"archive: the skipped over a message", archiveFolder, archiveTest("TestSkippedOverAMessage"), []edit{
		{"replay.go", "if there.Tombstone == \"\" {", "if there.Seq < 0 {"},
	}},
	{"archive: a key without the queue", archiveFolder, archiveTest("TestKeepAndReplay"), []edit{
		{"document.go", "fmt.Sprintf(\"%s/%019d\", folder(queue), seq)", "fmt.Sprintf(\"%s/%019d\", folder(\"\"), seq)"},
	}},
	{"archive: the skipped are not replayed", archiveFolder, archiveTest("TestSkipped"), []edit{
		{"replay.go", "if _, err := a.sorter.Skip(ctx, into, m.Seq, m.Tombstone); err != nil {", "if err := ctx.Err(); err != nil {"},
	}},
	{"archive: a hole is stepped over by a replay", archiveFolder, archiveTest("TestReplayInParts"), []edit{
		{"replay.go", "\t\tif !there && len(group) == 0 {\n\t\t\treturn nil, fmt.Errorf(\"message %d of queue %q is %w\", seq, queue, ErrNotArchived)\n\t\t}\n\t\tif !there {\n\t\t\tbreak\n\t\t}\n", "\t\tif !there {\n\t\t\tm = cursor.Message{Queue: queue, Seq: seq, Tombstone: \"missing\"}\n\t\t}\n"},
	}},
}
