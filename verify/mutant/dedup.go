package main

// The folders that deduplication's bugs are planted in.
const (
	dedupFolder       = "pkg/dedup"
	dedupLambdaFolder = "pkg/dedup/deduplambda"
)

var (
	dedupSchedules = test{"./verify/sim/dedupsim", "TestEverySmallSchedule|TestRandomSchedules"}
	dedupTables    = test{"./pkg/dedup", "TestTableConforms"}
)

func dedupSchedule(name string) test { return smallSchedule(dedupSchedules.folder, name) }

func dedupTrace(name string) test { return test{dedupSchedules.folder, "TestTrace" + name} }

// dedupMutants are bugs in deduplication.
var dedupMutants = []mutant{
	{"unconditional swap", dedupFolder, dedupSchedules, []edit{
		{"table_writes.go", "ddb.And(t.isKnown(),\n\t\tt.at(attrToken).Eq(ddb.Blob(seen.Token[:])),\n\t\tt.at(attrFence).Eq(ddb.Int(seen.Fence)),\n\t\tt.at(attrLeaseUntil).Eq(ddb.Millis(seen.LeaseUntil)), ended)", "ddb.Or(t.isKnown(), ended)"},
	}},
	{"complete what is completed", dedupFolder, dedupTables, []edit{
		{"table_writes.go", "t.at(attrLeaseUntil).Eq(ddb.Millis(seen.LeaseUntil)), ended)", "ddb.Or(t.at(attrLeaseUntil).Eq(ddb.Millis(seen.LeaseUntil)), ended))"},
	}},
	{"lease not looked at", dedupFolder, test{"./pkg/dedup", "TestLinearizable"}, []edit{
		{"table_writes.go", `t.at(attrLeaseUntil).Le(ddb.Millis(c.Now.Add(-c.Margin)))`, `t.at(attrLeaseUntil).Exists()`},
	}},
	{"lost attempt goes on with another's row", dedupFolder, test{"./pkg/dedup", "TestLinearizable"}, []edit{
		{"attempt.go", "err != nil || done || !a.owns(r) || r.completed()", "err != nil || done || r.completed()"},
	}},
	{"attempt in doubt does not go on with its own row", dedupFolder, test{"./pkg/dedup", "TestAnExtensionInDoubt"}, []edit{
		{"attempt.go", "\t\ta.row = r\n\t}\n", "\t\treturn r, false, nil\n\t}\n"},
	}},
	{"shared outcome for any payload", dedupFolder, test{"./pkg/dedup", "TestPayload"}, []edit{
		{"flight.go", "payload != nil && r.Payload != nil && !bytes.Equal(payload, r.Payload) {", "payload != nil && r.Payload != nil && !bytes.Equal(payload, r.Payload) && false {"},
	}},
	{"another's errors taken for our own", dedupFolder, test{"./pkg/dedup", "TestErrorsOfAnotherDeduplicator"}, []edit{
		{"once.go", "return Outcome[R]{}, err\n\t}\n\tout := Outcome", "return Outcome[R]{Attempt: a.run.Attempt}, err\n\t}\n\tout := Outcome"},
	}},
	{"wrapped errors taken for our own", dedupLambdaFolder, test{"./pkg/dedup/deduplambda", "TestErrorsOfTheOverflowStore"}, []edit{
		{"http.go", "e, is := any(err).(E)\n\treturn e, is", "var e E\n\treturn e, errors.As(err, &e)"},
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
		{"attempt.go", " || r.completed() || r.givenBack() {\n\t\t\treturn r, done, err", " || r.completed() {\n\t\t\treturn r, done, err"},
	}},
	{"callers without a principal are one", dedupLambdaFolder, test{"./pkg/dedup/deduplambda", "TestCallersOfALambdaAuthorizer"}, []edit{
		{"http.go", `return string(all)`, `return string(all[:0])`},
	}},
	{"result's item ends before its row", dedupFolder, test{"./pkg/dedup", "TestALateRepeatKeepsItsResult"}, []edit{
		{"attempt.go", "validUntil.After(a.placed.expiresOn) &&", "validUntil.Before(a.placed.expiresOn) &&"},
	}},
	{"codec's panic leaves the lease", dedupFolder, test{"./pkg/dedup", "TestCodecThatPanics"}, []edit{
		{"codec.go", "\tdefer recovered(&err)\n\tencoded, err = c.Marshal(value)", "\tencoded, err = c.Marshal(value)"},
	}},
	{"hook's panic leaves the lease", dedupFolder, test{"./pkg/dedup", "TestHookThatPanics"}, []edit{
		{"attempt.go", "if !judged {", "if !judged && why == nil {"},
	}},
	{"takeover keeps the token", dedupFolder, dedupSchedules, []edit{
		{"table_writes.go", `		t.at(attrToken).Set(ddb.Blob(c.Token[:])),`, `		t.at(attrToken).SetIfMissing(ddb.Blob(c.Token[:])),`},
	}},
	{"takeover keeps the attempt", dedupFolder, dedupSchedules, []edit{
		{"table_writes.go", `t.at(attrAttempt).PlusFrom(ddb.Int(0), 1)`, `t.at(attrAttempt).Set(ddb.Int(1))`},
	}},
	{"takeover keeps the start", dedupFolder, dedupSchedules, []edit{
		{"table_writes.go", `t.at(attrStartedAt).Set(ddb.Millis(c.Now))`, `t.at(attrStartedAt).SetIfMissing(ddb.Millis(c.Now))`},
	}},
	{"own completion not recognised", dedupFolder, dedupSchedules, []edit{
		{"attempt.go", "\tcase !a.owns(r):\n\t\treturn a.lost(ctx)\n\tcase !r.completed()", "\tcase true:\n\t\treturn a.lost(ctx)\n\tcase !r.completed()"},
	}},
	{"payload unchecked at a takeover", dedupFolder, dedupSchedules, []edit{
		{"table_writes.go", "t.at(attrPayloadHash).Eq(ddb.Blob(c.Payload)))\n", "t.at(attrPayloadHash).Exists())\n"},
	}},
	{"payload unchecked at a replay", dedupFolder, dedupSchedules, []edit{
		{"acquire.go", "case payload != nil && r.Payload != nil && !bytes.Equal(payload, r.Payload):\n\t\treturn mismatch", "case payload != nil && r.Payload != nil && !bytes.Equal(payload, r.Payload) && !r.completed():\n\t\treturn mismatch"},
	}},
	{"release leaves the owner its fence and token", dedupFolder, dedupTrace("ReleasedWhileItRuns"), []edit{
		{"repair.go", "\t\tnext.Fence++\n\t\tnext.Token = d.options.NewToken()\n", ""},
	}},
	{"fail forgets fence and attempt", dedupFolder, dedupSchedules, []edit{
		{"attempt.go", "r.LeaseUntil, r.Error, r.Payload = longAgo, why, nil", "r.LeaseUntil, r.Error, r.Payload, r.Fence, r.Attempt = longAgo, why, nil, 0, 0"},
	}},
	{"expired and claimed in one update", dedupFolder, dedupSchedules, []edit{
		{"table_writes.go", `ddb.Or(ddb.Path(t.names.IDKey).Missing(), ddb.And`, `ddb.Or(ddb.Path(t.names.IDKey).Missing(), t.at(attrValidUntil).Le(ddb.Millis(c.Now)), ddb.And`},
	}},
	{"TTL trusted", dedupFolder, dedupSchedule("expires"), []edit{
		{"row.go", "return !r.ValidUntil.After(now)", "return !r.ValidUntil.After(longAgo)"},
	}},
	{"effect runs when the wait ends", dedupFolder, dedupSchedules, []edit{
		{"acquire.go", "== running {\n\t\t\t\ta.met = true\n\t\t\t\tr, err = d.wait(ctx, a, r)\n", "== running {\n\t\t\t\theld := r\n\t\t\t\tif r, err = d.wait(ctx, a, r); err != nil {\n\t\t\t\t\treturn remembered{}, held, true, nil\n\t\t\t\t}\n"},
	}},
	{"effect runs after its lease", dedupFolder, dedupSchedules, []edit{
		{"acquire.go", "if !mine || !r.LeaseUntil.After(d.options.Now()) {", "if !mine {"},
	}},
	{"fence restarts at 1", dedupFolder, dedupSchedule("deleted by TTL, clocks far apart"), []edit{
		{"table_writes.go", `PlusFrom(ddb.Millis(c.Now), 1)`, `PlusFrom(ddb.Int(0), 1)`},
	}},
	{"expiry before the lease", dedupFolder, dedupSchedule("expires before its lease would"), []edit{
		{"dedup.go", "if !leaseUntil.IsZero() && validUntil", "if false && validUntil"},
	}},
	{"expiry with the lease, without the margin", dedupFolder, dedupSchedule("expires before its lease would, clocks apart"), []edit{
		{"dedup.go", "validUntil.Before(leaseUntil.Add(d.options.Margin)) {\n\t\tvalidUntil = leaseUntil.Add(d.options.Margin)", "validUntil.Before(leaseUntil) {\n\t\tvalidUntil = leaseUntil"},
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
		{"table_writes.go", `t.at(attrAttempt).Lt(ddb.Int(c.MaxAttempts))`, `t.at(attrAttempt).Exists()`},
	}},
	{"a wait is no duplicate", dedupFolder, test{"./pkg/dedup", "TestAHeldIDIsADuplicate"}, []edit{
		{"acquire.go", "a.met = a.met || means == done || means == running", "a.met = a.met || means == done"},
		{"acquire.go", "\t\t\t\ta.met = true\n", ""},
	}},
	{"look believed that shows what was invalidated here", dedupFolder, dedupSchedule("looks first, and invalidated"), []edit{
		{"acquire.go", "if err != nil || d.cache.forgot(r) {", "if err != nil {"},
	}},
	{"result stored without a place", dedupFolder, dedupSchedule("a result of its own"), []edit{
		{"result.go", "err = d.putResult(ctx, o, &made, expiresOn)", "made.expiresOn = expiresOn"},
	}},
}
