package main

// dedupFolder has the code that deduplication's bugs are planted in.
const dedupFolder = "pkg/dedup"

var (
	dedupSchedules = test{"./internal/sim/dedupsim", "TestEverySmallSchedule|TestRandomSchedules"}
	dedupTables    = test{"./pkg/dedup", "TestMemoryConforms|TestDynamoConforms"}
)

func dedupSchedule(name string) test { return smallSchedule(dedupSchedules.folder, name) }

func dedupTrace(name string) test { return test{dedupSchedules.folder, "TestTrace" + name} }

// dedupMutants are bugs in deduplication. As with the sorter's, the store's
// conditions are planted in the memory store, and a few in the other one, which
// the conformance suite holds to the same.
var dedupMutants = []mutant{
	{"unconditional complete", dedupFolder, dedupSchedules, []edit{
		{"memory.go", "func(r Row) bool { return owns(r, o) },\n\t\tfunc(r *Row) { r.complete(c) })", "func(r Row) bool { return r.Exists() },\n\t\tfunc(r *Row) { r.complete(c) })"},
	}},
	{"complete by token only", dedupFolder, dedupSchedules, []edit{
		{"memory.go", "r.Token == o.Token && r.Fence == o.Fence && r.CompletedAt", "r.Token == o.Token && r.CompletedAt"},
	}},
	{"complete what is completed", dedupFolder, dedupTables, []edit{
		{"memory.go", "r.Fence == o.Fence && r.CompletedAt.IsZero()", "r.Fence == o.Fence"},
	}},
	{"complete what is completed, in the table", dedupFolder, dedupTables, []edit{
		{"dynamo.go", "#fence = :fence AND attribute_not_exists(#completedAt)\"", "#fence = :fence\""},
	}},
	{"complete by token only, in the table", dedupFolder, dedupTables, []edit{
		{"dynamo.go", "const isOwner = \"#token = :token AND #fence = :fence AND", "const isOwner = \"#token = :token AND (#fence = :fence OR #fence <> :fence) AND"},
	}},
	{"lease not looked at, in the table", dedupFolder, test{"./pkg/dedup", "TestLinearizable"}, []edit{
		{"dynamo.go", "AND #leaseUntil <= :over\"", "AND (#leaseUntil <= :over OR #leaseUntil > :over)\""},
	}},
	{"completed by anybody, in the table", dedupFolder, test{"./pkg/dedup", "TestLinearizable"}, []edit{
		{"dynamo.go", "const isOwner = \"#token = :token AND #fence = :fence AND", "const isOwner = \"(#token = :token OR #token <> :token) AND (#fence = :fence OR #fence <> :fence) AND"},
	}},
	{"calls of a process do not share a wait", dedupFolder, test{"./pkg/dedup", "TestFiguresOfACrowd"}, []edit{
		{"flight.go", "if other := f.of[k]; other != nil && other.left(now, margin) > 0 {", "if other := f.of[k]; other != nil && false {"},
	}},
	{"shared outcome for any payload", dedupFolder, test{"./pkg/dedup", "TestPayload"}, []edit{
		{"flight.go", "payload != nil && r.Payload != nil && !bytes.Equal(payload, r.Payload) {", "payload != nil && r.Payload != nil && !bytes.Equal(payload, r.Payload) && false {"},
	}},
	{"another's errors taken for our own", dedupFolder, test{"./pkg/dedup", "TestErrorsOfAnotherDeduplicator"}, []edit{
		{"once.go", "return Outcome[R]{}, foreign, err\n\t}\n\tout := Outcome", "return Outcome[R]{}, unkept, err\n\t}\n\tout := Outcome"},
	}},
	{"wrapped errors taken for our own", dedupFolder, test{"./pkg/dedup", "TestErrorsOfTheOverflowStore"}, []edit{
		{"errors.go", "e, is := any(err).(E)\n\treturn e, is", "var e E\n\treturn e, errors.As(err, &e)"},
	}},
	{"stuck effect keeps its process", dedupFolder, test{"./pkg/dedup", "TestStuckEffectKeepsNobody"}, []edit{
		{"flight.go", "return max(until.Add(margin).Sub(now), 0)", "return max(until.Add(margin).Sub(now), time.Second)"},
	}},
	{"waiter has another's deadline", dedupFolder, test{"./pkg/dedup", "TestEachCallerHasItsOwnDeadline"}, []edit{
		{"flight.go", "if d.patience(ctx, a) <= 0 {", "if !f.found.row.Exists() {"},
	}},
	{"waiter begins its wait again", dedupFolder, test{"./pkg/dedup", "TestPatienceIsNotDoubled"}, []edit{
		{"flight.go", "a.waited += time.Since(began)", "_ = began"},
	}},
	{"result shared with a caller", dedupFolder, test{"./pkg/dedup", "TestNobodyChangesWhatIsRemembered"}, []edit{
		{"codec.go", `return c.Unmarshal(bytes.Clone(data), into)`, `return c.Unmarshal(data, into)`},
	}},
	{"result shared with its owner", dedupFolder, test{"./pkg/dedup", "TestNobodyChangesWhatIsRemembered"}, []edit{
		{"codec.go", `return bytes.Clone(encoded), err`, `return encoded, err`},
	}},
	{"compressed whatever its size", dedupFolder, test{"./pkg/dedup", "TestResultTooLargeToUnpack"}, []edit{
		{"result.go", ` && len(encoded) <= maxDecoded {`, ` {`},
	}},
	{"complete after a fail in doubt", dedupFolder, test{"./pkg/dedup", "TestNothingFollowsAFailInDoubt"}, []edit{
		{"attempt.go", `a.failing = err != nil || failed`, `a.failing = failed`},
	}},
	{"callers without a principal are one", dedupFolder, test{"./pkg/dedup", "TestCallersOfALambdaAuthorizer"}, []edit{
		{"http.go", `return string(all)`, `return string(all[:0])`},
	}},
	{"invalidated result comes back into the cache", dedupFolder, test{"./pkg/dedup", "TestCache"}, []edit{
		{"cache.go", "known && found.row.Fence <= fence ||", "known && found.row.Fence < fence ||"},
	}},
	{"invalidated result comes back into a small cache", dedupFolder, test{"./pkg/dedup", "TestCache"}, []edit{
		{"cache.go", "{ c.lost = max(c.lost, fence) }", "{ _ = fence }"},
	}},
	{"result's item ends before its row", dedupFolder, test{"./pkg/dedup", "TestALateRepeatKeepsItsResult"}, []edit{
		{"attempt.go", "c.ValidUntil.After(a.placed.expiresOn) &&", "c.ValidUntil.Before(a.placed.expiresOn) &&"},
	}},
	{"codec's panic leaves the lease", dedupFolder, test{"./pkg/dedup", "TestCodecThatPanics"}, []edit{
		{"codec.go", "\tdefer recovered(&err)\n\tencoded, err = c.Marshal(value)", "\tencoded, err = c.Marshal(value)"},
	}},
	{"hook's panic leaves the lease", dedupFolder, test{"./pkg/dedup", "TestHookThatPanics"}, []edit{
		{"attempt.go", "if !judged {", "if !judged && why == nil {"},
	}},
	{"takeover keeps the token", dedupFolder, dedupSchedules, []edit{
		{"memory.go", "r.Token, r.StartedAt, r.LeaseUntil = c.Token, milliseconds(c.Now), milliseconds(c.LeaseUntil)", "if r.Token == (Token{}) {\n\t\tr.Token = c.Token\n\t}\n\tr.StartedAt, r.LeaseUntil = milliseconds(c.Now), milliseconds(c.LeaseUntil)"},
	}},
	{"takeover keeps the attempt", dedupFolder, dedupSchedules, []edit{
		{"memory.go", "\t\t\tr.Attempt++\n", "\t\t\tr.Attempt = 1\n"},
	}},
	{"takeover keeps the start", dedupFolder, dedupSchedules, []edit{
		{"memory.go", "r.Token, r.StartedAt, r.LeaseUntil = c.Token, milliseconds(c.Now), milliseconds(c.LeaseUntil)", "if r.StartedAt.IsZero() {\n\t\tr.StartedAt = milliseconds(c.Now)\n\t}\n\tr.Token, r.LeaseUntil = c.Token, milliseconds(c.LeaseUntil)"},
	}},
	{"own claim not recognised", dedupFolder, dedupSchedules, []edit{
		{"acquire.go", "mine := claimed || r.Token == c.Token && !r.completed()", "mine := claimed"},
	}},
	{"own completion not recognised", dedupFolder, dedupSchedules, []edit{
		{"attempt.go", "\tcase !a.owns(r):\n\t\treturn a.lost(ctx)\n\tcase !r.completed()", "\tcase true:\n\t\treturn a.lost(ctx)\n\tcase !r.completed()"},
	}},
	{"payload unchecked at a takeover", dedupFolder, dedupSchedules, []edit{
		{"memory.go", "|| bytes.Equal(r.Payload, c.Payload))", "|| bytes.Equal(r.Payload, c.Payload) || true)"},
	}},
	{"payload unchecked at a replay", dedupFolder, dedupSchedules, []edit{
		{"acquire.go", "case payload != nil && r.Payload != nil && !bytes.Equal(payload, r.Payload):\n\t\treturn mismatch", "case payload != nil && r.Payload != nil && !bytes.Equal(payload, r.Payload) && !r.completed():\n\t\treturn mismatch"},
	}},
	{"unconditional extend", dedupFolder, dedupSchedules, []edit{
		{"memory.go", "return owns(r, o) && r.LeaseUntil.Before(until)", "return r.Exists()"},
	}},
	{"unconditional fail", dedupFolder, dedupSchedules, []edit{
		{"memory.go", "func(r Row) bool { return owns(r, o) },\n\t\tfunc(r *Row) { r.LeaseUntil", "func(r Row) bool { return r.Exists() },\n\t\tfunc(r *Row) { r.LeaseUntil"},
	}},
	{"unconditional invalidate", dedupFolder, dedupSchedule("invalidated"), []edit{
		{"memory.go", "return r.Exists() && r.Fence == seen && !r.CompletedAt.IsZero()", "return r.Exists()"},
	}},
	{"unconditional release", dedupFolder, dedupSchedule("released by force"), []edit{
		{"memory.go", "return r.Exists() && r.Fence == m.Seen && r.CompletedAt.IsZero()", "return r.Exists()"},
	}},
	{"release leaves the owner its fence and token", dedupFolder, dedupTrace("ReleasedWhileItRuns"), []edit{
		{"memory.go", "\t\t\tr.Fence++\n\t\t\tr.Token, r.Repair = m.Token, m.Repair\n", "\t\t\tr.Repair = m.Repair\n"},
	}},
	{"fail as a deletion", dedupFolder, dedupSchedules, []edit{
		{"memory.go", "func(r *Row) { r.LeaseUntil, r.Error, r.Payload = longAgo, why, nil }", "func(r *Row) { delete(s.rows, o.Key); *r = Row{} }"},
	}},
	{"expired and claimed in one update", dedupFolder, dedupSchedules, []edit{
		{"memory.go", "\treturn !r.Exists() ||\n", "\treturn !r.Exists() || !r.ValidUntil.After(milliseconds(c.Now)) ||\n"},
	}},
	{"TTL trusted", dedupFolder, dedupSchedule("expires"), []edit{
		{"row.go", "return !r.ValidUntil.After(now)", "return !r.ValidUntil.After(longAgo)"},
	}},
	{"effect runs when the wait ends", dedupFolder, dedupSchedules, []edit{
		{"acquire.go", "== running {\n\t\t\t\tr, err = d.wait(ctx, a, r)\n", "== running {\n\t\t\t\theld := r\n\t\t\t\tif r, err = d.wait(ctx, a, r); err != nil {\n\t\t\t\t\treturn remembered{}, held, true, nil\n\t\t\t\t}\n"},
	}},
	{"effect runs after its lease", dedupFolder, dedupSchedules, []edit{
		{"acquire.go", "if !mine || !r.LeaseUntil.After(d.options.Now()) {", "if !mine {"},
	}},
	{"fence restarts at 1", dedupFolder, dedupSchedule("deleted by TTL, clocks far apart"), []edit{
		{"memory.go", "r.Fence = c.Now.UnixMilli()", "r.Fence = 0"},
	}},
	{"expiry before the lease", dedupFolder, dedupSchedule("expires before its lease would"), []edit{
		{"dedup.go", "if !leaseUntil.IsZero() && validUntil", "if false && validUntil"},
	}},
	{"no grace before TTL", dedupFolder, dedupSchedules, []edit{
		{"dedup.go", "validUntil.Add(grace + time.Second)", "validUntil.Add(time.Second)"},
	}},
	{"no margin between clocks", dedupFolder, dedupSchedules, []edit{
		{"acquire.go", "Margin: d.options.Margin", "Margin: 0"},
		{"row.go", "return r.LeaseUntil.After(now.Add(-margin))", "return r.LeaseUntil.After(now)"},
	}},
	{"stale look believed", dedupFolder, dedupSchedules, []edit{
		{"acquire.go", "if r.Fence < seen.Fence {", "if false {"},
	}},
	{"claim beyond the last attempt", dedupFolder, dedupSchedule("quarantined"), []edit{
		{"memory.go", "(c.MaxAttempts == 0 || r.Attempt < c.MaxAttempts)", "true"},
	}},
	{"cache without an end", dedupFolder, dedupSchedule("a cache"), []edit{
		{"cache.go", "if !found || !entry.until.After(now) {", "if !found {"},
	}},
	{"result stored without a place", dedupFolder, dedupSchedule("a result of its own"), []edit{
		{"result.go", "err = d.putResult(ctx, o, &made, expiresOn)", "made.expiresOn = expiresOn"},
	}},
}
