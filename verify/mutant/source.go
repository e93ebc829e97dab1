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
	{"source: a Kafka topic that is recreated is the old one", sourceFolder, sourceTests, []edit{
		{"kafka.go", `+"@"+r.Timestamp.String()`, ""},
	}},
	{"source: a record names a tenant's queue", mappingFolder, sourceTests, []edit{
		{"message.go", `strings.HasPrefix(name, "@")`, `strings.HasPrefix(name, "@@")`},
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
	{"source: a stream goes on behind the last that failed", sourceFolder, sourceTests, []edit{
		{"answer.go", "if all = append(all, at); e.carrier == stream {\n\t\t\tbreak\n\t\t}", "if all = append(all, at); e.carrier == stream {\n\t\t\tall = all[len(all)-1:]\n\t\t}"},
	}},
	{"source: poison fails its event", sourceFunction, sourceHandling, []edit{
		{"batch.go", "\t\tif sent[i] {\n\t\t\tthere = append(there, p)\n\t\t\tcontinue\n\t\t}", "\t\tif sent[i] {\n\t\t\tthere = append(there, p)\n\t\t}"},
	}},
	{"source: messages are put one by one", sourceFunction, sourceHandling, []edit{
		{"batch.go", "from+intake.MaxMessages", "from+1"}, {"batch.go", "from += intake.MaxMessages", "from++"},
	}},
	{"source: a repeat of what was set aside has an id of its own", sourceFunction, sourceHandling, []edit{
		{"aside.go", `[]byte(a.source.Name + "\x00" + string(r.Raw))`, `[]byte(a.now().String() + rand.Text())`},
		{"aside.go", `"crypto/sha256"`, "\"crypto/rand\"\n\t\"crypto/sha256\""},
	}},
	{"source: of more than 500 records, a failed one is looked for at another place", sourceFunction, test{"./functions/source", "TestArrivalOrderOfAStream"}, []edit{
		{"batch.go", "for i, place := range b.places[:from] {\n\t\tif b.failed[place] {", "for i := range b.places[:from] {\n\t\tif b.failed[i] {"},
	}},
	{"source: those behind a contradicting one are dropped in silence", "internal/intake", shardSchedules, []edit{
		{"intake.go", "if p.count++; p.Events ", "if p.count++; len(p.twins) > 0 || p.Events "},
	}},
	{"source: of records put together too", sorterFolder, test{"./functions/source", "TestArrivalOrderOfAStream"}, []edit{
		{"append.go", "case before != nil && a.open():", "case false:"},
	}},
}
