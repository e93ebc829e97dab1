package main

var keyedSchedules = test{logFolder, "TestEverySmallSchedule/keyed:|TestRandomSchedules"}

func keyedTrace(name string) test { return test{logFolder, "TestTrace" + name} }

func keyedSchedule(name string) test { return smallSchedule(logFolder, "keyed: "+name) }

// keyedMutants are bugs in keyed queues.
var keyedMutants = []mutant{
	{"keyed: look beyond the watermark only (K1)", sorterFolder, keyedTrace("K1L"), []edit{
		{"settle.go", "after, more := l.cur.Low, l.cur.Low < r.upTo", "after, more := l.cur.High, l.cur.High < r.upTo"},
	}},
	{"keyed: what passed is not looked up (K1)", sorterFolder, keyedTrace("K1L"), []edit{
		{"settle.go", "\tlate := open(passed)\n", "\tlate := open(passed)[:0]\n"},
	}},
	{"keyed: a repeat is known by its own time of receipt", sorterFolder, keyedSchedule("one message by its receipt, from two"), []edit{
		{"keyed.go", "a.parts[i] = first", "a.parts[i], _ = time.Time(at), first"},
	}},
	{"keyed: the last receipt counts", sorterFolder, keyedSchedule("one message by its receipt, from two"), []edit{
		{"store_keyed.go", "\tif err != nil || there.Held {\n\t\treturn at, err", "\tif err != nil || there.Item.Exists() {\n\t\treturn at, err"},
	}},
	{"keyed: no second look (K2)", sorterFolder, keyedTrace("K2"), []edit{
		{"keyed.go", "case a.sortKey() > cur.High:", "case true:"},
	}},
	{"keyed: the second look is at what was known (K2)", sorterFolder, keyedTrace("K2"), []edit{
		{"keyed.go", "cur, err := s.readCursor(ctx, all[0].Queue)", "cur, err := s.store.Cursor(ctx, all[0].Queue, false)"},
	}},
	{"keyed: low is what was placed (K3)", sorterFolder, keyedTrace("K3"), []edit{
		{"settle.go", "low := min(read, l.first)", "low := read"},
	}},
	{"keyed: low is raised by the later moves (K3)", sorterFolder, keyedTrace("K3C"), []edit{
		{"settle.go", "\t\tlow = l.cur.Low\n", "\t\tlow = l.cur.High\n"},
	}},
	{"keyed: low is raised by the writer (K3)", sorterFolder, keyedTrace("K3W"), []edit{
		{"keyed.go", "batch, nil, cur.Low)", "batch, nil, cur.High)"},
	}},
	{"keyed: low is closed at what it is by then (K3)", sorterFolder, keyedSchedules, []edit{
		{"settle.go", "l.sorter.store.RaiseLow(ctx, l.queue, low)", "l.sorter.store.RaiseLow(ctx, l.queue, sortkey.EverySortKey)"},
	}},
	{"keyed: low is raised beyond what was read in time", sorterFolder, test{"./pkg/cursor", "TestTheTimeIsUp"}, []edit{
		{"settle.go", "l.raiseLow(ctx, min(after, l.first))", "l.raiseLow(ctx, l.first)"},
	}},
	{"keyed: all is said to be done where the time was up between two moves", sorterFolder, test{"./pkg/cursor", "TestTheTimeIsUp"}, []edit{
		{"settle.go", "l.done.More = !again", "l.done.More = false"},
	}},
	{"keyed: low is not closed", sorterFolder, keyedTrace("K1L"), []edit{
		{"settle.go", "if l.cur.Low < low {\n", "if l.cur.Low > low {\n"},
	}},
	{"keyed: the tail of the dead (K4)", sorterFolder, keyedTrace("K4T"), []edit{
		{"settle.go", "if l.cur, err = r.sorter.flush(ctx, l.cur, queuelog.OrderItemEntries); err != nil {", "if err != nil {"},
	}},
	{"keyed: a move where the flush failed (K4)", sorterFolder, keyedTrace("K4M"), []edit{
		{"settle.go", "\t\tl.lost = true\n\t\treturn nil\n\t}\n\tl.lost = flushed", "\t\tl.cur = cur\n\t\treturn nil\n\t}\n\tl.lost = flushed"},
	}},
	{"keyed: a flush that another did first (K4)", sorterFolder, keyedTrace("K4M"), []edit{
		{"log.go", "for cur.Tail.Len() > most {", "if cur.Tail.Len() > most {"},
	}},
	{"keyed: the stamp of what was known (K5)", sorterFolder, keyedTrace("K5"), []edit{
		{"log.go", "ddb.ToMillis(s.now()), s.expiry(), cur.Position", "ddb.ToMillis(cur.MovedAt), s.expiry(), cur.Position"},
	}},
	{"keyed: the clock after the read (K6)", sorterFolder, keyedTrace("K6"), []edit{
		{"settle.go", "a.EnqueuedAt.After(l.now.Add(-l.cur.Settings.Settle))", "a.EnqueuedAt.After(later.Add(-l.cur.Settings.Settle))"},
	}},
	{"keyed: no window (K6)", sorterFolder, keyedTrace("K6"), []edit{
		{"settle.go", "a.EnqueuedAt.After(l.now.Add(-l.cur.Settings.Settle))", "a.EnqueuedAt.After(l.now)"},
	}},
	{"keyed: the place of an earlier message (K7)", sorterFolder, keyedTrace("K7"), []edit{
		{"../../internal/queuelog/tail.go", "e.Key == o.Key && e.Count == o.Count && e.Seen == o.Seen", "e.Key == o.Key && e.Count == o.Count"},
		{"log.go", "p.Same(a.entry()) && p.seqs.From >= a.Seen", "p.Same(a.entry())"},
	}},
	{"keyed: an old memory (K8)", sorterFolder, keyedTrace("K8"), []edit{
		{"seen.go", "\tif now.Sub(found.read) > age {\n", "\tif now.Sub(found.read) > 1000*age*1000 {\n"},
	}},
	{"keyed: seen before the queue has come so far (K9)", sorterFolder, keyedTrace("K9"), []edit{
		{"settle.go", "if a.Seen <= l.cur.Position {", "if a.Seen >= 0 {"},
	}},
	{"keyed: answered as waiting, which is not settled (K9)", sorterFolder, keyedTrace("K9"), []edit{
		{"keyed.go", "\t\tcase a.sortKey() > cur.High && a.Seen > cur.Position:\n\t\t\ta.stale = true\n", ""},
	}},
	{"keyed: a second place after a restore (K9)", sorterFolder, keyedTrace("K9"), []edit{
		{"log.go", "if a.Seen > cur.Position {", "if a.Seen > MaxSeq {"},
	}},
	{"keyed: order items that do not join up (K10)", sorterFolder, keyedTrace("K10"), []edit{
		{"log.go", "a.stale = a.seen < unknown", "a.stale = a.seen < min(unknown, 0)"},
	}},
	{"keyed: an equal key is dropped (K11)", sorterFolder, keyedTrace("K11"), []edit{
		{"settle.go", "w.Key < seen.High.Key()", "w.sortKey() < seen.High"},
	}},
	{"keyed: a clock far ahead (K12)", sorterFolder, keyedTrace("K12"), []edit{
		{"settle.go", " || a.EnqueuedAt.After(later.Add(maxClockAhead))\n", "\n"},
	}},
	{"keyed: a place short before the end (K13)", sorterFolder, keyedTrace("K13"), []edit{
		{"log.go", "if !s.expiresSoon(all[i].ExpiresOn) {", "if true {"},
	}},
	{"keyed: far ahead of a clock read long ago (K14)", sorterFolder, keyedTrace("K14"), []edit{
		{"settle.go", "a.EnqueuedAt.After(later.Add(maxClockAhead))", "a.EnqueuedAt.After(l.now.Add(maxClockAhead))"},
	}},
	{"keyed: places on another position than was looked up", sorterFolder, keyedSchedule("two settle"), []edit{
		{"store_keyed.go", "seen.Queue, attrPosition.Eq(ddb.Int(seen.Position)), do...)", "seen.Queue, isKeyed, do...)"},
	}},
	{"keyed: a move that failed is not looked up anew", sorterFolder, keyedSchedule("two settle"), []edit{
		{"settle.go", "if err != nil || !given {\n\t\tl.lost = err == nil\n", "if err != nil || !given {\n\t\tl.placed = true\n"},
	}},
	{"keyed: looked up behind what the repeat has seen", sorterFolder, keyedSchedule("a repeat after its order item"), []edit{
		{"log.go", "a.Seen, a.EnqueuedAt, a.ExpiresOn = there.Seen, there.EnqueuedAt, there.ExpiresOn\n\ta.seen = there.Seen\n", "a.EnqueuedAt, a.ExpiresOn = there.EnqueuedAt, there.ExpiresOn\n\ta.seen = a.Seen\n"},
	}},
	{"keyed: what is due is not all that is before it", sorterFolder, keyedSchedules, []edit{
		{"settle.go", "\t\t\treturn i + 1\n", "\t\t\treturn min(i+1, 1)\n"},
	}},
	{"keyed: the late ones beyond a move are left behind", sorterFolder, test{"./pkg/cursor", "TestMoreLateOnesThanAMove"}, []edit{
		{"settle.go", "\t\tlow = late[maxPlacing-1].sortKey()\n", ""},
	}},
	{"keyed: late ones are not marked", sorterFolder, keyedTrace("K1L"), []edit{
		{"settle.go", "mark := queuelog.MarkLate\n", "mark := queuelog.Mark(0)\n"},
	}},
	{"keyed: late ones are dropped everywhere", sorterFolder, keyedTrace("K1L"), []edit{
		{"settle.go", "seen.Settings.Late == LateDrop && w.Era", "w.Era"},
	}},
	{"keyed: the watermark is the last place, late or not", sorterFolder, keyedTrace("K1L"), []edit{
		{"settle.go", "p.LateSoFar+1, w.at.seqs.To, p.LateInRow+1\n", "p.LateSoFar+1, w.at.seqs.To, p.LateInRow+1\n\t\tp.High = w.sortKey()\n"},
	}},
	{"keyed: the late ones behind those that are due", sorterFolder, keyedSchedules, []edit{
		{"settle.go", "\tfor _, w := range due {\n\t\tadd(w, 0)\n\t\tp.High, p.LateInRow = w.sortKey(), 0\n\t}\n", "\tfor i := range due {\n\t\tw := due[len(due)-1-i]\n\t\tadd(w, 0)\n\t\tp.High, p.LateInRow = max(p.High, w.sortKey()), 0\n\t}\n"},
	}},
	{"keyed: trimmed before the order item", sorterFolder, keyedSchedule("two flush"), []edit{
		{"log.go", "\ts.forEach(n, func(i int) {\n", "\t_, _, _ = s.store.TrimTail(ctx, cur, n*queuelog.OrderItemEntries)\n\ts.forEach(n, func(i int) {\n"},
	}},
	{"keyed: the first order item only, and all trimmed", sorterFolder, keyedTrace("K4T"), []edit{
		{"log.go", "\ts.forEach(n, func(i int) {\n", "\ts.forEach(1, func(i int) {\n"},
	}},
	{"keyed: a conflict gets the place", sorterFolder, keyedSchedule("two messages under one key and id"), []edit{
		{"log.go", "\t\ta.result.Outcome = Conflict\n\t\treturn nil\n", "\t\ta.Digest = there.Digest\n"},
	}},
	{"keyed: a repeat is answered as the first", sorterFolder, keyedSchedule("one message from two producers"), []edit{
		{"log.go", "a.mine = bytes.Equal(a.Op, there.Op)", "a.mine = bytes.Equal(a.Op, there.Op) || len(there.Op) > 0"},
	}},
	{"keyed: a page skips the one behind it", sorterFolder, keyedSchedule("pages of one"), []edit{
		{"settle.go", "after = page.Waiting[n-1].sortKey()\n", "after = page.Waiting[n-1].sortKey()[:len(page.Waiting[n-1].sortKey())-sortkey.TieBreakSize] + \"\\xff\"\n"},
	}},
	{"keyed: the sweep passes over what waits", sorterFolder, keyedSchedule("a new queue"), []edit{
		{"sweep_keyed.go", "return len(page.Waiting) > 0, err", "return len(page.Waiting) > maxWaiting, err"},
	}},
	{"keyed: the sweep passes over what was just placed", sorterFolder, keyedTrace("K1L"), []edit{
		{"sweep_keyed.go", "\tif seen.Low < seen.High {\n", "\tif seen.Low > seen.High {\n"},
	}},
	{"keyed: late ones are not announced where the log is not whole", sorterFolder, keyedTrace("K10"), []edit{
		{"sweep_keyed.go", "if errors.As(err, new(*MissingError)) {", "if false {"},
	}},
	{"keyed: who lost a move tries again at once", sorterFolder, test{"./pkg/cursor", "TestLateOnesSideBySide"}, []edit{
		{"contend.go", "return s.pause(ctx, firstPause<<(losses-1))", "return ctx.Err()"},
	}},
	{"keyed: a settler that loses each move goes on for longer", sorterFolder, test{"./pkg/cursor", "TestWhoLosesEachMove"}, []edit{
		{"settle.go", "r.losses > maxLosses", "r.losses > 2*maxLosses"},
	}},
	{"keyed: a weak read of what stands in order is enough", sorterFolder, keyedSchedules, []edit{
		{"places.go", "if strong || len(found) == len(places) {", "if strong || len(found) > 0 {"},
	}},
}
