package main

// sorterFolder has the code that the sorter's bugs are planted in.
const sorterFolder = "pkg/cursor"

// engineFolder has the engine on DynamoDB.
const engineFolder = "internal/dynamo"

// Tests of batches of which DynamoDB does a part: of the engine, and of who asks.
var (
	batchLeaves = test{"./internal/dynamo", "TestWhatABatchLeavesIsSaid"}
)

// schedules are the tests that walk all small schedules and random ones.
var schedules = test{"./verify/sim/cursorsim", "TestEverySmallSchedule|TestRandomSchedules"}

// shuffled are the random ones alone.
var shuffled = test{"./verify/sim/cursorsim", "TestRandomSchedules"}

func trace(name string) test { return test{"./verify/sim/cursorsim", "TestTrace" + name} }

// sorterMutants are bugs in the sorter.
var sorterMutants = []mutant{
	{"unconditional move", sorterFolder, schedules, []edit{
		{"store_cursors.go", "attrPosition.Eq(ddb.Int(over.From)), known, isNumbered", "attrPosition.Exists(), known"},
	}},
	{"move if position <= to", sorterFolder, schedules, []edit{
		{"store_cursors.go", "attrPosition.Eq(ddb.Int(over.From)), known, isNumbered", "attrPosition.Le(ddb.Int(over.To)), known"},
	}},
	{"the first copy of a move sets the position back", sorterFolder, smallSchedule(schedules.folder, "a first copy comes late"), []edit{
		{"store_cursors.go", "attrPosition.Eq(ddb.Int(over.From)), known, isNumbered", "attrPosition.Ge(ddb.Int(over.From)), known, isNumbered"},
	}},
	{"no rescan after a move", sorterFolder, schedules, []edit{
		{"advance.go", "if !p.behind {", "if mine || !p.behind {"},
	}},
	{"no look behind a move that fills the gap", sorterFolder, schedules, []edit{
		{"advance.go", "p.behind = p.behind || cur.MaxParked > over.From", "p.behind = p.behind || cur.GapOpen()"},
	}},
	{"who looks behind sees the next message only (V13)", sorterFolder, trace("V13"), []edit{
		{"advance.go", "(p.cur.GapOpen() || !p.behind)", "true"},
	}},
	{"who looks behind stops where another moved on (V12)", sorterFolder, trace("V12"), []edit{
		{"advance.go", "if !p.behind {", "if !p.behind || !mine {"},
	}},
	{"what is seen beyond a gap is not put on record", sorterFolder, shuffled, []edit{
		{"advance.go", "highest = max(highest, beyond)", "_ = beyond"},
		{"advance.go", "if parked <= look.end && look.beyond > look.end {", "if false {"},
	}},
	{"unconditional put", sorterFolder, schedules, []edit{
		{"store_messages.go", "encodeMessage(m, s.names), s.queueKey.Missing())", "encodeMessage(m, s.names), ddb.Cond{})"},
	}},
	{"own move not recognised (V2)", sorterFolder, trace("V2"), []edit{
		{"advance.go", "if !moved && cur.Position != over.To {", "if !moved {"},
	}},
	{"park without its position condition", sorterFolder, schedules, []edit{
		{"store_cursors.go", "attrPosition.Lt(ddb.Int(seq-1)), attrMaxParked.Le(", "attrMaxParked.Le("},
	}},
	{"parked cleared on an empty scan", sorterFolder, schedules, []edit{
		{"store_cursors.go", "ddb.And(attrPosition.Lt(ddb.Int(seq-1)), attrMaxParked.Le(attrPosition.Ref()), isNumbered)", "ddb.Or(attrPosition.Eq(ddb.Int(seq)), ddb.And(attrPosition.Lt(ddb.Int(seq-1)), attrMaxParked.Le(attrPosition.Ref()), attrMaxParked.Lt(ddb.Int(seq))))"},
		{"heal.go", "if look.end == p.cur.Position {\n", "if look.end == p.cur.Position {\n\t\t\tif cur, err := s.store.OpenGap(ctx, p.cur.Queue, look.end, s.now()); err == nil {\n\t\t\t\tp.cur = cur\n\t\t\t}\n"},
	}},
	{"duplicate does not advance", sorterFolder, schedules, []edit{
		{"put.go", "r.Seq > cur.Position && r.Outcome != Full", "r.Seq > cur.Position && r.Outcome != Full && r.Outcome != Duplicate"},
	}},
	{"conflict does not advance", sorterFolder, smallSchedule(schedules.folder, "two messages under one seq"), []edit{
		{"put.go", "r.Seq > cur.Position && r.Outcome != Full", "r.Seq > cur.Position && r.Outcome != Full && r.Outcome != Conflict"},
	}},
	{"heal without scan", sorterFolder, schedules, []edit{
		{"heal.go", "beyond, err := s.sweepUp(ctx, always, &p)", "beyond, err := NoSeq, error(nil)"},
	}},
	{"healer stops at the position (V3)", sorterFolder, trace("V3"), []edit{
		{"heal.go", "if !always && !cur.GapOpen() && known <= cur.Position {", "if !always && known <= cur.Position {"},
	}},
	{"healer delegates (V4)", sorterFolder, trace("V4"), []edit{
		{"heal.go", "if _, err := s.move(ctx, look, p); err != nil {", "if mine, err := s.move(ctx, look, p); err != nil || !mine {"},
	}},
	{"batch parks and stops (V5)", sorterFolder, trace("V5"), []edit{
		{"advance.go", "if err := s.park(ctx, highest, p); err != nil {", "if err := s.park(ctx, highest, p); true {"},
	}},
	{"unconditional tombstone", sorterFolder, schedules, []edit{
		{"store_messages.go", "a, err := s.put(ctx, \"put message\", s.messages, encodeMessage(m, s.names), s.queueKey.Missing())", "condition := s.queueKey.Missing()\n\tif m.Tombstone != \"\" {\n\t\tcondition = ddb.Cond{}\n\t}\n\ta, err := s.put(ctx, \"put message\", s.messages, encodeMessage(m, s.names), condition)"},
	}},
	{"gapSince not renewed (V6)", sorterFolder, trace("V6"), []edit{
		{"store_cursors.go", "attrPosition.Set(ddb.Int(over.To)), attrMaxParked.Set(ddb.Int(parked)), attrMovedAt.Set(ddb.Millis(now)),", "attrPosition.Set(ddb.Int(over.To)), attrMaxParked.Set(ddb.Int(parked)),"},
	}},
	{"full from memory (V11)", sorterFolder, trace("V11"), []edit{
		{"put.go", "if err == nil && slices.ContainsFunc(", "if err == nil && false && slices.ContainsFunc("},
	}},
	{"no look before the put (V7)", sorterFolder, trace("V7"), []edit{
		{"put.go", "case m.Seq <= cur.Position:", "case false:"},
	}},
	{"no cursor first (V1)", sorterFolder, trace("V1"), []edit{
		{"put.go", "cur, err = s.create(ctx, queue, settings)\n\t\treturn cur, true, err", "return unmade, true, nil"},
	}},
	{"retention eats what is parked (V8)", sorterFolder, trace("V8"), []edit{
		{"retention.go", "if s.retention == 0 {", "if true {"},
	}},
	{"a queue can begin anew (V9)", sorterFolder, trace("V9"), []edit{
		{"store_cursors.go", "attrFirst.Eq(ddb.Int(*c.First))", "attrFirst.Exists()"},
	}},
	{"sweep sees only gaps on record (V10)", sorterFolder, trace("V10"), []edit{
		{"sweep.go", "\t\treturn cursorFilter{}\n\t}\n\tround, err = w", "\t\treturn cursorFilter{Gaps: true}\n\t}\n\tround, err = w"},
	}},
	{"reader ends at a hole, silently", sorterFolder, schedules, []edit{
		{"read.go", "strong = !whole || !page.More && expect < upTo\n", "if strong = !whole || !page.More && expect < upTo; strong {\n\t\t\t\treturn\n\t\t\t}\n"},
	}},
	{"no strong read where a hole is seen", sorterFolder, schedules, []edit{
		{"read.go", "strong = !whole || !page.More && expect < upTo\n", "_ = whole\n"},
	}},
	{"range from the queue's begin", sorterFolder, schedules, []edit{
		{"stream.go", "from = c.Position\n", "from = c.Settings.First - 1\n"},
	}},
	{"advance that failed counts as done", sorterFolder, schedules, []edit{
		{"stateless.go", "return stream.FailedAt(raw, err)", "_, _ = stream.FailedAt(raw, err)"},
	}},
	{"the last record that fails is named", sorterFolder, test{"./pkg/cursor", "TestStatelessConsumerStopsAtWhatFails"}, []edit{
		{"stateless.go", "\t\tfor _, raw := range event.Records {\n", "\t\tvar answer events.DynamoDBEventResponse\n\t\tfor _, raw := range event.Records {\n"},
		{"stateless.go", "\t\t\t\treturn stream.FailedAt(raw, err)\n", "\t\t\t\tif answer, err = stream.FailedAt(raw, err); err != nil {\n\t\t\t\t\treturn answer, err\n\t\t\t\t}\n"},
		{"stateless.go", "\t\treturn events.DynamoDBEventResponse{}, nil\n", "\t\treturn answer, nil\n"},
	}},
	{"UnprocessedItems are lost", engineFolder, batchLeaves, []edit{
		{"engine.go", "range out.UnprocessedItems[r.Table.Name] {", "range out.UnprocessedItems[\"\"] {"},
	}},
	{"what comes late to an erased queue stays", sorterFolder, test{"./pkg/cursor", "TestLateWritesToAnErasedQueue"}, []edit{
		{"heal.go", "if errors.Is(err, ErrErased) {", "if errors.Is(err, ErrErased) && len(known) > 9 {"},
	}},
}
