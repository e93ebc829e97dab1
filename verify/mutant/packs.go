package main

// packSchedules walk every schedule of the small scenarios of packed runs.
func packSchedules(name string) test { return smallSchedule(schedules.folder, "packs: "+name) }

// packMutants are bugs in packed runs.
var packMutants = []mutant{
	{"packs: moved over from anywhere", sorterFolder, packSchedules("two of the same"), []edit{
		{"store_cursors.go", "attrPosition.Eq(ddb.Int(first-1)), attrMaxParked.Lt(ddb.Int(first))", "attrPosition.Le(ddb.Int(last)), attrMaxParked.Lt(ddb.Int(first))"},
	}},
	{"packs: moved over though a message is parked", sorterFolder, packSchedules("a single within"), []edit{
		{"store_cursors.go", "attrPosition.Eq(ddb.Int(first-1)), attrMaxParked.Lt(ddb.Int(first)), ", "attrPosition.Eq(ddb.Int(first-1)), "},
	}},
	{"packs: a position at the last proves the move", sorterFolder, packSchedules("another at the same seq"), []edit{
		{"put_packed.go", "p.moves[len(p.moves)-1].To != pack.last()) {", "p.moves[len(p.moves)-1].To != pack.last()) && p.cur.Position < pack.last() {"},
		{"put_packed.go", "|| !bytes.Equal(there.Digest, pack.Digest) {", "&& false {"},
	}},
	{"packs: another one taken for the own", sorterFolder, packSchedules("another at the same seq, as long"), []edit{
		{"put_packed.go", "len(there.Packed) != len(pack.Packed) || !bytes.Equal(there.Digest, pack.Digest)", "len(there.Packed) != len(pack.Packed)"},
	}},
	{"packs: what was stored meanwhile is not classified", sorterFolder, packSchedules("a single within"), []edit{
		{"put.go", "\tif cur.Settings.Packs.some() {\n\t\ts.classify(", "\tif false {\n\t\ts.classify("},
	}},
	{"packs: stored, though nobody looked", sorterFolder, packSchedules("a single within"), []edit{
		{"put_packed.go", "case moved.err != nil && r.Seq > max(moved.cur.Position, moved.cur.MaxParked):", "case false:"},
	}},
	{"packs: its first counts as stored singly", sorterFolder, packSchedules("another at the same seq"), []edit{
		{"put.go", "r.Outcome != Full && !r.packed", "r.Outcome != Full"},
	}},
	{"packs: a single gives way to a dead one", sorterFolder, packSchedules("a single beyond"), []edit{
		{"pack.go", "there, err = s.store.PutOver(ctx, m, there)", "return there, nil"},
	}},
	{"packs: a live one is overwritten", sorterFolder, packSchedules("a single at its first"), []edit{
		{"pack.go", "case cur.GapOpen() && cur.Settings.Packs.some():", "case true:"},
	}},
	{"packs: whatever stands there is overwritten", sorterFolder, packSchedules("two meet a dead one"), []edit{
		{"store_messages.go", "ddb.Or(s.queueKey.Missing(), isDead))", "ddb.Or(s.queueKey.Missing(), s.queueKey.Exists(), isDead))"},
	}},
	{"packs: an older position is believed", sorterFolder, test{"./pkg/cursor", "TestBatchesOfManyProcesses"}, []edit{
		{"put.go", "|| awaited(cur, messages, places)) {", ") {"},
	}},
	{"packs: one counts as one message", sorterFolder, packSchedules("a single at its first"), []edit{
		{"advance.go", "if len(m.Packed) > 0 {\n\t\t\treturn piece", "if false {\n\t\t\treturn piece"},
	}},
	{"packs: nobody helps", sorterFolder, packSchedules("one"), []edit{
		{"heal.go", "len(look.pack.Packed) > 0 && !p.cur.GapOpen()", "false"},
	}},
	{"packs: a dead one ends a skip", sorterFolder, test{"./pkg/cursor", "TestADeadPackedRunIsAHole"}, []edit{
		{"heal.go", "if len(page.Messages[0].Packed) == 0 {", "if true {"},
	}},
	{"packs: a stray wins", sorterFolder, test{"./pkg/cursor", "TestAStrayIsNobodys"}, []edit{
		{"pack.go", "single, found = m, true", "return m, true, nil"},
	}},
	{"packs: a reader begins at the next item", sorterFolder, test{"./pkg/cursor", "TestReadsBeginWithinAPackedRun"}, []edit{
		{"read.go", "return slices.Insert(items, 0, there), nil", "return slices.Insert(items, 0), nil"},
	}},
	{"packs: a reader takes one that was dead", sorterFolder, packSchedules("delivered"), []edit{
		{"read.go", "return c.Settings.Packs.some() && after < c.MaxParked", "return false"},
	}},
	{"packs: deleted in part", sorterFolder, test{"./pkg/cursor", "TestPackedRunsAreDeletedWhole"}, []edit{
		{"retention.go", "if m.last() > upTo {", "if false {"},
	}},
	{"packs: deleted before its strays", sorterFolder, test{"./pkg/cursor", "TestPackedRunsAreDeletedWhole"}, []edit{
		{"retention.go", "return seqsOf(rest[:within])", "return []int64{m.Seq}"},
	}},
	{"packs: kept as briefly as a message", sorterFolder, test{"./pkg/cursor", "TestPackedRunsOutliveStrays"}, []edit{
		{"pack.go", "return s.orderExpiry()\n\t}\n\treturn s.expiry()", "return s.expiry()\n\t}\n\treturn s.expiry()"},
	}},
	{"packs: an asynchronous queue gets them", sorterFolder, test{"./pkg/cursor", "TestPacksAreFixed"}, []edit{
		{"store_cursors.go", "c.Mode != nil && *c.Mode == ModeAsync {\n\t\tpacks", "false {\n\t\tpacks"},
	}},
	{"packs: a queue of singles gets them", sorterFolder, test{"./pkg/cursor", "TestABatchMakesAQueueWithPackedRuns"}, []edit{
		{"put.go", "if packs == PacksAuto && batch != nil && batch(s.defaults.First) {", "if packs == PacksAuto {"},
	}},
	{"packs: an asynchronous queue is made with them", sorterFolder, test{"./pkg/cursor", "TestABatchMakesAQueueWithPackedRuns"}, []edit{
		{"settings.go", "|| s.Mode != ModeSync {", "{"},
	}},
	{"packs: made, though they are off", sorterFolder, test{"./pkg/cursor", "TestPacksAreSwitchedOff"}, []edit{
		{"put.go", "if cur.Settings.Packs == PacksOn {\n\t\tsingles", "if cur.Settings.Packs.some() {\n\t\tsingles"},
	}},
	{"packs: where they are off, nobody helps or looks", sorterFolder, test{"./pkg/cursor", "TestPacksAreSwitchedOff"}, []edit{
		{"settings.go", "return p == PacksOn || p == PacksOff", "return p == PacksOn"},
	}},
	{"packs: a lost cursor is made without", sorterFolder, test{"./pkg/cursor", "TestALostCursorIsMadeAsItsMessagesAre"}, []edit{
		{"heal.go", "if page.amongPacks() {", "if page.amongPacks() && false {"},
	}},
	{"packs: one of which the cursor does not know is a hole", sorterFolder, test{"./pkg/cursor", "TestALostCursorIsMadeAsItsMessagesAre"}, []edit{
		{"heal.go", "if !cur.Settings.Packs.some() {", "if false {"},
	}},
	{"packs: one that waited long expires before its strays", sorterFolder, test{"./pkg/cursor", "TestAPackedRunThatWaitedLongIsKept"}, []edit{
		{"pack.go", "&& pack.ExpiresOn.Before(expiresOn.Add(-helpAfter)) {", "&& false {"},
	}},
	{"packs: a record's cursor is believed beyond it", sorterFolder, test{"./pkg/cursor", "TestACursorAtHandSavesALook"}, []edit{
		{"read.go", "|| cur.Settings.Packs.some() && cur.Position < upTo {", "{"},
	}},
	{"packs: a record's cursor is believed of an erased queue", sorterFolder, test{"./pkg/cursor", "TestACursorAtHandSavesALook"}, []edit{
		{"read_batch.go", "if missing := (*MissingError)(nil); errors.As(err, &missing) {", "if missing := (*MissingError)(nil); false && errors.As(err, &missing) {"},
	}},
}
