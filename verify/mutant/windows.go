package main

var (
	gathered = test{"./pkg/handoff", "Gather|TestWakeUpsOfBatches|TestAClockThatIsAhead|TestWhatIsDueForLong"}
	sharing  = test{"./pkg/handoff", "TestConsumers|TestAReadThatFails"}
)

// windowMutants are batches that wait for more, and are forgotten, or that do not wait.
var windowMutants = []mutant{
	{"window: nobody is told of what is put off", deliveryFolder, deliverySchedule("a window and the timer alone"), []edit{
		{"gather.go", "\t\trun.wakeBatch(c.Queue, run.position, due.Add(wakeSlack))\n", ""},
	}},
	{"window: who is told wakes up for a part", deliveryFolder, deliverySchedule("a window and the timer alone"), []edit{
		{"gather.go", "run.wakeBatch(c.Queue, run.position,", "run.wakeBatch(c.Queue, c.Delivered,"},
	}},
	{"window: it is put off again and again", deliveryFolder, deliverySchedule("a window, and other queues' records"), []edit{
		{"gather.go", "!due.After(now) || run.opens", "run.opens"},
		{"gather.go", "if run.off == nil ||", "if run.off == nil || due.IsZero() ||"},
	}},
	{"window: batches do not wait for it", deliveryFolder, deliverySchedule("a window, a warm process and the timer alone"), []edit{
		{"gather.go", "if run.off == nil || !due.After(now)", "if run.off != nil || !due.After(now)"},
	}},
	{"window: what is put off is done with", deliveryFolder, deliverySchedule("a window, a warm process and the timer alone"), []edit{
		{"gather.go", "return cursor.Range{From: before.From, To: max(before.To, moved.To)}, before.due", "return cursor.Range{From: moved.To, To: moved.To}, before.due"},
		{"gather.go", "run.wakeBatch(c.Queue, run.position, due.Add(wakeSlack))", "run.wakeBatch(c.Queue, c.Delivered, due.Add(wakeSlack))"},
	}},
	{"window: no event has it delivered", deliveryFolder, gathered, []edit{
		{"stream.go", "jobs = append(jobs, off.due(d.now(), readers, named)...)", "_ = off.due(d.now(), readers, named)"},
	}},
	{"window: a full batch waits", deliveryFolder, gathered, []edit{
		{"gather.go", "|| run.position-c.Delivered >= int64(run.reader.MaxMessages) {", "{"},
	}},
	{"window: a probe waits", deliveryFolder, gathered, []edit{
		{"gather.go", "|| run.opens(run.learnt) ||", "||"},
	}},
	{"window: a clock that is ahead keeps others waiting", deliveryFolder, gathered, []edit{
		{"gather.go", "|| c.BatchAt.After(now) ||", "||"},
	}},
	{"window: what failed waits for it", deliveryFolder, gathered, []edit{
		{"gather.go", "c.Attempts > 0 || c.FailedTo() > c.Delivered || !c.RetryAt.IsZero() || ", ""},
	}},
	{"window: what is due for long is claimed unseen", deliveryFolder, gathered, []edit{
		{"gather.go", "if now.Sub(w.due) > stale {", "if false {"},
	}},
	{"window: a failure without a record fails another's", deliveryFolder, gathered, []edit{
		{"stream.go", "return record != nil && !stream.HeldForLong(record, d.now())", "return true"},
	}},
	{"window: whom a claim stops is not woken up", deliveryFolder, gathered, []edit{
		{"gather.go", "return c.To < upTo //", "return false //"},
	}},
	{"window: who is paused is woken up", deliveryFolder, gathered, []edit{
		{"gather.go", "c.Delivered >= upTo || c.Paused != \"\" ||", "c.Delivered >= upTo ||"},
	}},
	{"window: the sweep takes it for lag", deliveryFolder, gathered, []edit{
		{"sweep.go", "c.Delivered >= it.Position || r.gathers(c) {", "c.Delivered >= it.Position {"},
	}},
	{"window: the sweep waits for it for ever", deliveryFolder, gathered, []edit{
		{"gather.go", "gathersUntil(c, r.now()).Add(gathered)", "gathersUntil(c, r.now()).Add(24 * 3600 * gathered)"},
	}},
	{"window: nothing is known of the last batch", recordFolder, gathered, []edit{
		{"store_claims.go", "attrBatchAt.Set(ddb.Millis(claim.Now))", "attrBatchAt.Remove()"},
	}},
	{"window: without a timer", deliveryFolder, test{"./pkg/handoff", "TestAWindowNeedsATimer"}, []edit{
		{"stream.go", "if r.BatchWindow > 0 && d.wakeBatch == nil {", "if false {"},
	}},
	{"window: of batches, the text of a seq is compared", timerFolder, sending, []edit{
		{"timer.go", "w.UpTo = strconv.FormatInt(max(w.Seq(), last.Seq()), 10)", "w.UpTo = max(w.UpTo, last.UpTo)"},
	}},
	{"window: each record has a wake-up of its own", timerFolder, sending, []edit{
		{"wakeup.go", "return !on.at.Before(w.Due)", "return false"},
	}},
	{"window: the next one has no wake-up", timerFolder, sending, []edit{
		{"wakeup.go", "return !on.at.Before(w.Due)", "return true"},
	}},
	{"window: wake-ups of batches find nobody", wakersFolder, test{"./functions/sweep", "TestHandlerWakesBatches"}, []edit{
		{"wake.go", "WakeBatch(ctx, w.Queue, w.Seq(),", "WakeBatch(ctx, w.Queue, 0,"},
	}},
	{"shared: what a consumer does to its messages", deliveryFolder, sharing, []edit{
		{"share.go", "return copied(it.batch), nil", "return it.batch, nil"},
		{"share.go", "batch = copied(batch)", "_ = copied(batch)"},
	}},
	{"shared: a batch of another place", deliveryFolder, test{"./pkg/handoff", "TestConsumers"}, []edit{
		{"share.go", "|| it.after != after {", "{"},
	}},
	{"shared: a batch of other bounds", deliveryFolder, sharing, []edit{
		{"share.go", "it == nil || it.Reading != how ||", "it == nil ||"},
	}},
	{"shared: a read that failed", deliveryFolder, sharing, []edit{
		{"share.go", "if <-it.done; !it.ok {", "if <-it.done; false {"},
	}},
}
