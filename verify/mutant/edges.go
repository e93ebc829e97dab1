package main

var (
	producerTests   = test{"./pkg/producer", "Test"}
	sourceTests     = test{"./internal/source", "Test"}
	webhookTests    = test{"./internal/webhook", "Test"}
	webhookHandling = test{"./functions/webhook", "Test"}
	egressTests     = test{"./internal/egress", "Test"}
	accounts        = test{"./internal/quota", "TestAccountConforms/memory|TestTakeThatGoesWrong"}
	leases          = test{"./internal/quota", "TestLeases|TestALeaseThat|TestNoTenantHasMore"}
)

// edgeMutants are bugs where messages come in and go out, and in whose they are.
var edgeMutants = []mutant{
	{"producer: two requests of a queue side by side", "pkg/producer", producerTests, []edit{
		{"queue.go", "	if q.busy {\n		return\n	}\n", ""}, {"producer.go", "if !q.busy && (q.waiting.n == 1", "if (q.waiting.n == 1"},
	}},
	{"producer: what goes again comes behind what is newer", "pkg/producer", producerTests, []edit{
		{"dispatch.go", "		again.behind(&q.waiting)\n		q.waiting = again\n", "		q.waiting.behind(&again)\n"},
	}},
	{"producer: what is full goes again at the head", "pkg/producer", test{"./pkg/producer", "TestSuite"}, []edit{
		{"dispatch.go", "				asides++\n				q.aside.push(f)\n", "				asides++\n				again.push(f)\n"},
	}},
	{"producer: one queue may have all of the memory", "pkg/producer", producerTests, []edit{
		{"queue.go", "room: semaphore.NewWeighted(p.options.QueueBytes)", "room: semaphore.NewWeighted(p.options.MaxBytes)"},
	}},
	{"producer: a flush leaves out what is under way", "pkg/producer", producerTests, []edit{
		{"producer.go", "		case <-e.done:\n", "		case <-e.done:\n		default:\n"},
	}},
	{"producer: what is full goes before what waits", "pkg/producer", producerTests, []edit{
		{"dispatch.go", "		q.waiting.behind(&q.aside)", "		q.aside.behind(&q.waiting)\n		q.waiting, q.aside = q.aside, list{}"},
	}},
	{"source: a message's id is that of what carries it", "internal/source", sourceTests, []edit{
		{"sns.go", `p.set("messageId", n.MessageID)`, `p.set("messageId", n.TopicARN)`},
	}},
	{"source: an S3 key as the path of a URL has it", "internal/source", sourceTests, []edit{
		{"s3.go", "url.QueryUnescape(r.S3.Object.Key)", "url.PathUnescape(r.S3.Object.Key)"},
	}},
	{"source: a stream goes on behind the last that failed", "internal/source", sourceTests, []edit{
		{"answer.go", "if all = append(all, at); e.carrier == stream {\n\t\t\tbreak\n\t\t}", "if all = append(all, at); e.carrier == stream {\n\t\t\tall = all[len(all)-1:]\n\t\t}"},
	}},
	{"source: of more than 500 records, a failed one is looked for at another place", "functions/source", test{"./functions/source", "TestArrivalOrderOfAStream"}, []edit{
		{"batch.go", "for i, place := range b.places[:from] {\n\t\tif b.failed[place] {", "for i := range b.places[:from] {\n\t\tif b.failed[i] {"},
	}},
	{"source: those behind a contradicting one are dropped in silence", "internal/intake", test{"./functions/source", "TestEverySmallSchedule"}, []edit{
		{"intake.go", "if p.count++; p.Events ", "if p.count++; len(p.twins) > 0 || p.Events "},
	}},
	{"webhook: the id of Standard Webhooks is not signed", "internal/webhook", webhookTests, []edit{
		{"signature.go", "append(text, c.id...)", "append(text, c.timestamp...)"},
	}},
	{"webhook: one item of a notification is signed", "internal/webhook", webhookTests, []edit{
		{"presets.go", "if !itemBy(keys, item) {\n\t\t\treturn false\n\t\t}", "if itemBy(keys, item) {\n\t\t\treturn true\n\t\t}"},
	}},
	{"webhook: a challenge that nobody signed", "functions/webhook", webhookHandling, []edit{
		{"handler.go", "\tif err := s.authenticate(ctx, c, source); err != nil {\n\t\treturn 0, nil, err\n\t}\n", "\tif answer, asked := source.Challenge.Slack(c.Body); asked {\n\t\treturn http.StatusOK, answer, nil\n\t}\n\tif err := s.authenticate(ctx, c, source); err != nil {\n\t\treturn 0, nil, err\n\t}\n"},
	}},
	{"webhook: secrets go on while the store fails", "internal/secret", webhookTests, []edit{
		{"cache.go", "\t\th.values = nil\n\t\tif err := h.refresh(ctx, s.fetch, of, now, failedInterval); err != nil {", "\t\tif err := h.refresh(ctx, s.fetch, of, now, failedInterval); err != nil && h.values == nil {"},
	}},
	{"webhook: the body is looked at first", "functions/webhook", webhookHandling, []edit{
		{"handler.go", "\tif err := s.authenticate(ctx, c, source); err != nil {\n\t\treturn 0, nil, err\n\t}\n", "\tif _, err := source.Messages(&c.Request, s.now()); err != nil {\n\t\treturn 0, nil, err\n\t}\n\tif err := s.authenticate(ctx, c, source); err != nil {\n\t\treturn 0, nil, err\n\t}\n"},
	}},
	{"webhook: an unknown sender is answered so", "functions/webhook", webhookHandling, []edit{
		{"handler.go", "c.Metrics.Count(\"WebhooksUnknown\", 1)\n\t\treturn 0, nil, refused()", "c.Metrics.Count(\"WebhooksUnknown\", 1)\n\t\treturn 0, nil, &httpapi.Problem{Status: http.StatusNotFound, Type: \"no-route\", Title: \"No such sender\"}"},
	}},
	{"egress: one public address is enough", "internal/egress", egressTests, []edit{
		{"transport.go", "for _, a := range all {\n\t\tif err := d.rules", "for _, a := range all[:1] {\n\t\tif err := d.rules"},
	}},
	{"egress: a name is resolved again when it is dialled", "internal/egress", egressTests, []edit{
		{"transport.go", "netip.AddrPortFrom(a, uint16(number)).String())", "net.JoinHostPort(host, strconv.Itoa(int(netip.AddrPortFrom(a, uint16(number)).Port()))))"},
	}},
	{"http: a repeat has another id", "internal/sink/httpsink", test{"./internal/sink/httpsink", "Test"}, []edit{
		{"request.go", "[]int64{from, to, b.Rewinds, stored}", "[]int64{from, to, b.Rewinds, stored, b.Token.N}"},
	}},
	{"endpoint: the shortest prefix counts", "internal/endpoint", test{"./functions/delivery", "TestEndpoints$"}, []edit{
		{"endpoint.go", "for i := len(prefixes) - 1; i >= 0; i-- {", "for i := range prefixes {"},
	}},
	{"endpoint: a tenant's go before its queues", "functions/delivery", test{"./functions/delivery", "TestEraseTenantTakes"}, []edit{
		{"erase.go", "\tfor goOn := margin.Half(ctx); ; {", "\t_, _ = s.eraseEndpoints(ctx, o, name, dry)\n\tfor goOn := margin.Half(ctx); ; {"},
	}},
	{"delivery: a call is asked for, and the queue delivered beside others too", deliveryFolder, deliverySchedule("a slow queue"), []edit{
		{"deliver.go", "\t\treturn false, nil\n\t}\n\tif !run.inTime(ctx) {", "\t\t_ = run.aside(ctx, run.Queue, run.Consumer)\n\t\trun.end(\"\", \"\")\n\t}\n\tif !run.inTime(ctx) {"},
	}},
	{"delivery: a sink that was changed once is tried without end", deliveryFolder, asideTests, []edit{
		{"aside.go", "Changed(ctx, c.Queue, c.Failed)", "Changed(ctx, c.Queue, time.Time{}.Add(1))"},
	}},
	{"delivery: Retry-After is passed over", deliveryFolder, asideTests, []edit{
		{"errors.go", "errors.As(cause, &n) && n.at.After(scheduled)", "errors.As(cause, &n) && n.at.After(last)"},
	}},
	{"bulk: an operation has another id in each part of a run", "internal/bulk", test{"./functions/delivery", "TestBulk"}, []edit{
		{"run.go", "hex.EncodeToString(sum[:8])", "hex.EncodeToString(sum[:8]) + time.Now().Format(\"05.000000\")"},
	}},
	{"bulk: a run begins by the caller's clock", "internal/bulk", test{"./internal/bulk", "."}, []edit{
		{"look.go", "r.began = now.Truncate(time.Millisecond)", "r.began = time.Now()"},
	}},
	{"bulk: an interrupt cuts the operations under way", "internal/bulk", test{"./internal/bulk", "."}, []edit{
		{"run.go", "context.WithCancel(context.WithoutCancel(ctx))", "context.WithCancel(ctx)"},
	}},
	{"bulk: a run of the page ends with the browser's request", "pkg/ui", test{"./pkg/ui", "TestBulk"}, []edit{
		{"runs.go", "context.WithCancel(context.WithoutCancel(r.Context()))", "context.WithCancel(r.Context())"},
	}},
	{"tenants: a name is taken as it is", "internal/tenancy", test{"./internal/tenancy", "TestScope|TestOwns"}, []edit{
		{"scope.go", "full := tenant.Name(s.tenant, name)", "full := name"},
	}},
	{"tenants: replies name others' queues", "functions/delivery", test{"./functions/delivery", "TestRepliesToOthers"}, []edit{
		{"consumers.go", `return "to a queue of another"`, `return "to queue " + full`},
	}},
	{"counts are of the minute in which they are stored", "internal/trouble", test{"./internal/trouble", "TestCounter/memory"}, []edit{
		{"counter.go", "_ = c.store.Count(ctx, minute, n)", "_ = c.store.Count(ctx, c.now().Add(0*minute.Sub(c.since)), n)"},
	}},
	{"tenants: a chain is shown by its whole name", "functions/delivery", test{"./functions/delivery", "TestATenantsChain"}, []edit{
		{"consumers.go", "scope.Short(delivery.ChainOf(of.Consumer))", "delivery.ChainOf(of.Consumer)"},
	}},
	{"replies: a record names their queue in words", deliveryFolder, test{"./pkg/delivery", "TestABadReplyFailsItsBatch"}, []edit{
		{"words.go", "return unnamed(reply.Err), reply.Queue", "return err.Error(), reply.Queue"},
	}},
	{"quota: what is more than is left never passes", "internal/quota", test{"./functions/source", "TestEverySmallSchedule"}, []edit{
		{"share.go", "take[kind], most[kind] = lack, limit-1+s.unused(kind) // a debt", "take[kind], most[kind] = lack, limit-lack"},
	}},
	{"quota: a move forgets what is taken", "internal/quota", test{"./internal/quota", "TestProcessesShareALimit|TestALargeRequest|TestWhatARefusedRequestIsTold"}, []edit{
		{"quota.go", "taken := s.there.in(w, limits)", "taken := Amounts{}"},
	}},
	{"leases: a place of a process that died is never free again", "internal/quota", leases, []edit{
		{"leases.go", "lease.until().Lt(ddb.Millis(now))", "lease.until().Lt(ddb.Millis(time.Unix(0, 0)))"},
	}},
	{"leases: a place is free before its time is over", "internal/quota", leases, []edit{
		{"leases.go", "lease.until().Lt(ddb.Millis(now))", "lease.until().Lt(ddb.Millis(now.Add(time.Hour)))"},
	}},
	{"leases: all tenants have one share", "internal/quota", leases, []edit{
		{"leases.go", "ddb.Text(leasesBegin + tenant)", "ddb.Text(leasesBegin)"},
	}},
	// CLAUSES=1 does not drop the clauses of this store: the attributes of a lease have its number.
	{"quota: a repeat takes again", "internal/quota", accounts, []edit{
		{"store.go", ", attrOp.Ne(ddb.Text(op))}", "}"},
	}},
	{"quota: an account of another window is taken from", "internal/quota", accounts, []edit{
		{"store.go", "attrBegins.Eq(ddb.Seconds(w.Start))", "attrBegins.Exists()"},
	}},
	{"quota: an account is made where one is", "internal/quota", accounts, []edit{
		{"store.go", "unchanged = attrOp.Missing()", "unchanged = ddb.Cond{}"},
	}},
	{"leases: a place is taken that another has", "internal/quota", leases, []edit{
		{"leases.go", "If: free, Quiet: true,", "If: ddb.Or(free, lease.by().Exists()), Quiet: true,"},
	}},
	{"leases: a repeat takes a second place", "internal/quota", leases, []edit{
		{"leases.go", "\t\t\tlease.by().Eq(ddb.Text(lease.op)),\n", ""},
	}},
	{"leases: one that is over gives another's back", "internal/quota", leases, []edit{
		{"leases.go", "If: l.by().Eq(ddb.Text(l.op)), Do:", "If: l.by().Exists(), Do:"},
	}},
}
