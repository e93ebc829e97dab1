package main

// logFolder has the simulator of queues with a log.
const logFolder = "./verify/sim/logsim"

var (
	arrivalSchedules = test{logFolder, "TestEverySmallSchedule/arrival:|TestRandomSchedules"}
	arrivalTables    = test{"./pkg/cursor", "TestStore/memory"}
	appendedAt       = test{"./pkg/cursor", "Append.*AtASeq|AppendAt|AKindBeside"}
)

// atSchedule is a scenario of batches that say their seqs.
func atSchedule(name string) test { return smallSchedule(logFolder, "arrival: at: "+name) }

func arrivalTrace(name string) test {
	return test{logFolder, "TestTrace" + name}
}

// arrivalMutants are bugs in queues in arrival order.
var arrivalMutants = []mutant{
	{"allocation without its begin (R1)", sorterFolder, arrivalTrace("R1"), []edit{
		{"store_order.go", "attrTailFrom.Le(from), ddb.And(", "attrTailFrom.Exists(), ddb.And("},
	}},
	{"allocation without the fingerprints (R1)", sorterFolder, arrivalTrace("R1"), []edit{
		{"fingerprints.go", "c.FingerprintsFrom <= seen && !c.Fingerprints.mayHave(e)", "c.FingerprintsFrom <= seen"},
	}},
	{"prints of more than they are (R9)", sorterFolder, arrivalTrace("R9"), []edit{
		{"fingerprints.go", "c.FingerprintsFrom = c.TailFrom - first.Seqs() - int64(kept.len())\n", "\n"},
	}},
	{"prints of the first ones, not the last", sorterFolder, arrivalTables, []edit{
		{"fingerprints.go", "c.Fingerprints = kept + fingerprintsOf(first)", "if c.Fingerprints = kept; kept == \"\" {\n\t\tc.Fingerprints = fingerprintsOf(first)\n\t}"},
	}},
	{"trimmed without a print", sorterFolder, arrivalSchedules, []edit{
		{"fingerprints.go", "c.Fingerprints = kept + fingerprintsOf(first)", "c.Fingerprints = kept"},
	}},
	{"all fingerprints kept", sorterFolder, arrivalTables, []edit{
		{"fingerprints.go", "kept = kept[more*fingerprintSize:]", "kept = kept[more*0:]"},
	}},
	{"allocation given twice", sorterFolder, arrivalSchedules, []edit{
		{"store_order.go", "MaxSeq-entries.Seqs())),\n\t\t\tddb.Not(ddb.Or(inTail...))),", "MaxSeq-entries.Seqs()))),"},
	}},
	{"prints taken as they are", sorterFolder, test{"./pkg/cursor", "TestDamagedPrints"}, []edit{
		{"item.go", "if err := c.checkFingerprints(); err != nil {", "if err := c.checkFingerprints(); err != nil && d.Err != nil {"},
	}},
	{"places taken as they are", sorterFolder, test{"./pkg/cursor", "TestDamagedPlaces"}, []edit{
		{"item_arrival.go", "e.Count < 1 || e.Count > maxArrivalMessages {", "e.Count < 0 {"},
	}},
	{"another order item taken for the tail's", sorterFolder, test{"./pkg/cursor", "TestAnOrderItemOfATime"}, []edit{
		{"log.go", "there.Entries != items[i].Entries", "there.Entries == \"\""},
	}},
	{"allocation beyond the room", sorterFolder, arrivalSchedules, []edit{
		{"store_order.go", "\t\t\tattrTail.SizeLe(queuelog.MaxTail-entries.Len()),\n", ""},
	}},
	{"repeat with its own position (R2)", sorterFolder, arrivalTrace("R2"), []edit{
		{"log.go", "a.Seen, a.EnqueuedAt, a.ExpiresOn = there.Seen, there.EnqueuedAt, there.ExpiresOn\n\ta.seen = there.Seen\n", "a.Seen, a.seen = cur.Position, cur.Position\n"},
	}},
	{"trim before the order item (R3)", sorterFolder, arrivalTrace("R3"), []edit{
		{"log.go", "\ts.forEach(n, func(i int) {\n", "\t_, _, _ = s.store.TrimTail(ctx, cur, n*queuelog.OrderItemEntries)\n\ts.forEach(n, func(i int) {\n"},
	}},
	{"flush of all that is seen (R4)", sorterFolder, arrivalTrace("R4"), []edit{
		{"log.go", "first, rest = rest.First(queuelog.OrderItemEntries)", "first, rest = rest, \"\""},
	}},
	{"place before the message (R5)", sorterFolder, arrivalTrace("R5"), []edit{
		{"append.go", "\ts.storeAll(ctx, arrivals, cur)\n\treturn s.allocateAll(ctx, arrivals)", "\tfor _, a := range arrivals {\n\t\ta.Seen, a.seen, a.mine = cur.Position, cur.Position, true\n\t}\n\terr := s.allocateAll(ctx, arrivals)\n\tif err == nil {\n\t\tfor _, a := range arrivals {\n\t\t\ta.found = false\n\t\t}\n\t\ts.storeAll(ctx, arrivals, cur)\n\t\tfor _, a := range arrivals {\n\t\t\ta.found = true\n\t\t}\n\t}\n\treturn err"},
	}},
	{"place of an earlier arrival (R6)", sorterFolder, arrivalTrace("R6"), []edit{
		{"arrival.go", "Seen: queuelog.ShortSeen(a.Seen)}", "Seen: 0}"},
		{"arrival.go", "return queuelog.ShortSeen(a.Seen) == e.Seen && len", "return len"},
	}},
	{"place short before the end (R7)", sorterFolder, arrivalTrace("R7"), []edit{
		{"append.go", "if a.open() && s.expiresSoon(a.ExpiresOn) {", "if false {"},
	}},
	{"order item expires first (R8)", sorterFolder, arrivalTrace("R8"), []edit{
		{"keep_arrival.go", "_, err := k.sorter.store.KeepUntil(ctx, k.queue, o.Last, k.sorter.orderExpiry())", "var err error"},
	}},
	{"no search before the tail", sorterFolder, arrivalSchedules, []edit{
		{"log.go", "\tsearched = least() < cur.TailFrom\n", "\tif searched = least() < cur.TailFrom; searched {\n\t\tfor _, a := range byKey {\n\t\t\ta.seen = max(a.seen, cur.TailFrom)\n\t\t}\n\t\treturn true, nil\n\t}\n"},
	}},
	{"search in the last order item only", sorterFolder, arrivalSchedules, []edit{
		{"read_log.go", "Last: cur.TailFrom, Limit: limit, Strong: true}", "Last: cur.TailFrom, Limit: 1, Strong: true, Backwards: true}"},
	}},
	{"unconditional put of an arrival", sorterFolder, arrivalSchedules, []edit{
		{"store_arrivals.go", "ddb.Or(s.queueKey.Missing(), attrExpiresOn.Le(ddb.Seconds(a.EnqueuedAt)))", "ddb.Cond{}"},
	}},
	{"unconditional trim", sorterFolder, arrivalSchedules, []edit{
		{"store_order.go", "attrTailFrom.Eq(ddb.Int(seen.TailFrom))", "isArrivalOrder"},
	}},
	{"other bytes under an id", sorterFolder, arrivalSchedules, []edit{
		{"arrival.go", "a.ID == other.ID && bytes.Equal(a.Digest, other.Digest)", "a.ID == other.ID && bytes.Equal(a.Digest[:0], other.Digest[:0])"},
	}},
	{"conflict gets a place", sorterFolder, arrivalSchedules, []edit{
		{"log.go", "\t\ta.result.Outcome = Conflict\n\t\treturn nil\n", "\t\ta.Seen, a.seen = there.Seen, there.Seen\n\t\treturn nil\n"},
	}},
	{"kept, no matter who has its id now", sorterFolder, arrivalTables, []edit{
		{"store_arrivals.go", "isThis := attrSeen.Eq(ddb.Int(seen))", "isThis := attrSeen.Exists()"},
	}},
	{"undelivered ones are not kept", sorterFolder, arrivalSchedules, []edit{
		{"keep_arrival.go", "there[i] && k.sorter.expiresSoon(a.ExpiresOn) {", "there[i] && a.ExpiresOn.Equal(k.sorter.now()) {"},
	}},
	{"second place where the first is unknown", sorterFolder, test{"./pkg/cursor", "TestARepeatWhosePlaceIsGoneIsStale"}, []edit{
		{"log.go", "a.stale = a.seen < unknown", "a.stale = a.seen < min(unknown, 0)"},
	}},
	{"at: an allocation from any position", sorterFolder, atSchedule("one batch from two producers"), []edit{
		{"store_order.go", "attrPosition.Eq(ddb.Int(first-1)), attrTail.SizeLe(queuelog.MaxTail-1)", "attrPosition.Ge(ddb.Int(first-1)), attrTail.SizeLe(queuelog.MaxTail-1)"},
	}},
	{"at: an allocation without room", sorterFolder, atSchedule("full"), []edit{
		{"store_order.go", "attrPosition.Eq(ddb.Int(first-1)), attrTail.SizeLe(queuelog.MaxTail-1)", "attrPosition.Eq(ddb.Int(first-1))"},
	}},
	{"at: ahead of an older position", sorterFolder, atSchedule("a hole, and what fills it"), []edit{
		{"append_at.go", "\tcase p.fresh:\n", "\tdefault:\n"},
		{"append_at.go", "\tdefault:\n\t\tcur, err := s.readCursor(", "\tcase p.fresh && false:\n\t\tcur, err := s.readCursor("},
	}},
	{"at: named by the seq alone", sorterFolder, atSchedule("two messages at one seq"), []edit{
		{"append_at.go", "HashOf(string(append(name, a.Digest...)))", "HashOf(string(name))"},
	}},
	{"at: named by what it is alone", sorterFolder, appendedAt, []edit{
		{"append_at.go", "name := binary.BigEndian.AppendUint64([]byte{0xff}, uint64(a.Seen))", "name := binary.BigEndian.AppendUint64([]byte{0xff}, 0)"},
	}},
	{"at: a row without a place expires where it gets one", sorterFolder, atSchedule("expires without a place, 1 faults"), []edit{
		{"append_at.go", "\tif err := s.keepStored(ctx, []*incoming{a})[0]; err != nil {\n\t\treturn false, err\n\t}\n", ""},
	}},
	{"at: what is passed is a duplicate", sorterFolder, atSchedule("two messages at one seq"), []edit{
		{"append_at.go", "e.result.Outcome = compare(m, e.Message); len", "e.result.Outcome = Duplicate; len"},
	}},
	{"at: what another stored is the own", sorterFolder, atSchedule("two messages at one seq"), []edit{
		{"append_at.go", "len(e.Op) > 0 && bytes.Equal(m.Op, e.Op)", "len(e.Op) > 0 && bytes.Equal(e.Op, e.Op)"},
	}},
	{"at: the own, whose answer was lost, is another's", sorterFolder, atSchedule("a plain append between two"), []edit{
		{"append_at.go", "len(e.Op) > 0 && bytes.Equal(m.Op, e.Op)", "bytes.Equal(m.Op, nil)"},
	}},
	// Only a server that removes elements one by one shows it.
	{"tail trimmed from the front, one by one", sorterFolder, test{"./pkg/cursor", "TestStoreAllocation"}, []edit{
		{"store_order.go", "attrTail.Index(n-1-i)", "attrTail.Index(i)"},
	}},
}
