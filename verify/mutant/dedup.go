package main

// dedupFolder is where deduplication's bugs are planted.
const dedupFolder = "pkg/dedup"

var dedupSchedules = test{"./verify/sim/dedupsim", "TestEverySmallSchedule|TestRandomSchedules"}

func dedupSchedule(name string) test { return smallSchedule(dedupSchedules.folder, name) }

func dedupTrace(name string) test { return test{dedupSchedules.folder, "TestTrace" + name} }

// dedupMutants are bugs in deduplication.
var dedupMutants = []mutant{
	{"another's errors taken for our own", dedupFolder, test{"./pkg/dedup", "TestErrorsOfAnotherDeduplicator"}, []edit{
		{"once.go", "return Outcome[R]{}, err\n\t}\n\tout := Outcome", "return Outcome[R]{Attempt: a.run.Attempt}, err\n\t}\n\tout := Outcome"},
	}},
	{"waiter has another's deadline", dedupFolder, test{"./pkg/dedup", "TestEachCallerHasItsOwnDeadline"}, []edit{
		{"flight.go", "if d.patience(ctx, a) <= 0 {", "if !f.found.row.Exists() {"},
	}},
	{"result shared with a caller", dedupFolder, test{"./pkg/dedup", "TestNobodyChangesWhatIsRemembered"}, []edit{
		{"codec.go", "bytes.Clone(data)", "bytes.TrimSpace(data)"},
	}},
	{"codec's panic leaves the lease", dedupFolder, test{"./pkg/dedup", "TestEncodingThatPanics"}, []edit{
		{"codec.go", "\tdefer recovered(&err)\n\treturn json.Marshal(value)", "\treturn json.Marshal(value)"},
	}},
	{"release leaves the owner its fence and token", dedupFolder, dedupTrace("ReleasedWhileItRuns"), []edit{
		{"repair.go", "\t\tnext.Fence++\n\t\tnext.Token = d.options.NewToken()\n", ""},
	}},
	{"expired and claimed in one update", dedupFolder, dedupSchedules, []edit{
		{"table_writes.go", `ddb.Or(attrID.Missing(), ddb.And`, `ddb.Or(attrID.Missing(), attrValidUntil.Le(ddb.Millis(c.Now)), ddb.And`},
	}},
	{"effect runs when the wait ends", dedupFolder, dedupSchedules, []edit{
		{"acquire.go", "== running {\n\t\t\t\ta.met = true\n\t\t\t\tr, err = d.wait(ctx, a, r)\n", "== running {\n\t\t\t\theld := r\n\t\t\t\tif r, err = d.wait(ctx, a, r); err != nil {\n\t\t\t\t\treturn remembered{}, held, true, nil\n\t\t\t\t}\n"},
	}},
	{"fence restarts at 1", dedupFolder, dedupSchedule("deleted by TTL, clocks far apart"), []edit{
		{"table_writes.go", `PlusFrom(ddb.Millis(c.Now), 1)`, `PlusFrom(ddb.Int(0), 1)`},
	}},
}
