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
	{"tenants: whole names are shown", tenantCode, twoTenants, []edit{
		{"scope.go", "if of, name := tenant.Split(full); of == s.tenant {", "if of, name := tenant.Split(full); of == s.tenant && name == full {"},
	}},
	{"tenants: an edge is anybody's", tenantCode, itsNames, []edit{
		{"scope.go", `if s.tenant == "" || s.Short(full) != "" {`, `if s.tenant == "" || full != "" {`},
	}},
	{"tenants: any claim is a tenant", tenantCode, whoseNames, []edit{
		{"caller.go", "err = tenant.Validate(name)", "_ = tenant.Validate(name)"},
	}},
	{"tenants: a tenant may have a slash", "pkg/tenant", test{"./pkg/tenant", "TestValidate"}, []edit{
		{"tenant.go", "const allowed = \"._-:@|+=\"", "const allowed = \"._-:@|+=/\""},
	}},
	{"tenants: replies name others' queues", "functions/delivery", test{"./functions/delivery", "TestRepliesToOthers"}, []edit{
		{"consumers.go", `return "to a queue of another"`, `return "to queue " + full`},
	}},
	{"tenants: a tenant reads what an operator's endpoint answered", "functions/delivery", test{"./functions/delivery", "TestWhatATenantReads"}, []edit{
		{"consumers.go", "scope.Tenant() != \"\" && !said.Own", "scope.Tenant() == \"\" && !said.Own"},
	}},
	{"tenants: a tenant reads addresses of the network", "functions/delivery", test{"./functions/delivery", "TestWhatATenantReads"}, []edit{
		{"consumers.go", "if why = scope.Words(why); replyQueue == \"\" {", "if replyQueue == \"\" {"},
	}},
	{"tenants: notes of all are in one part", "internal/trouble", test{"./internal/trouble", "TestANoisyTenant"}, []edit{
		{"shard.go", "hash.Sum32()%shards", "hash.Sum32()%1"},
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
		{"order.go", "if request.TracksBatch(o.Tag) &&", "if strings.HasPrefix(o.Tag, request.TrackedPrefix) &&"},
	}},
}
