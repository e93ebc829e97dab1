package main

// packSchedules walk every schedule of the small scenarios of packed runs.
func packSchedules(name string) test { return smallSchedule(schedules.folder, "packs: "+name) }

func packTrace(name string) test { return test{schedules.folder, "TestTracePack" + name} }

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
		{"heal.go", "\t\tlimit++\n", ""},
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
		{"put.go", "if settings.Packs == PacksAuto && packable(messages, inOrder(messages, places), settings.First-1) > 1 {", "if settings.Packs == PacksAuto {"},
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
		{"heal.go", "if len(m.Packed) > 0 && !cur.Settings.Packs.some() {", "if false {"},
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
	{"packs: one that is not the next", sorterFolder, test{"./pkg/cursor", "TestABatchBeyondAGapIsStoredSingly"}, []edit{
		{"put_packed.go", "if n == MaxPacked || messages[i].Seq != position+int64(n)+1 ||", "if n == MaxPacked || messages[i].Seq != messages[places[0]].Seq+int64(n) ||"},
	}},
	{"packs: one is put over a message", sorterFolder, packSchedules("a single at its first"), []edit{
		{"store_messages.go", "encodeMessage(m, s.names), s.queueKey.Missing())", "encodeMessage(m, s.names), map[bool]ddb.Cond{false: s.queueKey.Missing()}[len(m.Packed) > 0])"},
	}},
	{"packs: moved to its first", sorterFolder, packSchedules("one"), []edit{
		{"store_cursors.go", "attrPosition.Set(ddb.Int(last)), attrPackFrom", "attrPosition.Set(ddb.Int(first)), attrPackFrom"},
	}},
	{"packs: the cursor does not say where the last one begins", sorterFolder, packSchedules("a single within"), []edit{
		{"store_cursors.go", "attrPackFrom.Set(ddb.Int(first)), ", ""},
	}},
	{"packs: the cursor does not say where the last one ends", sorterFolder, packSchedules("a single within"), []edit{
		{"store_cursors.go", ", attrPackTo.Set(ddb.Int(last))", ""},
	}},
	{"packs: the cursor says that the last one is shorter", sorterFolder, packSchedules("a single within"), []edit{
		{"store_cursors.go", "attrPackTo.Set(ddb.Int(last))", "attrPackTo.Set(ddb.Int(last-1))"},
	}},
	{"packs: a committed one is overwritten", sorterFolder, packSchedules("a single at its first, and one beyond"), []edit{
		{"pack.go", "case cur.Position >= m.Seq:", "case cur.Position >= m.Seq && !cur.GapOpen():"},
	}},
	{"packs: who helped looks no more", sorterFolder, packSchedules("a single at its first, and one beyond"), []edit{
		{"pack.go", "for err == nil && len(there.Packed) > 0 {\n\t\tvar cur", "if err == nil && len(there.Packed) > 0 {\n\t\tvar cur"},
		{"pack.go", "\t\t\tbreak\n\t\t}\n\t\tswitch p :=", "\t\t\treturn there, err\n\t\t}\n\t\tswitch p :="},
	}},
	{"packs: sought 98 places back", sorterFolder, test{"./pkg/cursor", "TestABatchInOrderIsOneItem"}, []edit{
		{"pack.go", "max(seq-MaxPacked+1, 0)", "max(seq-MaxPacked+2, 0)"},
	}},
	{"packs: sought by a weak read", sorterFolder, packSchedules("a single within the one before"), []edit{
		{"pack.go", "Limit: limit, Strong: true, Backwards: true})", "Limit: limit, Backwards: true})"},
	}},
	{"packs: classified before the look", sorterFolder, packSchedules("a single within"), []edit{
		{"put.go", "\tif moved.err == nil && cur.Settings.Mode == ModeSync {\n\t\town,", "\tif early, err := s.readCursor(ctx, queue); err == nil && cur.Settings.Packs.some() {\n\t\ts.classify(ctx, messages, singles, results, pack, cur, progress{cur: early})\n\t}\n\tif moved.err == nil && cur.Settings.Mode == ModeSync {\n\t\town,"},
		{"put.go", "\tif cur.Settings.Packs.some() {\n\t\ts.classify(", "\tif false {\n\t\ts.classify("},
	}},
	{"packs: the last of one is not looked for", sorterFolder, packSchedules("without handler"), []edit{
		{"pack.go", "return seq <= c.LastPack.To &&", "return seq < c.LastPack.To &&"},
	}},
	{"packs: what others moved over is not looked for", sorterFolder, packSchedules("a single within"), []edit{
		{"put_packed.go", "case !r.occupied(looked) || own:", "case !r.occupied(looked) || !own:"},
	}},
	{"packs: one on a page counts as one message", sorterFolder, packSchedules("behind a gap that is filled"), []edit{
		{"advance.go", "\t\t\tif len(m.Packed) > 0 {\n\t\t\t\tif m.Seq == end+1", "\t\t\tif len(m.Packed) > 0 && m.Seq != end+1 {\n\t\t\t\tif m.Seq == end+1"},
	}},
	{"packs: a dead one is helped", sorterFolder, test{"./pkg/cursor", "TestADeadPackedRunIsAHole"}, []edit{
		{"heal.go", "len(look.pack.Packed) > 0 && !p.cur.GapOpen()", "len(look.pack.Packed) > 0"},
	}},
	{"packs: who helped one sees nothing behind it", sorterFolder, test{"./pkg/cursor", "TestTheSweepGoesOnBehindAPackedRun"}, []edit{
		{"heal.go", "\t\t\t\treturn beyond, err\n\t\t\t}\n\t\t\tcontinue", "\t\t\t\treturn beyond, err\n\t\t\t}\n\t\t\treturn beyond, nil"},
	}},
	{"packs: the record of one is taken for a message", sorterFolder, packSchedules("one"), []edit{
		{"heal.go", "\tdefer func() {\n\t\tif p.aged", "\tif known == cur.Position+1 {\n\t\t_, _ = s.move(ctx, piece{end: known, beyond: known}, &p)\n\t}\n\tdefer func() {\n\t\tif p.aged"},
	}},
	{"packs: a tombstone gives way to a dead one", sorterFolder, packTrace("ADeadOneIsSkippedOver"), []edit{
		{"gaps.go", "there, err := s.putSingle(ctx, Message{", "there, err := s.store.PutMessage(ctx, Message{"},
		{"gaps.go", "s.expiry(),\n\t}, Message{})", "s.expiry(),\n\t})"},
	}},
	{"packs: a reader takes a stray", sorterFolder, packTrace("ReadFromWithin"), []edit{
		{"read.go", "range item.within(expect, upTo) {", "range item.within(item.Seq-1, upTo) {"},
	}},
	{"packs: one of 101 messages", sorterFolder, test{"./pkg/cursor", "TestABatchInOrderIsOneItem"}, []edit{
		{"put_packed.go", "if n == MaxPacked ||", "if n == MaxPacked+1 ||"},
	}},
	{"packs: one beyond an older cursor is overwritten", sorterFolder, test{"./pkg/cursor", "TestAnOlderCursorCostsNoPackedRun"}, []edit{
		{"pack.go", "case cur.Position < m.Seq-1 && cur", "case false && cur"},
	}},
	{"packs: older versions take one for a message", sorterFolder, packSchedules("an older version, and a handler"), []edit{
		{"item.go", "\tif m.AmongPacks {", "\tif m.AmongPacks && len(m.Packed) == 0 {"},
	}},
	{"packs: older versions take a queue for theirs", sorterFolder, packSchedules("an older version, and the first run"), []edit{
		{"item.go", "it[attrVersion] = ddb.Int(layoutPacked)\n\t\tit[attrPacks]", "it[attrPacks]"},
	}},
	{"packs: the move does not say when it was", sorterFolder, deliverySchedule("packs: after a quiet time"), []edit{
		{"store_cursors.go", "attrPackTo.Set(ddb.Int(last)),\n\t\tattrMovedAt.Set(ddb.Millis(now)), ", "attrPackTo.Set(ddb.Int(last)), "},
	}},
	{"packs: a reader that ends within one takes all of it", sorterFolder, test{"./pkg/cursor", "TestReadsBeginWithinAPackedRun"}, []edit{
		{"pack.go", "max(after+1, m.Seq), min(upTo, m.last())", "max(after+1, m.Seq), m.last()"},
	}},
	{"packs: a claim that begins within one is handed what is behind it", sorterFolder, deliverySchedule("packs: one process"), []edit{
		{"read.go", "return slices.Insert(items, 0, there), nil", "return slices.Insert(items, 0), nil"},
	}},
	{"packs: a claim that begins within one is handed all of it", sorterFolder, deliverySchedule("packs: one process"), []edit{
		{"pack.go", "max(after+1, m.Seq), min(upTo, m.last())", "m.Seq, min(upTo, m.last())"},
	}},
	{"packs: a consumer takes a stray", sorterFolder, deliverySchedule("packs: rewound to within, beside a stray"), []edit{
		{"read.go", "return slices.Insert(items, 0, there), nil", "return slices.Insert(items, len(items), there), nil"},
	}},
	{"packs: deleted behind a consumer that is within", sorterFolder, deliverySchedule("packs: deleted behind one that is within"), []edit{
		{"retention.go", "if m.last() > upTo {", "if m.Seq > upTo {"},
	}},
	{"packs: one that a consumer is within is not kept", sorterFolder, deliverySchedule("packs: kept behind one that is within"), []edit{
		{"read.go", "return item.Seq, nil", "return after + 1, nil"},
	}},
	{"packs: the start of a consumer within one is said to be gone", sorterFolder, deliverySchedule("packs: rewound to within, beside a stray"), []edit{
		{"retention.go", "case m.Seq > to || m.last() < to:", "case m.Seq != to:"},
	}},
	{"packs: one that its cursor is too old for is skipped", sorterFolder, test{"./pkg/cursor", "TestAnOlderCursorIsNotSkippedOver"}, []edit{
		{"heal.go", "if len(m.Packed) > 0 && m.Seq > cur.Position+1 {", "if false {"},
	}},
}
