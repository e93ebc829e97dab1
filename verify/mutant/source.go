package main

const sourceFolder, sourceFunction = "internal/source", "functions/source"

var (
	sourceTests    = test{"./internal/source", "Test"}
	sourceHandling = test{"./functions/source", "Test"}
	mappingTests   = test{"./internal/mapping", "Test"}
)

const mappingFolder = "internal/mapping"

// sourceMutants are bugs by which a record of AWS's is lost, makes another message than before,
// stands at another place, or holds up others.
var sourceMutants = []mutant{
	{"source: sequence numbers sort as texts of any length", sourceFolder, sourceTests, []edit{
		{"kind.go", `return strings.Repeat("0", width-len(number)) + number`, "return number"},
	}},
	{"source: a message's id is that of what carries it", sourceFolder, sourceTests, []edit{
		{"sns.go", `p.set("messageId", n.MessageID)`, `p.set("messageId", n.TopicARN)`},
	}},
	{"source: an S3 key as the path of a URL has it", sourceFolder, sourceTests, []edit{
		{"s3.go", "url.QueryUnescape(r.S3.Object.Key)", "url.PathUnescape(r.S3.Object.Key)"},
	}},
	{"source: two items of a table are one", sourceFolder, sourceTests, []edit{
		{"dynamodb.go", `url.PathEscape("/")`, `url.PathEscape("-")`},
	}},
	{"source: an object's events have one id", sourceFolder, sourceTests, []edit{
		{"s3.go", `name+"@"+sequencer`, `name`},
	}},
	{"source: a Kafka topic that is made anew is the old one", sourceFolder, sourceTests, []edit{
		{"kafka.go", `+"@"+r.Timestamp.String()`, ""},
	}},
	{"source: a record names a tenant's queue", mappingFolder, sourceTests, []edit{
		{"message.go", `strings.HasPrefix(name, "@")`, `strings.HasPrefix(name, "@@")`},
	}},
	{"source: what differs at each delivery is a body", mappingFolder, sourceTests, []edit{
		{"path.go", "case t.steps == nil && slices.Contains(k.Volatile, t.variable):", "case false:"},
	}},
	{"mapping: null on the way is no reason for another", mappingFolder, mappingTests, []edit{
		{"event.go", "if err != nil || isNothing(raw) {", "if err != nil || raw == nil {"},
	}},
	{"mapping: any value fulfils a condition", mappingFolder, mappingTests, []edit{
		{"event.go", "return slices.Contains(c.equals, v.text), err", "return slices.Contains(c.equals, v.text) || len(c.equals) > 0, err"},
	}},
	{"mapping: parts of ids run together", mappingFolder, mappingTests, []edit{
		{"message.go", "joined.WriteString(escapePart.Replace(name))", "joined.WriteString(name)"},
	}},
	{"mapping: an element's key is the first's", mappingFolder, mappingTests, []edit{
		{"message.go", "whole: e, place: i}", "whole: e, place: 0}"},
	}},
	{"source: those behind a failed one of a group are taken", sourceFolder, sourceTests, []edit{
		{"answer.go", `case e.carrier == queue && at.group != "" && held[at.group]:`, "case false:"},
	}},
	{"source: a stream goes on behind the last that failed", sourceFolder, sourceTests, []edit{
		{"answer.go", "if all = append(all, at); e.carrier == stream {\n\t\t\tbreak\n\t\t}", "if all = append(all, at); e.carrier == stream {\n\t\t\tall = all[len(all)-1:]\n\t\t}"},
	}},
	{"source: a Kafka mapping that takes no partial answer gets one", sourceFolder, sourceTests, []edit{
		{"answer.go", "e.carrier == topic && !e.partial", "false"},
	}},
	{"source: an asynchronous call that failed is a success", sourceFolder, sourceTests, []edit{
		{"answer.go", "many > 0 && (e.carrier == once ||", "many > 0 && (false ||"},
	}},
	{"source: a test of S3's is a record", sourceFolder, sourceTests, []edit{
		{"event.go", "case k == &s3Kind && d.Service == testService && d.Event == testEvent:", "case false:"},
	}},
	{"source: poison fails its event", sourceFunction, sourceHandling, []edit{
		{"batch.go", "\t\tif sent[i] {\n\t\t\tthere = append(there, p)\n\t\t\tcontinue\n\t\t}", "\t\tif sent[i] {\n\t\t\tthere = append(there, p)\n\t\t}"},
	}},
	{"source: poison that could not be set aside is done with", sourceFunction, sourceHandling, []edit{
		{"batch.go", "b.again(ctx, []int{p.place}, errAside)", "_ = errAside"},
	}},
	{"source: what could not be stored is done with", sourceFunction, sourceHandling, []edit{
		{"batch.go", "\tcase a.Failure != nil:\n\t\tb.again(ctx, []int{place}, a.Failure)\n", "\tcase a.Failure != nil:\n"},
	}},
	{"source: another message under the same seq is done with", sourceFunction, sourceHandling, []edit{
		{"batch.go", "case a.Outcome == cursor.Conflict:", "case false:"},
	}},
	{"source: a message that came too late is done with", sourceFunction, sourceHandling, []edit{
		{"batch.go", "case a.Outcome == cursor.Late:", "case false:"},
	}},
	{"source: one that is too far ahead holds up its shard", sourceFunction, sourceHandling, []edit{
		{"batch.go", "case beyond && numbered && b.event.Alone(place):", "case beyond && numbered:"},
	}},
	{"source: one that is too far ahead holds up its group", "internal/source", sourceHandling, []edit{
		{"answer.go", " && e.Records[i].item.group == \"\"", ""},
	}},
	{"source: one that is too far ahead is not put behind what fills its gap", sourceFunction, sourceHandling, []edit{
		{"batch.go", "case beyond && numbered && !b.last:", "case false:"},
	}},
	{"source: one that clashes takes the others with it", sourceFunction, sourceHandling, []edit{
		{"batch.go", "if !errors.As(err, &wrong) || len(wrong.At) == 0 {", "if true {"},
	}},
	{"source: messages are put one by one", sourceFunction, sourceHandling, []edit{
		{"batch.go", "const maxMessages = 500", "const maxMessages = 1"},
	}},
	{"source: a failure queue gets more than it takes", sourceFunction, sourceHandling, []edit{
		{"aside.go", "if len(entries) == maxEntries || size+len(text) > maxRequest {", "if len(entries) == maxEntries {"},
	}},
	{"source: what SQS does not take is sent there", sourceFunction, sourceHandling, []edit{
		{"aside.go", "json.Valid(r.Raw) && forSQS(r.Raw)", "json.Valid(r.Raw)"},
	}},
	{"source: a repeat of what was set aside has an id of its own", sourceFunction, sourceHandling, []edit{
		{"aside.go", `[]byte(a.source.Name + "\x00" + string(r.Raw))`, `[]byte(a.now().String() + rand.Text())`},
		{"aside.go", `"crypto/sha256"`, "\"crypto/rand\"\n\t\"crypto/sha256\""},
	}},
	{"source: what comes behind one that failed has the place before it", sourceFunction, test{"./functions/source", "TestArrivalOrderOfAStream"}, []edit{
		{"batch.go", "if held[b.messages[i].Queue] {", "if false {"},
	}},
	{"source: of more than 500 records, a failed one is looked for at another place", sourceFunction, test{"./functions/source", "TestArrivalOrderOfAStream"}, []edit{
		{"batch.go", "for i, place := range b.places[:from] {\n\t\tif b.failed[place] {", "for i := range b.places[:from] {\n\t\tif b.failed[i] {"},
	}},
	{"source: those behind a contradicting one are dropped in silence", "internal/intake", shardSchedules, []edit{
		{"intake.go", "if p.count++; p.Events ", "if p.count++; len(p.twins) > 0 || p.Events "},
	}},
	{"source: what is ahead of what has to be repeated is set aside", sourceFunction, test{"./functions/source", "TestAppendOfAStream"}, []edit{
		{"batch.go", "case a.Outcome == cursor.Ahead && slices.Contains(b.failed, true):", "case false:"},
	}},
	{"source: of records put together too", sorterFolder, test{"./functions/source", "TestArrivalOrderOfAStream"}, []edit{
		{"append.go", "case before != nil && a.open():", "case false:"},
	}},
}
