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
	{"producer: what is full goes again at the head", producerFolder, producerSuite, []edit{
		{"dispatch.go", "				asides++\n				q.aside.push(f)\n", "				asides++\n				again.push(f)\n"},
	}},
	{"producer: what is ahead goes again for ever", producerFolder, test{"./pkg/producer", "TestAhead"}, []edit{
		{"dispatch.go", "if !part.queue.has(next) && !part.repeats(of, next) {", "if next < 0 {"},
	}},
	{"producer: a 403 refuses the messages", producerFolder, producerSuite, []edit{
		{"judge.go", "http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, ", "http.StatusUnauthorized, "},
	}},
	{"producer: a request that is refused as a whole refuses its first message", producerFolder, producerTests, []edit{
		{"judge.go", "	if c.messages == 1 {\n		err := &RefusedError", "	if c.messages >= 1 {\n		err := &RefusedError"},
	}},
	{"producer: one queue may have all of the memory", producerFolder, producerTests, []edit{
		{"queue.go", "room: semaphore.NewWeighted(p.options.QueueBytes)", "room: semaphore.NewWeighted(p.options.MaxBytes)"},
	}},
	{"producer: a flush leaves out what is under way", producerFolder, producerTests, []edit{
		{"producer.go", "		case <-e.done:\n", "		case <-e.done:\n		default:\n"},
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
	{"producer: what is full goes before what waits", producerFolder, producerTests, []edit{
		{"dispatch.go", "		q.waiting.behind(&q.aside)", "		q.aside.behind(&q.waiting)\n		q.waiting, q.aside = q.aside, list{}"},
	}},
	{"producer: an answer with too few results is taken", producerFolder, producerTests, []edit{
		{"judge.go", "	if len(answer.Results) != c.messages {", "	if len(answer.Results) > c.messages {"},
	}},
	{"producer: a message that is full is never given up", producerFolder, producerTests, []edit{
		{"dispatch.go", "			if p.options.GiveUpAfter > 0 &&", "			if v.fate == repeat && p.options.GiveUpAfter > 0 &&"},
	}},
	{"producer: a flush leaves out what an earlier one waited for", producerFolder, producerTests, []edit{
		{"producer.go", "		if e.open > 0 {\n", "		if e == last && e.open > 0 {\n"},
	}},
	{"producer: Close forgets what is set aside", producerFolder, producerTests, []edit{
		{"producer.go", "[]*list{&q.aside, &q.waiting}", "[]*list{&q.waiting}"},
	}},
	{"producer: all queues together have no bound", producerFolder, producerTests, []edit{
		{"producer.go", "	if !p.memory.TryAcquire(f.weight) {", "	if false {"}, {"producer.go", "	p.memory.Release(f.weight)\n", ""},
	}},
}
