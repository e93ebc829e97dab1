package main

// tenantCode is the folder that decides whose names a caller's are.
const tenantCode = "internal/tenancy"

var (
	whoseNames = test{"./internal/httpapi", "TestWhoseNames|TestDirectInvokesOperate"}
	itsNames   = test{"./internal/tenancy", "TestScope|TestOwns"}
	twoTenants = test{"./functions/enqueue", "TestTenants"}
)

// tenantMutants are ways in which one tenant could reach another's.
var tenantMutants = []mutant{
	{"tenants: a name is taken as it is", tenantCode, itsNames, []edit{
		{"scope.go", "full := tenant.Name(s.tenant, name)", "full := name"},
	}},
	{"tenants: an empty name is the tenant's", tenantCode, twoTenants, []edit{
		{"scope.go", `if s.tenant == "" || name == "" {`, `if s.tenant == "" {`},
	}},
	{"tenants: whole names are shown", tenantCode, twoTenants, []edit{
		{"scope.go", "if of, name := tenant.Split(full); of == s.tenant {", "if of, name := tenant.Split(full); of == s.tenant && name == full {"},
	}},
	{"tenants: an edge is anybody's", tenantCode, itsNames, []edit{
		{"scope.go", `if s.tenant == "" || s.Short(full) != "" {`, `if s.tenant == "" || full != "" {`},
	}},
	{"tenants: a caller who is nobody operates", tenantCode, whoseNames, []edit{
		{"caller.go", "if c.Signed {", "if true {"},
	}},
	{"tenants: a token without the claim operates", tenantCode, whoseNames, []edit{
		{"caller.go", `return Scope{}, &NoTenantError{"the token has no claim " + claim}`, "return Scope{}, nil"},
	}},
	{"tenants: any claim is a tenant", tenantCode, whoseNames, []edit{
		{"caller.go", "err = tenant.Validate(name)", "_ = tenant.Validate(name)"},
	}},
	{"tenants: an event that cannot be read operates", "internal/httpapi", whoseNames, []edit{
		{"caller.go", "return tenancy.Scope{}, notLikeAnEvent(raw)", "return tenancy.Scope{}, nil"},
	}},
	{"tenants: a tenant may have a slash", "pkg/tenant", test{"./pkg/tenant", "TestValidate"}, []edit{
		{"tenant.go", "const allowed = \"._-:@|+=\"", "const allowed = \"._-:@|+=/\""},
	}},
	{"tenants: replies name others' queues", "functions/delivery", test{"./functions/delivery", "TestRepliesToOthers"}, []edit{
		{"consumers.go", `return "to a queue of another"`, `return "to queue " + full`},
	}},
	{"tenants: a tenant is shown what others handed on", "functions/delivery", test{"./functions/delivery", "TestSinks"}, []edit{
		{"sinks.go", `if c.Tenant() != "" {`, "if false {"},
	}},
	{"tenants: a tenant is told how many open chains others have", "functions/ack", test{"./functions/ack", "TestListsOfChains"}, []edit{
		{"lists.go", `if c.Tenant() == "" {`, "if true {"},
	}},
	{"tenants: an id is anybody's", "internal/intake", twoTenants, []edit{
		{"intake.go", "\t\tm.ID, errs[2] = p.Scope.Full(\"id\", m.ID)\n", ""},
	}},
	{"tenants: a batch's chain is nobody's", deliveryFolder, test{"./pkg/delivery", "TestATenantsBatchIsItsOwn"}, []edit{
		{"tracked.go", `if of, _ := tenant.Split(t.queue); of != "" {`, `if of, _ := tenant.Split(t.queue); false {`},
	}},
	{"tenants: a tenant reads what an operator's endpoint answered", "functions/delivery", test{"./functions/delivery", "TestWhatATenantReads"}, []edit{
		{"consumers.go", "scope.Tenant() != \"\" && !said.Own", "scope.Tenant() == \"\" && !said.Own"},
	}},
	{"tenants: a tenant reads addresses of the network", "functions/delivery", test{"./functions/delivery", "TestWhatATenantReads"}, []edit{
		{"consumers.go", "if why = scope.Words(why); replyQueue == \"\" {", "if replyQueue == \"\" {"},
	}},
	{"tenants: a rewind counts as one message", "functions/delivery", test{"./functions/delivery", "TestQuotasOfOperations"}, []edit{
		{"quota.go", "max(n, 1))", "min(n, 1))"},
	}},
	{"tenants: notes of all are in one part", "internal/trouble", test{"./internal/trouble", "TestANoisyTenant"}, []edit{
		{"shard.go", "hash.Sum32()%shards", "hash.Sum32()%1"},
	}},
	{"tenants: rows of a part that a page cuts off are listed no more", "internal/trouble", test{"./internal/trouble", "TestANoisyTenant"}, []edit{
		{"list.go", "waits[shardOf(row.Place())] = true", "waits[shardOf(row.Place())] = false"},
	}},
	{"counts are of the minute in which they are stored", "internal/trouble", test{"./internal/trouble", "TestCounter/memory"}, []edit{
		{"counter.go", "_ = c.store.Count(ctx, minute, n)", "_ = c.store.Count(ctx, c.now().Add(0*minute.Sub(c.since)), n)"},
	}},
	{"tenants: a chain is shown by its whole name", "functions/delivery", test{"./functions/delivery", "TestATenantsChain"}, []edit{
		{"consumers.go", "scope.Short(delivery.ChainOf(c))", "delivery.ChainOf(c)"},
	}},
	{"replies: a record names their queue in words", deliveryFolder, test{"./pkg/delivery", "TestABadReplyFailsItsBatch"}, []edit{
		{"words.go", "return unnamed(reply.Err), reply.Queue", "return err.Error(), reply.Queue"},
	}},
	{"tenants: a batch's chain may be made by anybody", "functions/ack", test{"./functions/ack", "TestBadInput"}, []edit{
		{"order.go", "if delivery.TracksBatch(o.Tag) &&", "if strings.HasPrefix(o.Tag, delivery.TrackedPrefix) &&"},
	}},
	{"tenants: a fan leaves its tenant", "pkg/xorack", test{"./pkg/xorack", "TestFanStaysWithItsTenant"}, []edit{
		{"fan.go", `if of, _ := tenant.Split(tag); of != "" {`, `if of, _ := tenant.Split(tag); false {`},
	}},
}
