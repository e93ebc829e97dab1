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
	{"archive: what was written first counts", archiveFolder, archiveTest("TestReplayTakesWhatWasWrittenLast"), []edit{
		{"archive.go", "!o.LastModified.Before(source.LastModified)", "source.last < from"},
	}},
	{"archive: an object is read to its end", archiveFolder, archiveTest("TestReplayTakesWhatWasWrittenLast"), []edit{
		{"archive.go", "return source, min(to, o.first-1)", "return source, min(to, source.last)"},
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
	{"archive: objects that were not deleted are not seen", archiveFolder, archiveTest("TestErase"), []edit{
		{"archive.go", "errs[i] = a.Delete(ctx, objects[i].Key)", "_ = a.Delete(ctx, objects[i].Key)"},
	}},
	{"archive: a bucket is tracked", archiveFolder, archiveTest("TestDefaults"), []edit{
		{"s3.go", "if r.Track > 0 {", "if r.Track < 0 {"},
	}},
}
