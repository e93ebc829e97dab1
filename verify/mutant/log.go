package main

// logFolder has the simulator of queues with a log.
const logFolder = "./verify/sim/logsim"

var (
	arrivalSchedules = test{logFolder, "TestEverySmallSchedule/arrival:|TestRandomSchedules"}
	arrivalTables    = test{"./pkg/cursor", "TestStore/memory"}
	keyedSchedules   = test{logFolder, "TestEverySmallSchedule/keyed:|TestRandomSchedules"}
)

func logSchedule(name string) test { return smallSchedule(logFolder, name) }

func logTrace(name string) test { return test{logFolder, "TestTrace" + name} }

// logMutants are bugs in queues in arrival order, and in keyed ones.
var logMutants = []mutant{
	{"allocation without its begin (R1)", sorterFolder, logTrace("R1"), []edit{
		{"store_order.go", "attrTailFrom.Le(from), ddb.And(", "attrTailFrom.Exists(), ddb.And("},
	}},
	{"prints of the first ones, not the last", sorterFolder, arrivalTables, []edit{
		{"fingerprints.go", "c.Fingerprints = kept + fingerprintsOf(first)", "if c.Fingerprints = kept; kept == \"\" {\n\t\tc.Fingerprints = fingerprintsOf(first)\n\t}"},
	}},
	{"repeat with its own position (R2)", sorterFolder, logTrace("R2"), []edit{
		{"log.go", "a.Seen, a.EnqueuedAt, a.ExpiresOn = there.Seen, there.EnqueuedAt, there.ExpiresOn\n\ta.seen = there.Seen\n", "a.Seen, a.seen = cur.Position, cur.Position\n"},
	}},
	{"trim before the order item (R3)", sorterFolder, logTrace("R3"), []edit{
		{"log.go", "\ts.forEach(n, func(i int) {\n", "\t_, _, _ = s.store.TrimTail(ctx, cur, n*queuelog.OrderItemEntries)\n\ts.forEach(n, func(i int) {\n"},
	}},
	{"flush of all that is seen (R4)", sorterFolder, logTrace("R4"), []edit{
		{"log.go", "first, rest = rest.First(queuelog.OrderItemEntries)", "first, rest = rest, \"\""},
	}},
	{"place before the message (R5)", sorterFolder, logTrace("R5"), []edit{
		{"append.go", "\ts.storeAll(ctx, arrivals, cur)\n\treturn s.allocateAll(ctx, arrivals)", "\tfor _, a := range arrivals {\n\t\ta.Seen, a.seen, a.mine = cur.Position, cur.Position, true\n\t}\n\terr := s.allocateAll(ctx, arrivals)\n\tif err == nil {\n\t\tfor _, a := range arrivals {\n\t\t\ta.found = false\n\t\t}\n\t\ts.storeAll(ctx, arrivals, cur)\n\t\tfor _, a := range arrivals {\n\t\t\ta.found = true\n\t\t}\n\t}\n\treturn err"},
	}},
	{"place of an earlier arrival (R6)", sorterFolder, logTrace("R6"), []edit{
		{"arrival.go", "Seen: queuelog.ShortSeen(a.Seen)}", "Seen: 0}"},
		{"arrival.go", "return queuelog.ShortSeen(a.Seen) == e.Seen && len", "return len"},
	}},
	{"place short before the end (R7)", sorterFolder, logTrace("R7"), []edit{
		{"append.go", "if a.open() && s.expiresSoon(a.ExpiresOn) {", "if false {"},
	}},
	{"order item expires first (R8)", sorterFolder, logTrace("R8"), []edit{
		{"keep_arrival.go", "_, err := k.sorter.store.KeepUntil(ctx, k.queue, o.Last, k.sorter.orderExpiry())", "var err error"},
	}},
	{"search in the last order item only", sorterFolder, arrivalSchedules, []edit{
		{"read_log.go", "Last: cur.TailFrom, Limit: limit, Strong: true}", "Last: cur.TailFrom, Limit: 1, Strong: true, Backwards: true}"},
	}},
	{"conflict gets a place", sorterFolder, arrivalSchedules, []edit{
		{"log.go", "\t\ta.result.Outcome = Conflict\n\t\treturn nil\n", "\t\ta.Seen, a.seen = there.Seen, there.Seen\n\t\treturn nil\n"},
	}},
	{"at: ahead of an older position", sorterFolder, logSchedule("arrival: at: a hole, and what fills it"), []edit{
		{"append_at.go", "\tcase p.fresh:\n", "\tdefault:\n"},
		{"append_at.go", "\tdefault:\n\t\tcur, err := existing(", "\tcase p.fresh && false:\n\t\tcur, err := existing("},
	}},
	{"at: named by the seq alone", sorterFolder, logSchedule("arrival: at: two messages at one seq"), []edit{
		{"append_at.go", "HashOf(string(append(name, a.Digest...)))", "HashOf(string(name))"},
	}},
	// Only a server that removes elements one by one shows it.
	{"tail trimmed from the front, one by one", sorterFolder, test{"./pkg/cursor", "TestStoreAllocation"}, []edit{
		{"store_order.go", "attrTail.Index(n-1-i)", "attrTail.Index(i)"},
	}},
	{"keyed: look beyond the watermark only (K1)", sorterFolder, logTrace("K1L"), []edit{
		{"settle.go", "after, more := l.cur.Low, l.cur.Low < r.upTo", "after, more := l.cur.High, l.cur.High < r.upTo"},
	}},
	{"keyed: a repeat is known by its own time of receipt", sorterFolder, logSchedule("keyed: one message by its receipt, from two"), []edit{
		{"keyed.go", "a.parts[i] = first", "a.parts[i], _ = time.Time(at), first"},
	}},
	{"keyed: the second look is at what was known (K2)", sorterFolder, logTrace("K2"), []edit{
		{"keyed.go", "existing(s.readCursor(ctx, all[0].Queue))", "existing(s.store.Cursor(ctx, all[0].Queue, false))"},
	}},
	{"keyed: low is raised by the later moves (K3)", sorterFolder, logTrace("K3C"), []edit{
		{"settle.go", "\t\tlow = l.cur.Low\n", "\t\tlow = l.cur.High\n"},
	}},
	{"keyed: low is raised by the writer (K3)", sorterFolder, logTrace("K3W"), []edit{
		{"keyed.go", "batch, nil, cur.Low)", "batch, nil, cur.High)"},
	}},
	{"keyed: low is closed at what it is by then (K3)", sorterFolder, keyedSchedules, []edit{
		{"settle.go", "l.sorter.store.RaiseLow(ctx, l.queue, low)", "l.sorter.store.RaiseLow(ctx, l.queue, sortkey.EverySortKey)"},
	}},
	{"keyed: a move where the flush failed (K4)", sorterFolder, logTrace("K4M"), []edit{
		{"settle.go", "\t\tl.lost = true\n\t\treturn nil\n\t}\n\tl.lost = flushed", "\t\tl.cur = cur\n\t\treturn nil\n\t}\n\tl.lost = flushed"},
	}},
	{"keyed: the stamp of what was known (K5)", sorterFolder, logTrace("K5"), []edit{
		{"log.go", "ddb.ToMillis(s.now()), s.expiry(), cur.Position", "ddb.ToMillis(cur.MovedAt), s.expiry(), cur.Position"},
	}},
	{"keyed: the clock after the read (K6)", sorterFolder, logTrace("K6"), []edit{
		{"settle.go", "a.EnqueuedAt.After(l.now.Add(-l.cur.Settings.Settle))", "a.EnqueuedAt.After(later.Add(-l.cur.Settings.Settle))"},
	}},
	{"keyed: the place of an earlier message (K7)", sorterFolder, logTrace("K7"), []edit{
		{"../../internal/queuelog/tail.go", "e.Key == o.Key && e.Count == o.Count && e.Seen == o.Seen", "e.Key == o.Key && e.Count == o.Count"},
		{"log.go", "p.Same(a.entry()) && p.seqs.From >= a.Seen", "p.Same(a.entry())"},
	}},
	{"keyed: an old memory (K8)", sorterFolder, logTrace("K8"), []edit{
		{"seen.go", "\tif now.Sub(found.read) > age {\n", "\tif now.Sub(found.read) > 1000*age*1000 {\n"},
	}},
	{"keyed: seen before the queue has come so far (K9)", sorterFolder, logTrace("K9"), []edit{
		{"settle.go", "if a.Seen <= l.cur.Position {", "if a.Seen >= 0 {"},
	}},
	{"keyed: order items that do not join up (K10)", sorterFolder, logTrace("K10"), []edit{
		{"log.go", "a.stale = a.seen < unknown", "a.stale = a.seen < min(unknown, 0)"},
	}},
	{"keyed: an equal key is dropped (K11)", sorterFolder, logTrace("K11"), []edit{
		{"settle.go", "w.Key < seen.High.Key()", "w.sortKey() < seen.High"},
	}},
	{"keyed: far ahead of a clock read long ago (K14)", sorterFolder, logTrace("K14"), []edit{
		{"settle.go", "a.EnqueuedAt.After(later.Add(maxClockAhead))", "a.EnqueuedAt.After(l.now.Add(maxClockAhead))"},
	}},
	{"keyed: looked up behind what the repeat has seen", sorterFolder, logSchedule("keyed: a repeat after its order item"), []edit{
		{"log.go", "a.Seen, a.EnqueuedAt, a.ExpiresOn = there.Seen, there.EnqueuedAt, there.ExpiresOn\n\ta.seen = there.Seen\n", "a.EnqueuedAt, a.ExpiresOn = there.EnqueuedAt, there.ExpiresOn\n\ta.seen = a.Seen\n"},
	}},
	{"keyed: the watermark is the last place, late or not", sorterFolder, logTrace("K1L"), []edit{
		{"settle.go", "p.LateSoFar+1, w.at.seqs.To, p.LateInRow+1\n", "p.LateSoFar+1, w.at.seqs.To, p.LateInRow+1\n\t\tp.High = w.sortKey()\n"},
	}},
	{"keyed: the late ones behind those that are due", sorterFolder, keyedSchedules, []edit{
		{"settle.go", "\tfor _, w := range due {\n\t\tadd(w, 0)\n\t\tp.High, p.LateInRow = w.sortKey(), 0\n\t}\n", "\tfor i := range due {\n\t\tw := due[len(due)-1-i]\n\t\tadd(w, 0)\n\t\tp.High, p.LateInRow = max(p.High, w.sortKey()), 0\n\t}\n"},
	}},
	{"keyed: the first order item only, and all trimmed", sorterFolder, logTrace("K4T"), []edit{
		{"log.go", "\ts.forEach(n, func(i int) {\n", "\ts.forEach(1, func(i int) {\n"},
	}},
}
