package main

// archiveFolder has the sink that is an archive.
const archiveFolder = "internal/sink/s3"

func archiveTest(pattern string) test { return test{"./internal/sink/s3", pattern} }

// archiveMutants are bugs in archives, and in the sweep that erases them.
var archiveMutants = []mutant{
	{"archive: a tenant's objects are everybody's", archiveFolder, archiveTest("TestFoldersAreApart"), []edit{
		{"object.go", "\tif of != \"\" {\n", "\tif of == \"\\x00\" {\n"},
	}},
	{"archive: a name is a way out of its folder", archiveFolder, archiveTest("TestFoldersAreApart"), []edit{
		{"object.go", "i > 0 && (c == '_' || c == '.')", "(c == '_' || c == '.' || c == '/')"},
	}},
	{"archive: the skipped are not archived", archiveFolder, archiveTest("TestReplay$"), []edit{
		{"object.go", "range b.Skipped {", "range b.Skipped[:0] {"},
	}},
	{"archive: what was written first counts", archiveFolder, archiveTest("TestReplayTakesWhatWasWrittenLast"), []edit{
		{"archive.go", "!o.LastModified.Before(source.LastModified)", "source.last < from"},
	}},
	{"archive: an object is read to its end", archiveFolder, archiveTest("TestReplayTakesWhatWasWrittenLast"), []edit{
		{"archive.go", "return source, min(to, o.first-1)", "return source, min(to, source.last)"},
	}},
	{"archive: a replay begins before its range", archiveFolder, archiveTest("TestReplayLooksAtFewObjects"), []edit{
		{"archive.go", "max(r.From-span+1, 0)", "0"},
	}},
	{"archive: the skipped over a message", archiveFolder, archiveTest("TestReplayRefuses"), []edit{
		{"archive.go", "if there.Tombstone == \"\" {", "if there.Seq < 0 {"},
	}},
	{"archive: the skipped are not replayed", archiveFolder, archiveTest("TestReplay$"), []edit{
		{"archive.go", "if _, err := sorter.Skip(ctx, r.Into, m.Seq, m.Tombstone); err != nil {", "if err := ctx.Err(); err != nil {"},
	}},
	{"archive: the first thousand objects are erased", archiveFolder, archiveTest("TestErase"), []edit{
		{"archive.go", "err != nil || !more {", "err != nil || !more || more {"},
	}},
	{"archive: nothing is left where erasing failed", archiveFolder, archiveTest("TestErase"), []edit{
		{"archive.go", "return err != nil, a.explain(err)", "return false, a.explain(err)"},
	}},
	{"archive: objects that were not deleted are not seen", archiveFolder, archiveTest("TestErase"), []edit{
		{"archive.go", "errs[i] = a.Delete(ctx, objects[i].Key)", "_ = a.Delete(ctx, objects[i].Key)"},
	}},
	{"archive: a bucket is tracked", archiveFolder, archiveTest("TestDefaults"), []edit{
		{"s3.go", "if r.Track > 0 {", "if r.Track < 0 {"},
	}},
	{"archive: a queue is erased before its objects", deliveryFolder, test{"./pkg/delivery", "TestSweepErasesWhatConsumersKept"}, []edit{
		{"erase.go", "return left || kept, err", "_ = kept\n\treturn left, err"},
	}},
	{"archive: erased queues are asked about for ever", deliveryFolder, test{"./pkg/delivery", "TestSweepErasesWhatConsumersKept"}, []edit{
		{"erase.go", "|| !erased.Erasure.Emptied.IsZero() {", "{"},
	}},
}
