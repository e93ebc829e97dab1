package main

// Where bulk operations are, and their tests: alone, and against the API.
const bulkFolder = "internal/bulk"

var (
	bulkAlone = test{"./internal/bulk", "."}
	bulkOnAPI = test{"./functions/delivery", "TestBulk"}
	bulkPage  = test{"./pkg/ui", "TestBulk"}
)

// bulkMutants are bugs by which a bulk operation acts on a consumer twice, not at all, or on the
// wrong one.
var bulkMutants = []mutant{
	{"bulk: what another action did is taken for done", bulkFolder, bulkOnAPI, []edit{
		{"run.go", "o.ID == id && o.Action != r.Action", "o.ID == id && o.Action == \"\""},
	}},
	{"bulk: what the first part of a run did is done again", bulkFolder, bulkOnAPI, []edit{
		{"run.go", "if r.resumed {", "if false {"},
	}},
	{"bulk: an operation has another id in each part of a run", bulkFolder, bulkOnAPI, []edit{
		{"run.go", "hex.EncodeToString(sum[:8])", "hex.EncodeToString(sum[:8]) + time.Now().Format(\"05.000000\")"},
	}},
	{"bulk: a consumer that came into the state again is acted on", bulkFolder, bulkOnAPI, []edit{
		{"look.go", " && (!since.After(r.began) || r.State == string(view.Held))", ""},
	}},
	{"bulk: an operation whose answer was lost is not looked for", bulkFolder, bulkOnAPI, []edit{
		{"run.go", "found || failed != nil", "failed != nil && !found"},
	}},
	{"bulk: a consumer that changed has failed", bulkFolder, bulkOnAPI, []edit{
		{"run.go", "\tcase changed:\n\t\tbecame = \"changed\"\n\t\tt.report.Changed++\n", ""},
	}},
	{"bulk: a run begins by the caller's clock", bulkFolder, bulkAlone, []edit{
		{"look.go", "r.began = now.Truncate(time.Millisecond)", "r.began = time.Now()"},
	}},
	{"bulk: a run has no rate", bulkFolder, bulkAlone, []edit{
		{"run.go", "next = next.Add(interval)", "next = next.Add(0 * interval)"},
	}},
	{"bulk: an interrupt cuts the operations under way", bulkFolder, bulkAlone, []edit{
		{"run.go", "context.WithCancel(context.WithoutCancel(ctx))", "context.WithCancel(ctx)"},
	}},
	{"bulk: a run of the page ends with the browser's request", "pkg/ui", bulkPage, []edit{
		{"runs.go", "context.WithCancel(context.WithoutCancel(r.Context()))", "context.WithCancel(r.Context())"},
	}},
	{"bulk: a run of the page is everybody's", "pkg/ui", bulkPage, []edit{
		{"runs.go", "j.ID == id && j.who == who", "j.ID == id && who != \"none\""},
	}},
	{"bulk: a run that is started twice is carried out twice", "pkg/ui", bulkPage, []edit{
		{"runs.go", "if j.State != dryRun || ", "if j.State == done || "},
	}},
}
