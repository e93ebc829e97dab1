package main

// quotaFolder has the accounts of what tenants take.
const quotaFolder = "internal/quota"

var (
	accounts       = test{"./internal/quota", "TestAccountConforms/memory|TestTakeThatGoesWrong"}
	debts          = test{"./internal/quota", "TestProcessesShareALimit|TestALargeRequest|TestWhatARefusedRequestIsTold"}
	leases         = test{"./internal/quota", "TestLeases|TestALeaseThat|TestNoTenantHasMore"}
	shares         = test{"./functions/process", "TestATenantsShare|TestAPlaceIsKept|TestACounterThat"}
	shardSchedules = test{"./functions/source", "TestEverySmallSchedule"}
)

// quotaMutants are ways in which a tenant takes too much, or nothing any more.
var quotaMutants = []mutant{
	{"quota: two records of one seq take it twice, for ever", "internal/intake", shardSchedules, []edit{
		{"intake.go", "if err := cursor.Validate(p.messages); err != nil {", "if err := cursor.Validate(nil); err != nil {"},
	}},
	{"quota: a call that contradicts itself takes it", "internal/intake", test{"./functions/enqueue", "TestARefusedCallTakesNoQuota"}, []edit{
		{"intake.go", "if err := cursor.Validate(p.messages); err != nil {", "if err := cursor.Validate(nil); err != nil {"},
	}},
	{"quota: what is more than is left never passes", quotaFolder, shardSchedules, []edit{
		{"share.go", "take[kind], most[kind] = lack, limit-1+s.unused(kind) // a debt", "take[kind], most[kind] = lack, limit-lack"},
	}},
	{"quota: nothing bounds a debt", quotaFolder, debts, []edit{
		{"share.go", "limit-1+s.unused(kind) // a debt", "1<<60"},
		{"share.go", "s.taken(kind, limits)-s.unused(kind) >= limits.inWindow(kind)", "false"},
	}},
	{"quota: a share is taken beyond the limit", quotaFolder, test{"./internal/quota", "TestWhatIsTakenAheadIsNoDebt"}, []edit{
		{"share.go", "most[kind] = limit - take[kind]", "most[kind] = limit"},
	}},
	{"quota: what a process has left is taken for used", quotaFolder, debts, []edit{
		{"share.go", "s.taken(kind, limits)-s.unused(kind) >=", "s.taken(kind, limits) >="},
	}},
	{"quota: what is free is on no account", quotaFolder, test{"./internal/quota", "TestATenantGetsItsLimitInEachWindow|TestProcessesShareALimit"}, []edit{
		{"share.go", "has := s.given[kind] - s.owed[kind]", "has := s.given[kind]"},
		{"share.go", "max(n-s.owed[kind], 0)", "n"},
	}},
	{"quota: a repeat takes again", quotaFolder, accounts, []edit{
		{"store.go", ", attrOp.Ne(ddb.Text(op))}", "}"},
	}},
	{"quota: an account of another window is taken from", quotaFolder, accounts, []edit{
		{"store.go", "attrBegins.Eq(ddb.Seconds(w.Start))", "attrAccount.Exists()"},
	}},
	{"quota: an account is moved as another left it", quotaFolder, accounts, []edit{
		{"store.go", "unchanged := attrOp.Eq(ddb.Text(seen.Op))", "unchanged := attrOp.Exists()"},
	}},
	{"quota: an account is made where one is", quotaFolder, accounts, []edit{
		{"store.go", "unchanged = attrOp.Missing()", "unchanged = ddb.Cond{}"},
	}},
	{"quota: a move forgets what is taken", quotaFolder, debts, []edit{
		{"quota.go", "taken := s.there.in(w, limits)", "taken := Amounts{}"},
	}},
	{"quota: an answer sends a caller back before the debt is paid", quotaFolder, debts, []edit{
		{"share.go", "max(s.taken(kind, limits)/limits.inWindow(kind), 1)", "1"},
		{"share.go", "time.Duration(passed)", "time.Duration(int64(passed))"},
	}},
	{"leases: a place is taken that another has", quotaFolder, leases, []edit{
		{"leases.go", "If: free, Quiet: true,", "If: ddb.Or(free, lease.by().Exists()), Quiet: true,"},
	}},
	{"leases: a place of a process that died is never free again", quotaFolder, leases, []edit{
		{"leases.go", "lease.until().Lt(ddb.Millis(now))", "lease.until().Lt(ddb.Millis(time.Unix(0, 0)))"},
	}},
	{"leases: a place is free before its time is over", quotaFolder, leases, []edit{
		{"leases.go", "lease.until().Lt(ddb.Millis(now))", "lease.until().Lt(ddb.Millis(now.Add(time.Hour)))"},
	}},
	{"leases: a repeat takes a second place", quotaFolder, leases, []edit{
		{"leases.go", "\t\t\tlease.by().Eq(ddb.Text(lease.op)),\n", ""},
	}},
	{"leases: one that is over gives another's back", quotaFolder, leases, []edit{
		{"leases.go", "If: l.by().Eq(ddb.Text(l.op)), Do:", "If: l.by().Exists(), Do:"},
	}},
	{"leases: what is given back stays taken", quotaFolder, leases, []edit{
		{"leases.go", "l.until().Remove(), l.by().Remove()", "l.by().Remove()"},
	}},
	{"leases: all tenants have one share", quotaFolder, leases, []edit{
		{"leases.go", "ddb.Text(leasesBegin + tenant)", "ddb.Text(leasesBegin)"},
	}},
	{"leases: one that finds a place taken looks for no other", quotaFolder, leases, []edit{
		{"leases.go", "if !lease.next(a.Item, now) {", "if lease.next(a.Item, now) {"},
	}},
	{"share: a queue beyond it is woken up by nobody", "functions/process", shares, []edit{
		{"aside.go", "s.wakeUp(a.Queue, a.Consumer, now.Add", "_ = (now.Add"},
	}},
	{"share: a queue beyond it is delivered", "functions/process", shares, []edit{
		{"handler.go", "if !taken {", "if !taken && event.Deliver[0].Queue == \"\" {"},
	}},
	{"share: a call keeps its place", "functions/process", shares, []edit{
		{"handler.go", "defer end()", "_ = end"},
	}},
}
