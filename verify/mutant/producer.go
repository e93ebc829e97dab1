package main

const producerFolder = "pkg/producer"

var (
	producerTests = test{"./pkg/producer", "Test"}
	producerSuite = test{"./pkg/producer", "TestSuite"}
)

// producerMutants are bugs by which a producer loses a message, sends one twice or out of order, or has one queue
// hold up another.
var producerMutants = []mutant{
	{"producer: two requests of a queue side by side", producerFolder, producerTests, []edit{
		{"queue.go", "	if q.busy {\n		return\n	}\n", ""}, {"producer.go", "if !q.busy && (q.waiting.n == 1", "if (q.waiting.n == 1"},
	}},
	{"producer: what goes again comes behind what is newer", producerFolder, producerTests, []edit{
		{"dispatch.go", "		again.behind(&q.waiting)\n		q.waiting = again\n", "		q.waiting.behind(&again)\n"},
	}},
	{"producer: a repeat without a wait", producerFolder, producerSuite, []edit{
		{"dispatch.go", "q.notBefore = now.Add(judged.least + q.delay.NextBackOff())", "q.notBefore = now"},
	}},
	{"producer: what is full goes again at the head", producerFolder, producerSuite, []edit{
		{"dispatch.go", "				asides++\n				q.aside.push(f)\n", "				asides++\n				again.push(f)\n"},
	}},
	{"producer: what is ahead is refused, though the next one is there", producerFolder, test{"./pkg/producer", "TestAhead"}, []edit{
		{"dispatch.go", "!part.queue.has(next) && !part.repeats(of, next)", "!part.repeats(of, next)"},
	}},
	{"producer: what is ahead is refused, though the next one goes again", producerFolder, test{"./pkg/producer", "TestAhead"}, []edit{
		{"dispatch.go", "!part.queue.has(next) && !part.repeats(of, next)", "!part.queue.has(next)"},
	}},
	{"producer: what is ahead goes again for ever", producerFolder, test{"./pkg/producer", "TestAhead"}, []edit{
		{"dispatch.go", "if !part.queue.has(next) && !part.repeats(of, next) {", "if next < 0 {"},
	}},
	{"producer: a part that failed is taken for stored", producerFolder, producerTests, []edit{
		{"judge.go", "case r.Status >= http.StatusInternalServerError || r.Status < http.StatusOK:", "case r.Status < http.StatusOK:"},
	}},
	{"producer: a 403 refuses the messages", producerFolder, producerSuite, []edit{
		{"judge.go", "http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, ", "http.StatusUnauthorized, "},
	}},
	{"producer: a request that is refused as a whole refuses its first message", producerFolder, producerTests, []edit{
		{"judge.go", "	if c.messages == 1 {\n		err := &RefusedError", "	if c.messages >= 1 {\n		err := &RefusedError"},
	}},
	{"producer: one queue's failure makes no queue go alone", producerFolder, producerTests, []edit{
		{"dispatch.go", "q.troubled = slow || wait && judged.troubled", "q.troubled = slow && false"},
	}},
	{"producer: queues in trouble may have all requests", producerFolder, producerTests, []edit{
		{"dispatch.go", " && p.alone < p.options.Requests/2", ""},
	}},
	{"producer: queues in trouble wait until no other has anything to send", producerFolder, producerTests, []edit{
		{"dispatch.go", "(!shared || !p.well[0].due.Before(p.troubled[0].due))", "!shared"},
	}},
	{"producer: one queue may have all of the memory", producerFolder, producerTests, []edit{
		{"queue.go", "room: semaphore.NewWeighted(p.options.QueueBytes)", "room: semaphore.NewWeighted(p.options.MaxBytes)"},
	}},
	{"producer: what is answered keeps its memory", producerFolder, producerTests, []edit{
		{"producer.go", "	p.mu.Unlock()\n	p.release(f)\n}", "	p.mu.Unlock()\n}"},
	}},
	{"producer: a flush leaves out what is under way", producerFolder, producerTests, []edit{
		{"producer.go", "		case <-e.done:\n", "		case <-e.done:\n		default:\n"},
	}},
	{"producer: one id for all", producerFolder, producerTests, []edit{
		{"producer.go", "		p.made++\n", ""},
	}},
	{"producer: every process makes the same ids", producerFolder, producerTests, []edit{
		{"producer.go", "prefix: rand.Text()", "prefix: rand.Text()[:0] + \"ABCDEFGHIJKLMNOPQRSTUVWXYZ\""},
	}},
	{"producer: white space around a body is lost", "pkg/producer", test{"./functions/enqueue", "TestProducerKeepsBodies"}, []edit{
		{"message.go", " && !isSpace(m.Body[last]) &&", " &&"},
	}},
	{"producer: a queue whose request was too large has small ones for ever", producerFolder, producerTests, []edit{
		{"dispatch.go", "q.most = min(q.most*2, p.options.Batch)", "q.most = min(q.most, p.options.Batch)"},
	}},
	{"producer: a repeat waits for the linger", producerFolder, producerTests, []edit{
		{"queue.go", " || q.waiting.head.tries > 0 {", " {"},
	}},
	{"producer: what is full goes before what waits", producerFolder, producerTests, []edit{
		{"dispatch.go", "		q.waiting.behind(&q.aside)", "		q.aside.behind(&q.waiting)\n		q.waiting, q.aside = q.aside, list{}"},
	}},
	{"producer: an answer with too few results is taken", producerFolder, producerTests, []edit{
		{"judge.go", "	if len(answer.Results) != c.messages {", "	if len(answer.Results) > c.messages {"},
	}},
	{"producer: a success does not start the back-off anew", producerFolder, producerTests, []edit{
		{"dispatch.go", "			q.delay.Reset()\n", ""},
	}},
	{"producer: a message that is full is never given up", producerFolder, producerTests, []edit{
		{"dispatch.go", "			if p.options.GiveUpAfter > 0 &&", "			if v.fate == repeat && p.options.GiveUpAfter > 0 &&"},
	}},
	{"producer: what was given up is sent again", producerFolder, producerTests, []edit{
		{"dispatch.go", "				judged.of[i].fate = refused\n", ""},
	}},
	{"producer: a flush leaves out what an earlier one waited for", producerFolder, producerTests, []edit{
		{"producer.go", "		if e.open > 0 {\n", "		if e == last && e.open > 0 {\n"},
	}},
	{"producer: Close forgets what is set aside", producerFolder, producerTests, []edit{
		{"producer.go", "[]*list{&q.aside, &q.waiting}", "[]*list{&q.waiting}"},
	}},
	{"producer: Close leaves a Send waiting for room", producerFolder, producerTests, []edit{
		{"producer.go", "	p.stopTakes()\n", ""},
	}},
	{"producer: a Send that gave up keeps its room in the queue", producerFolder, producerTests, []edit{
		{"producer.go", "			f.queue.room.Release(f.weight)\n			return err\n", "			return err\n"},
	}},
	{"producer: a queue is forgotten while a Send waits in it", producerFolder, producerTests, []edit{
		{"queue.go", "q.senders == 0 && ", ""},
	}},
	{"producer: all queues together have no bound", producerFolder, producerTests, []edit{
		{"producer.go", "	if !p.memory.TryAcquire(f.weight) {", "	if false {"}, {"producer.go", "	p.memory.Release(f.weight)\n", ""},
	}},
}
