package main

func cursorTest(pattern string) test { return test{"./pkg/cursor", pattern} }

// recoverMutants are bugs in where a queue starts, in what a clock that is ahead does, and in keys
// that begin anew.
var recoverMutants = []mutant{
	{"start: a refused put makes the queue", sorterFolder, smallSchedule("./verify/sim/cursorsim", "a refused put makes no queue"), []edit{
		{"put.go", "return m.Seq > unmade.Position && unmade.fits(m.Seq) && m.startsAt(settings.First)", "return m.Seq >= 0"},
	}},
	{"start: a refusal by an older state", sorterFolder, cursorTest("TestARefusedPutAsksStrongly"), []edit{
		{"put.go", "if cur, err = s.readCursor(ctx, queue); err != nil || cur.Exists() {", "if cur, err = s.store.Cursor(ctx, queue, false); err != nil || cur.Exists() {"},
	}},
	{"start: here is the last of several", sorterFolder, cursorTest("TestAQueueStartsWhereItsFirstMessageSays/memory"), []edit{
		{"put.go", "case here == FirstHere || m.Seq < here:", "case here == FirstHere || m.Seq > here:"},
	}},
	{"start: another first seq is passed over", sorterFolder, cursorTest("TestAQueueStartsWhereItsFirstMessageSays/memory"), []edit{
		{"put.go", "|| *m.First == first\n", "|| *m.First >= 0\n"},
	}},
	{"start: who comes second starts the queue too", sorterFolder, smallSchedule("./verify/sim/cursorsim", "two start a queue, each where it is"), []edit{
		{"store_cursors.go", "encodeCursor(c, s.names), s.queueKey.Missing())", "encodeCursor(c, s.names), ddb.Or(s.queueKey.Missing(), attrMaxParked.Exists()))"},
	}},
	{"ahead: a refused key makes the queue", sorterFolder, cursorTest("TestAClockThatIsAhead/memory"), []edit{
		{"put.go", "if taken(unmade) {", "if taken != nil {"},
	}},
	{"ahead: no bound", sorterFolder, cursorTest("TestAClockThatIsAhead/memory"), []edit{
		{"keyed.go", "case !at.After(latest), isReceived(a.parts[i]):", "case true:"},
	}},
	{"ahead: the bound of the defaults", sorterFolder, cursorTest("TestAClockThatIsAhead/memory"), []edit{
		{"keyed.go", "latest := s.now().Add(cur.Settings.ClockAhead)", "latest := s.now().Add(s.defaults.ClockAhead)"},
	}},
	{"ahead: a repeat gets its own time of receipt", sorterFolder, cursorTest("TestAClockThatIsAhead/memory"), []edit{
		{"keyed.go", "a.parts[i], a.result.ClockAhead = sortkey.Received(m.Received), true", "a.parts[i], a.result.ClockAhead = m.Received, true\n\t\t\tkey, _ = of.Key(a.parts...)"},
	}},
	{"late: the count in a row goes on behind one that is not", sorterFolder, keyedSchedules, []edit{
		{"settle.go", "p.High, p.LateInRow = w.sortKey(), 0", "p.High = w.sortKey()"},
	}},
	{"late: the count in a row is kept where it ends", sorterFolder, keyedSchedules, []edit{
		{"store_keyed.go", "attrLateInRow.Remove()", "attrLateInRow.Set(ddb.Int(1))"},
	}},
	{"late: the writer counts what a settler has placed", sorterFolder, cursorTest("TestALateOneIsCountedOnce"), []edit{
		{"log.go", "a.at.Has(queuelog.MarkUnlinked), a.placed", "a.at.Has(queuelog.MarkUnlinked), a.mine"},
	}},
	{"late: enqueue counts what a settler has placed", "internal/intake", test{"./functions/enqueue", "TestALateOneIsCountedOnce"}, []edit{
		{"intake.go", "if !r.Placed {", "if r.Seq < 0 {"},
	}},
	{"anew: what was stored beside it is left behind", sorterFolder, keyedSchedule("the keys begin anew beside a writer"), []edit{
		{"restart.go", "p.High, p.LateInRow, p.Restart = cur.High.Era().Next().Begin(),", "p.Low, p.High, p.LateInRow, p.Restart = cur.High.Era().Next().Begin(), cur.High.Era().Next().Begin(),"},
	}},
	{"anew: the stream's filter holds the keys of the next era back", sorterFolder, cursorTest("TestEras"), []edit{
		{"../../internal/sortkey/sort_key.go", `eraTag = "\x0f"`, `eraTag = "\x80"`},
	}},
	{"anew: keys of the first era for ever", sorterFolder, cursorTest("TestKeysBeginAnew"), []edit{
		{"keyed.go", "a.Key, a.Era, a.Digest = key, cur.High.Era(), a.digest()", "a.Key, a.Digest = key, a.digest()"},
	}},
	{"anew: the era is not read", sorterFolder, cursorTest("TestKeysBeginAnew"), []edit{
		{"item_arrival.go", "a.Key, a.Era = stored.Key(), stored.Era()", "a.Key = stored.Key()"},
	}},
	{"anew: the log says that it was late", sorterFolder, keyedSchedule("the keys begin anew before a window is over"), []edit{
		{"read_arrival.go", "if p.Has(queuelog.MarkRestart) {", "if p.Has(queuelog.MarkUnlinked) {"},
	}},
	{"anew: an order that was done is on record again", "pkg/delivery", test{"./functions/delivery", "TestRestartKeys/memory"}, []edit{
		{"erase.go", "if cur.RestartedBy(o.Op) {", "if cur.RestartedBy(o.Reason) {"},
	}},
}
