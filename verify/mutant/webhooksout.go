package main

const (
	egressFolder   = "internal/egress"
	httpSinkFolder = "internal/sink/httpsink"
	endpointFolder = "internal/endpoint"
)

var (
	egressTests   = test{"./internal/egress", "Test"}
	httpSinkTests = test{"./internal/sink/httpsink", "Test"}
	asideTests    = test{"./pkg/delivery", "HoldUp|HoldsUp|CallThat|Apart|TestAnswer|NotBefore|ASinkThat"}
)

// webhooksOutMutants are bugs by which a webhook that goes out reaches what it must not, is not known again, or holds up
// others.
var webhooksOutMutants = []mutant{
	{"egress: the addresses of a name are not looked at", egressFolder, egressTests, []edit{
		{"transport.go", "if err := d.rules.checkAddress(host, a, d.plain); err != nil {", "if err := d.rules.checkAddress(host, a, d.plain); err != nil && len(all) == 0 {"},
	}},
	{"egress: one public address is enough", egressFolder, egressTests, []edit{
		{"transport.go", "for _, a := range all {\n\t\tif err := d.rules", "for _, a := range all[:1] {\n\t\tif err := d.rules"},
	}},
	{"egress: a name is resolved again when it is dialled", egressFolder, egressTests, []edit{
		{"transport.go", "netip.AddrPortFrom(a, uint16(number)).String())", "net.JoinHostPort(host, strconv.Itoa(int(netip.AddrPortFrom(a, uint16(number)).Port()))))"},
	}},
	{"egress: any port may be asked", egressFolder, egressTests, []edit{
		{"url.go", "if !slices.Contains(r.ports(), port(u)) {", "if !slices.Contains(r.ports(), port(u)) && port(u) == 0 {"},
	}},
	{"egress: shared addresses are public", egressFolder, egressTests, []edit{
		{"address.go", "\t\t\"100.64.0.0/10\",   // shared by a carrier's customers\n", ""},
	}},
	{"http: a repeat has another id", httpSinkFolder, httpSinkTests, []edit{
		{"request.go", "[]int64{from, to, b.Rewinds, stored}", "[]int64{from, to, b.Rewinds, stored, b.Token.N}"},
	}},
	{"http: a replay has the same id", httpSinkFolder, httpSinkTests, []edit{
		{"request.go", "[]int64{from, to, b.Rewinds, stored}", "[]int64{from, to, stored}"},
	}},
	{"http: one secret signs", httpSinkFolder, httpSinkTests, []edit{
		{"request.go", "for i, key := range keys {", "for i, key := range keys[:1] {"},
	}},
	{"http: the next is sent though one was not taken", httpSinkFolder, httpSinkTests, []edit{
		{"httpsink.go", "\t\t\treturn delivery.DoneUpTo(err, c.from) // those before were taken\n", "\t\t\tdefer func() { _ = err }()\n"},
	}},
	{"a part: what comes before a failure comes again", httpSinkFolder, test{"./internal/sink/httpsink", "TestAPartIsTaken"}, []edit{
		{"httpsink.go", "return delivery.DoneUpTo(err, c.from) // those", "return err // those"},
	}},
	{"http: anybody reads what an endpoint answered", httpSinkFolder, httpSinkTests, []edit{
		{"answer.go", "At: now, Own: to.own,", "At: now, Own: true,"},
	}},
	{"http: Retry-After is a matter of days", httpSinkFolder, httpSinkTests, []edit{
		{"answer.go", "maxRetryAfter = time.Hour", "maxRetryAfter = 48 * time.Hour"},
	}},
	{"endpoint: the shortest prefix counts", endpointFolder, test{"./functions/delivery", "TestEndpoints$"}, []edit{
		{"endpoint.go", "for i := len(prefixes) - 1; i >= 0; i-- {", "for i := range prefixes {"},
	}},
	{"endpoint: a tenant's queue has the endpoint of all", endpointFolder, test{"./functions/delivery", "TestEndpoints$"}, []edit{
		{"endpoint.go", "\tif of == \"\" {\n\t\tall = append", "\tif of != \"x\" {\n\t\tall = append"},
	}},
	{"endpoint: a tenant's go before its queues", "functions/delivery", test{"./functions/delivery", "TestEraseTenantTakes"}, []edit{
		{"erase.go", "\tfor goOn := margin.Half(ctx); ; {", "\t_, _ = s.eraseEndpoints(ctx, o, name, dry)\n\tfor goOn := margin.Half(ctx); ; {"},
	}},
	{"endpoint: an erased queue keeps it", "pkg/delivery", test{"./functions/delivery", "TestEraseTakes"}, []edit{
		{"erase.go", "others == nil || !erased.Erasure.Emptied.IsZero() {", "others == nil || erased.Erasure.Emptied.IsZero() {"},
	}},
	{"endpoint: an erased queue takes others' along", endpointFolder, test{"./functions/delivery", "TestEraseTakes"}, []edit{
		{"endpoint.go", "return found.Name == queue", "return found.Name >= queue"},
	}},
	{"endpoint: an erased queue gets another", "functions/delivery", test{"./functions/delivery", "TestEraseTakes"}, []edit{
		{"endpoints.go", "errors.Is(err, cursor.ErrNoQueue) {", "err != nil || errors.Is(err, cursor.ErrNoQueue) {"},
	}},
	{"endpoint: any consumer gets one", "functions/delivery", test{"./functions/delivery", "TestEndpointsRefused"}, []edit{
		{"endpoints.go", "len(s.hooks) > 0 &&", "len(s.hooks) > 9 &&"},
	}},
	{"endpoint: a tenant has as many endpoints as it likes", endpointFolder, test{"./internal/endpoint", "TestATenants"}, []edit{
		{"endpoint.go", "n >= MaxOfTenant {", "n < 0 {"},
	}},
	{"endpoint: a change forgets the old secret", endpointFolder, test{"./functions/delivery", "TestRotation"}, []edit{
		{"endpoint.go", "\te := before\n", "\te := before\n\te.OldSecret = \"\"\n"},
	}},
	{"delivery: a call is asked for, and the queue delivered beside others too", deliveryFolder, deliverySchedule("a slow queue"), []edit{
		{"deliver.go", "\t\treturn false, nil\n\t}\n\tif !run.inTime(ctx) {", "\t\t_ = run.aside(ctx, run.Queue, run.Consumer)\n\t\trun.end(\"\", \"\")\n\t}\n\tif !run.inTime(ctx) {"},
	}},
	{"delivery: nobody delivers where a call is refused", deliveryFolder, deliverySchedule("a slow queue and the timer alone, 1 fault"), []edit{
		{"aside.go", "!= nil && d.wakeUp != nil {", "!= nil && d.wakeUp == nil {"},
	}},
	{"delivery: nobody delivers after a call of its own that died", deliveryFolder, deliverySchedule("a call of its own that died, and the timer alone"), []edit{
		{"stream.go", "d.sendAside(ctx, done)\n\t\t\td.schedule(done)\n", "d.sendAside(ctx, done)\n"},
	}},
	{"delivery: what came due while it was looked at is told to nobody", deliveryFolder, deliverySchedule("a call of its own that died, and the timer alone"), []edit{
		{"wake.go", "!at.IsZero() && at.Sub", "at.After(d.now()) && at.Sub"},
	}},
	{"delivery: what killed its call is delivered beside others", deliveryFolder, deliverySchedule("a slow queue, 1 fault"), []edit{
		{"aside.go", "c.Attempts > 0", "c.State == Started"},
	}},
	{"delivery: a queue whose call is refused waits for the sweep", deliveryFolder, asideTests, []edit{
		{"aside.go", "if d.aside(ctx, done.Queue, done.Consumer) != nil && d.wakeUp != nil {", "if d.aside(ctx, done.Queue, done.Consumer) == nil && d.wakeUp != nil {"},
	}},
	{"delivery: a batch takes as long as it likes beside others", deliveryFolder, asideTests, []edit{
		{"handed.go", "\tif run.inline > 0 {\n\t\tctx, cancel", "\tif run.inline < 0 {\n\t\tctx, cancel"},
	}},
	{"delivery: the try of a batch that was cut short counts", deliveryFolder, asideTests, []edit{
		{"deliver.go", "failure.RetryAt, failure.Away = now, c.Away+1\n", "failure.RetryAt = now\n"},
	}},
	{"delivery: what is slow elsewhere is delivered beside others", deliveryFolder, asideTests, []edit{
		{"aside.go", "c.Answer.Took > run.inline", "c.Answer.Took < 0"},
	}},
	{"delivery: a sink that was changed once is tried without end", deliveryFolder, asideTests, []edit{
		{"aside.go", "Changed(ctx, c.Queue, c.Failed)", "Changed(ctx, c.Queue, time.Time{}.Add(1))"},
	}},
	{"endpoint: a queue whose endpoint is put waits for the sweep", "functions/delivery", test{"./functions/delivery", "TestAnEndpointWakes"}, []edit{
		{"endpoints.go", "if !change.Prefix {", "if change.Prefix {"},
	}},
	{"process: a queue waits for an hour though it has an endpoint", "functions/process", test{"./functions/process", "TestEndpointsOfQueues"}, []edit{
		{"readers.go", "if c.Reader.Apart {", "if !c.Reader.Apart {"},
	}},
	{"delivery: what sinks of other queues took says something", deliveryFolder, asideTests, []edit{
		{"health.go", "(ctx context.Context, f failed) request.Health {\n\tif run.reader.Apart {", "(ctx context.Context, f failed) request.Health {\n\tif false {"},
		{"health.go", "\tif f.apart {\n", "\tif false {\n"},
	}},
	{"delivery: Retry-After is passed over", deliveryFolder, asideTests, []edit{
		{"errors.go", "errors.As(cause, &n) && n.at.After(scheduled)", "errors.As(cause, &n) && n.at.After(last)"},
	}},
}
