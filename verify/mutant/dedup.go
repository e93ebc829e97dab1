package main

// dedupFolder is where deduplication's bugs are planted.
const dedupFolder = "pkg/dedup"

// dedupMutants are bugs in deduplication.
var dedupMutants = []mutant{
	bug("another's errors taken for our own",
		by("pkg/dedup/deduplambda", "TestErrorsOfAnotherDeduplicator"),
		"../once.go", " Outcome[R]{}, err\n\t}\n\t", " Outcome[R]{Attempt: a.run.Attempt}, err\n\t}\n\t"),
	bug("waiter has another's deadline", by(dedupFolder, "TestEachCallerHasItsOwnDeadline"),
		"flight.go", "if d.patience(ctx, a) <= 0 {", "if !f.found.row.Exists() {"),
	bug("result shared with a caller", by(dedupFolder, "TestNobodyChangesWhatIsRemembered"),
		"codec.go", "bytes.Clone(data)", "bytes.TrimSpace(data)"),
	bug("codec's panic leaves the lease", by(dedupFolder, "TestEncodingThatPanics"),
		"codec.go", "defer recovered(&err)\n\treturn json.Marshal(value)", "return json.Marshal(value)"),
	bug("release leaves the owner its fence and token", dedupSuite.in("released while it runs"),
		"repair.go", "\t\tnext.Fence++\n\t\tnext.Token = d.options.NewToken()\n", ""),
	bug("expired and claimed in one update", dedupSuite.in("expires"),
		"table_writes.go", `.Missing(), ddb.`, `.Missing(), attrValidUntil.Le(ddb.Millis(c.Now)), ddb.`),
	bug("effect runs when the wait ends", dedupSuite.in("invalidated"),
		"acquire.go", "== Running {\n\t\t\t\ta.met = true\n\t\t\t\tr, err = d.wait(ctx, a, r)\n", "== Running {\n\t\t\t\theld := r\n\t\t\t\tif r, err = d.wait(ctx, a, r); err != nil {\n\t\t\t\t\treturn remembered{}, held, true, nil\n\t\t\t\t}\n"),
	bug("fence restarts at 1", dedupSuite.in("deleted by TTL, clocks far apart"),
		"table_writes.go", `PlusFrom(ddb.Millis(c.Now), 1)`, `PlusFrom(ddb.Int(0), 1)`),
}
