package main

// circuitTests hold the circuit of a sink that is away.
var circuitTests = test{"./pkg/delivery", "Circuit|Probe|TestBadMessagesDoNot|TestNothingIs"}

// heldTests hold what becomes of the queues that an open circuit holds back.
var heldTests = test{"./pkg/delivery", "Held|TestBadMessagesDoNot|TestProbesGoRound|TestBadMessagesKeepNo"}

// circuitMutants are bugs by which a sink that is away is asked too often, or is not found to be
// back.
var circuitMutants = []mutant{
	{"circuit: one that nobody probes stays open for ever", deliveryFolder, test{"./pkg/delivery", "TestACircuitThatNobodyProbes"}, []edit{
		{"sweep_circuit.go", " || r.now().Sub(e.Circuit.ProbeAt) >= abandoned):", "):"},
	}},
	{"the circuit opens by one queue more", deliveryFolder, circuitTests, []edit{
		{"circuit.go", "len(h.Failing) >= f.circuit.Queues", "len(h.Failing) > f.circuit.Queues"},
	}},
	{"the circuit opens at once", deliveryFolder, circuitTests, []edit{
		{"circuit.go", "(now.Sub(h.FailingSince) >= steady || ", "(true || "},
	}},
	{"the circuit opens beside what was just taken", deliveryFolder, test{"./pkg/delivery", "TestOpensNot"}, []edit{
		{"circuit.go", " && now.Sub(h.TakenAt) >= unseen", ""},
	}},
	{"the circuit waits though ten queues fail", deliveryFolder, test{"./pkg/delivery", "TestWorkloads/404"}, []edit{
		{"circuit.go", " || len(h.Failing) == request.MaxFailing)", ")"},
	}},
	{"a bad message takes the probe", deliveryFolder, heldTests, []edit{
		{"circuit.go", "case run.Record.Fails() && now", "case false && now"},
	}},
	{"a queue that lets the probe pass has others woken up at once", deliveryFolder, test{"./pkg/delivery", "TestBadMessagesDoNot"}, []edit{
		{"circuit.go", "run.wakeCircuit(run.Consumer, due.Add(unprobed))", "run.wakeCircuit(run.Consumer, due)"},
	}},
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
	{"the sweep notifies all whom an open circuit holds back", deliveryFolder, heldTests, []edit{
		{"sweep.go", "if r.heldBack(ctx, c) {", "if false {"},
	}},
	{"the sweep notifies all whom a circuit wakes up", deliveryFolder, heldTests, []edit{
		{"circuit_held.go", "!h.Circuit.Open() && !waking ||", "!h.Circuit.Open() && (true || waking) ||"},
	}},
	{"who is held back is looked at no more", deliveryFolder, heldTests, []edit{
		{"sweep_beside.go", "return cursor.ErrLookBack", "return nil"},
	}},
	{"a run wakes up as many as a turn lasts for", deliveryFolder, test{"./pkg/delivery", "TestTheSweepWakesUp"}, []edit{
		{"sweep_circuit.go", "for err == nil && e.Circuit.Waking &&", "for false && e.Circuit.Waking &&"},
	}},
	{"who fails is woken up first for a probe", deliveryFolder, heldTests, []edit{
		{"circuit_held.go", "if err == nil && c.Fails() {", "if err == nil && c.Fails() && false {"},
	}},
	{"those behind many bad messages are never looked at for a probe", deliveryFolder, heldTests, []edit{
		{"circuit_held.go", "if len(rows) < looksForProbe {", "if true {"},
	}},
	{"stopped by a circuit that is over, and held back by nobody", deliveryFolder, heldTests, []edit{
		{"circuit_held.go", "return run.Ended == EndedCircuitOpen", "return false"},
	}},
	{"a claim is made before the circuit is looked at", deliveryFolder, circuitTests, []edit{
		{"circuit.go", "case now.Before(due):", "case false:"},
	}},
	{"many probes at a time: not compared", deliveryFolder, circuitTests, []edit{
		{"circuit.go", "err == nil && made {\n\t\t\trun.learnt", "err == nil && (made || true) {\n\t\t\trun.learnt"},
	}},
	{"many probes at a time: the claim's lease is not waited for", deliveryFolder, circuitTests, []edit{
		{"circuit.go", "next.Circuit.ProbeAt.Before(leaseUntil)", "false"},
	}},
	{"the next probe is not put off before one is made", deliveryFolder, circuitTests, []edit{
		{"circuit.go", "\tnext.Circuit.ProbeAt = ddb.ToMillis(run.now().Add(run.reader.Circuit.wait(next)))\n\tif next.Circuit.ProbeAt.Before(leaseUntil) {\n\t\tnext.Circuit.ProbeAt = ddb.ToMillis(leaseUntil)\n\t}\n", "\t_ = leaseUntil\n"},
	}},
	{"each probe comes as soon as the first", deliveryFolder, circuitTests, []edit{
		{"circuit.go", "request.RetryAfter(int(h.Circuit.Probes)+1, c.Probes)", "request.RetryAfter(1, c.Probes)"},
	}},
	{"a probe that fails keeps the others for as long as its lease", deliveryFolder, circuitTests, []edit{
		{"circuit.go", "case probed:\n\t\tnext.Circuit.ProbeAt, changed = ddb.ToMillis(now.Add(f.circuit.wait(h))), true\n", "case probed:\n"},
	}},
	{"what failed waits for its time though the sink is back", deliveryFolder, circuitTests, []edit{
		{"circuit.go", "h.Circuit.Closed.After(c.Failed)", "false"},
	}},
	{"a tracked batch closes no circuit", deliveryFolder, circuitTests, []edit{
		{"tracked.go", "if run.probe > 0 {", "if false {"},
	}},
	{"an open circuit is announced by each wake-up", deliveryFolder, circuitTests, []edit{
		{"sweep_circuit.go", "next.Circuit.Announced = true", "next.Circuit.Announced = false"},
	}},
	{"nobody is woken up for a probe", deliveryFolder, circuitTests, []edit{
		{"sweep_circuit.go", "!now.Before(e.Circuit.ProbeAt)", "false"},
	}},
	{"nobody hears that a circuit opened", deliveryFolder, circuitTests, []edit{
		{"health.go", "\td.tellCircuit(h)\n", ""},
	}},
	{"the sweep sees to no circuit", deliveryFolder, circuitTests, []edit{
		{"sweep.go", "func() { s.circuits(ctx) },", "func() {},"},
	}},
	{"a schedule claims before the circuit is looked at", deliveryFolder, deliverySchedule("the sink is away"), []edit{
		{"circuit.go", "if !run.opens(seen) {\n\t\treturn true", "if true {\n\t\treturn true"},
	}},
	{"a schedule ends with an open circuit: what was last is skipped", deliveryFolder, deliverySchedule("a bad message, and a sink that is away"), []edit{
		{"sweep_circuit.go", "if ended, failed := r.endsUnproven(ctx, e); ended {", "if ended, failed := false, ctx.Err(); ended {"},
	}},
	{"queues that are held back are woken up at once", deliveryFolder, heldTests, []edit{
		{"circuit_held.go", "if failed := r.sleep(ctx, due.Sub(r.now())); failed != nil {", "if failed := ctx.Err(); failed != nil {"},
	}},
	{"two wake held queues up at twice the rate", deliveryFolder, heldTests, []edit{
		{"circuit_held.go", "if now := r.now(); now.Before(e.Circuit.ProbeAt) {", "if now := r.now(); false && now.Before(e.Circuit.ProbeAt) {"},
	}},
	{"each try puts a queue behind the others that are held back", deliveryFolder, heldTests, []edit{
		{"circuit_held.go", "err == nil && (!found || there.N < row.N)", "err == nil && (!found || there.N <= row.N)"},
	}},
	{"a queue that probed in vain stays the first", deliveryFolder, heldTests, []edit{
		{"circuit.go", "\t\t\t_ = run.store.Trouble().Delete(ctx, held(run.Queue, there, time.Time{}))\n", ""},
	}},
	{"the circuit stays open: nothing is left to probe", deliveryFolder, circuitTests, []edit{
		{"sweep_circuit.go", "if ended, failed := r.endsUnproven(ctx, e); ended {", "if ended, failed := false, ctx.Err(); ended {"},
	}},
	{"a circuit is closed that somebody may probe", deliveryFolder, circuitTests, []edit{
		{"circuit_held.go", "if err != nil || probes {", "if err != nil || probes && false {"},
	}},
	{"a circuit that is closed unproven forgets who fails", deliveryFolder, circuitTests, []edit{
		{"circuit_held.go", "\t\tif fails {\n", "\t\tif fails && false {\n"},
	}},
	{"a circuit that is switched off stays open", deliveryFolder, circuitTests, []edit{
		{"sweep_circuit.go", "r.bounds(e.Consumer).Off || ", ""},
	}},
	{"the circuit's end is told before all know of it", deliveryFolder, circuitTests, []edit{
		{"circuit_held.go", "if !due.Before(late) {", "if true {"},
	}},
}
