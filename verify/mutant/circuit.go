package main

// circuitTests hold the circuit of a sink that is away.
var circuitTests = test{"./pkg/delivery", "Circuit|Probe|TestBadMessagesDoNot|TestNothingIs"}

// heldTests hold what becomes of the queues that an open circuit holds back.
var heldTests = test{"./pkg/delivery", "Held|TestBadMessagesDoNot|TestProbesGoRound|TestBadMessagesKeepNo"}

// circuitMutants are bugs by which a sink that is away is asked too often, or is not found to be
// back.
var circuitMutants = []mutant{
	{"the circuit stays open: it is not closed", deliveryFolder, circuitTests, []edit{
		{"health.go", "\t\th = closed(h, now)\n", "\t\topen = true\n"},
	}},
	{"the circuit stays open: as another fails meanwhile", deliveryFolder, circuitTests, []edit{
		{"health.go", "\t\tif made || err != nil {\n\t\t\treturn\n\t\t}\n\t\tseen = h\n", "\t\t_, _, _ = h, made, err\n\t\treturn\n"},
	}},
	{"a late probe closes another circuit", deliveryFolder, circuitTests, []edit{
		{"health.go", "probe && seen.Circuit.Opened.Equal(probed)", "probe"},
		{"health.go", "\tprobed := seen.Circuit.Opened\n", ""},
	}},
	{"the next probe is not put off before one is made", deliveryFolder, circuitTests, []edit{
		{"circuit.go", "\tnext.Circuit.ProbeAt = ddb.ToMillis(run.now().Add(run.reader.Circuit.wait(next)))\n\tif next.Circuit.ProbeAt.Before(leaseUntil) {\n\t\tnext.Circuit.ProbeAt = ddb.ToMillis(leaseUntil)\n\t}\n", "\t_ = leaseUntil\n"},
	}},
	{"each probe comes as soon as the first", deliveryFolder, circuitTests, []edit{
		{"circuit.go", "request.RetryAfter(int(h.Circuit.Probes)+1, c.Probes)", "request.RetryAfter(1, c.Probes)"},
	}},
	{"a schedule ends with an open circuit: what was last is skipped", deliveryFolder, deliverySchedule("a bad message, and a sink that is away"), []edit{
		{"sweep_circuit.go", "if ended, failed := r.endsUnproven(ctx, e); ended {", "if ended, failed := false, ctx.Err(); ended {"},
	}},
	{"queues that are held back are woken up at once", deliveryFolder, heldTests, []edit{
		{"circuit_held.go", "if failed := r.sleep(ctx, due.Sub(r.now())); failed != nil {", "if failed := ctx.Err(); failed != nil {"},
	}},
	{"the circuit stays open: nothing is left to probe", deliveryFolder, circuitTests, []edit{
		{"sweep_circuit.go", "if ended, failed := r.endsUnproven(ctx, e); ended {", "if ended, failed := false, ctx.Err(); ended {"},
	}},
}
