package cost

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/localstack/template"
)

func bills(t *testing.T, w Workload) map[string]Bill {
	t.Helper()
	check.OK(t, w.Check())
	all := map[string]Bill{}
	for _, b := range w.Bills() {
		all[b.Name] = b
	}
	return all
}

// The formulae, worked out by hand for a million messages in a month.
func TestBills(t *testing.T) {
	single := Workload{Rate: 1e6 / month, Batch: 1, Disorder: InOrder,
		Queues: 1_000_000, Tracing: true}
	busy := singly(100)
	busy.Tracing = true
	batches := Workload{Rate: 1e6 / month, Batch: 25, Disorder: Window8, Queues: 1_000_000}
	for _, c := range []struct {
		name string
		got  float64
		want float64
	}{
		{"two writes a message; sort looks once at each", bills(t, single)["sync"].Requests, 2.01*0.625 + 0.005*0.125 + 0.125},
		{"alone in its stream batch", bills(t, single)["async"].Requests, 2.01*0.625 + 4.005*0.125},
		{"a claim, a commit, a look and a page for each move", bills(t, single)["sync, one consumer"].Requests, bills(t, single)["sync"].Requests + 1.01*(2*0.625+1.5*0.125)},
		{"the older algorithm", bills(t, single)["aws-stream-sort"].Requests, 2*0.625 + 0.125},
		{"an API request a message", bills(t, single)["sync"].API, 1},
		{"the first 300 million requests of 2,628, and the others", bills(t, busy)["sync"].API, 300 + 2328*0.9},
		{"an access line each; two lines a second for each busy process of enqueue, and one of sort", bills(t, busy)["sync"].Logs, (1000*140 + (2*1000*0.012+1)*363) * month / (1 << 30) * 0.5},
		{"enqueue and sort, 12 and 7 ms of half a GB", bills(t, single)["sync"].Functions, 0.4 + 19e3*0.5*0.0000133334},
		{"enqueue alone moves nothing, sort asks four times", bills(t, single)["async"].Functions, 0.4 + 29e3*0.5*0.0000133334},
		{"10,950 looks at a million queues, half a unit for 4 KB of 117 bytes each", single.sweep(0).Rounds, 10950 * (1e9*117/8192*0.125e-9 + 0.625e-6)},
		{"30.4 looks behind each, for half a unit, by two scans", single.sweep(0).Full, 730.0 / 24 * (0.5 + 2*117/8192.0) * 0.125},
		{
			"43,800 calls, of 11 units and 32 ms; 112 pages by four; 64 side by side", single.sweep(0).Calls,
			43800*(11*0.125e-6+0.2e-6+1200.0/(1<<30)*0.5+5e-6) + (43800*0.032+10950*112.0/4*0.1+730.0/24*1e6/64*0.005)*0.5*0.0000133334,
		},
		{"a thousand moves a second for 14 minutes each", single.sweep(1000).Moved, 10950 * 840e3 * (0.125e-6 + 0.005/64*0.5*0.0000133334)},
		{"no more than all queues", single.sweep(1e4).Moved, 10950 * (0.125 + 1e6*0.005/64*0.5*0.0000133334)},
		{"14 of 30.4 days, 300 bytes", bills(t, single)["sync"].Stored, 1e6 / month * 14 * 86400 * 300 / (1 << 30) * 0.45},
		{"sent, received and deleted", bills(t, single)["SQS FIFO"].Total(), 1.5},
		{"enqueue and sort are each called less than once a second: all are traced", bills(t, single)["sync"].XRay, 10},
		{"a second and 5 % of the other 999, and of sort's nine", bills(t, busy)["sync"].XRay / busy.Messages() * million, (1 + 0.05*999 + 1 + 0.05*9) * 5 / 1000},
		{"tracing off, as by default", bills(t, Workload{Rate: 1, Batch: 1, Disorder: InOrder, Queues: 1})["async, one consumer"].XRay, 0},
		{"14 of 30.4 days, 334 and 100 bytes of an item of two", bills(t, Workload{Rate: 1e6 / month, Batch: 2, Disorder: InOrder, Queues: 1})["append"].Stored, 1e6 / month * 14 * 86400 * 434 / 2 / (1 << 30) * 0.45},
		{"batches of 25; sort looks once at each", bills(t, batches)["sync"].Requests, 1.06*0.625 + 0.095*0.125 + 0.125/25},
		{"a request has 25 messages", bills(t, batches)["sync"].API, 0.04},
		{"a FIFO request has ten at most", bills(t, batches)["SQS FIFO"].Total(), 0.15},
	} {
		check.That(t, math.Abs(c.got-c.want) <= 1e-6, "%s: $%.6f, want $%.6f", c.name, c.got, c.want)
	}
}

// TestAMillionQueues: what the sweep of a million quiet queues may cost.
func TestAMillionQueues(t *testing.T) {
	quiet := (Workload{Queues: 1_000_000}).sweep(0).Quiet()
	check.That(t, quiet <= 25, "$%.2f a month, want 25 at most", quiet)
}

// TestLinger: the requests that take so many bound it.
func TestLinger(t *testing.T) {
	w := Workload{Rate: 100_000, Batch: 1, Disorder: InOrder, Queues: 1000, Linger: 1}
	check.That(t, w.requests() == 200 && w.batch() == 76, "%g %g", w.requests(), w.batch())
}

func TestAt(t *testing.T) {
	measured := Producer[Window8]
	for size, want := range map[float64]Units{
		1: measured[0], 5: measured[1], 25: measured[2], 100: measured[3], 500: measured[3],
		// Over 1/size, 2 lies 3/8 of the way from 5 to 1.
		2: {1.24 + 0.375*0.41, 0.305 + 0.375*0.98},
	} {
		if got := at(measured, size); math.Abs(got.Writes-want.Writes) > 1e-9 ||
			math.Abs(got.Reads-want.Reads) > 1e-9 {
			t.Errorf("batches of %g: %v, want %v", size, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	const aQueue = "a queue takes 1000 messages a second at most, so write queues 2 or more"
	good := Workload{Rate: 100, Batch: 25, Disorder: Window8, Queues: 10}
	for _, c := range []struct {
		spoil func(*Workload)
		want  string
	}{
		{func(w *Workload) { w.Rate = 0 }, "rate is 0; write messages a second, above 0 and up to 1000000"},
		{func(w *Workload) { w.Rate = math.NaN() }, "rate is NaN"},
		{func(w *Workload) { w.Rate = math.Inf(1) }, "rate is +Inf"},
		{func(w *Workload) { w.Batch = 0 }, "batch is 0; write how many messages a request has, 1 to 500"},
		{func(w *Workload) { w.Batch = 501 }, "batch is 501"},
		{func(w *Workload) { w.Disorder = "4" }, `disorder is "4"; write one of 0, 8, 32, reverse, random`},
		{func(w *Workload) { w.Queues = 0 }, "queues is 0; write how many queues share the rate"},
		{func(w *Workload) { w.Rate, w.Queues = 5500, 5 }, "write queues 6 or more"},
		{func(w *Workload) { *w = Workload{Rate: 1001, Batch: 1, Disorder: InOrder, Queues: 1} }, aQueue},
		{func(w *Workload) { *w = Workload{Rate: 1001, Batch: 25, Disorder: Window8, Queues: 1} }, aQueue},
		{func(w *Workload) { *w = Workload{Rate: 1001, Batch: 25, Disorder: InOrder, Keyed: true, Queues: 1} }, aQueue},
		{func(w *Workload) { w.Linger, w.Batch = 0.0001, 1 }, "write 1ms to 60s"},
		{func(w *Workload) { w.Linger, w.Batch = 61, 1 }, "write 1ms to 60s"},
		{func(w *Workload) { w.Linger = 1 }, "write batch 1"},
	} {
		w := good
		c.spoil(&w)
		err := w.Check()
		check.That(t, err != nil && strings.Contains(err.Error(), c.want), "%+v: error %v", w, err)
	}
	err := good.Check()
	check.That(t, err == nil, "%v", err)
}

// written finds where code of the functions writes a metric by its name.
var written = regexp.MustCompile(
	`(?:\.(?:Count|Add)\(|tellAge\(metrics, |cursor\.\w+:\s+)"([A-Z]\w+)"`)

// The bill's metrics are those that the functions' code names.
func TestMetrics(t *testing.T) {
	const root = "../../.."
	found := map[string]bool{}
	for _, folder := range []string{"functions", "internal"} {
		check.OK(t, filepath.WalkDir(filepath.Join(root, folder),
			func(path string, _ fs.DirEntry, err error) error {
				if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
					return err
				}
				text, err := os.ReadFile(path)
				for _, name := range written.FindAllStringSubmatch(string(text), -1) {
					found[name[1]] = true
				}
				return err
			}))
	}
	check.Is(t, len(found), names, slices.Sorted(maps.Keys(found)))
}

// What a keyed queue costs falls with how many of its messages are settled together.
func TestKeyed(t *testing.T) {
	last := math.Inf(1)
	for _, rate := range []float64{1, 100, 1000} {
		w := Workload{Rate: rate, Batch: 1, Disorder: InOrder, Queues: 1, Keyed: true}
		bill := w.Bills()[0]
		a := (bill.Requests + bill.Functions) / w.Messages() * million
		check.That(t, bill.Name == "keyed" && a < last && a >= 0.6, "%g %.2f %.2f", rate, a, last)
		last = a
	}
}

// The bill's alarms and dashboards are those of the template that deploys.
func TestFixed(t *testing.T) {
	const root = "../../.."
	text, err := template.ReadFile(filepath.Join(root, "examples", "demo", "streamsort.patch.json"))
	check.OK(t, err)
	var document struct {
		Resources map[string]struct{ Type string }
	}
	check.OK(t, json.Unmarshal(text, &document))
	count := map[string]int{}
	for _, resource := range document.Resources {
		count[resource.Type]++
	}
	if count["AWS::CloudWatch::Alarm"] != alarms || count["AWS::CloudWatch::Dashboard"] != dashboards {
		t.Errorf("the template has %d alarms and %d dashboards, the bill %d and %d",
			count["AWS::CloudWatch::Alarm"], count["AWS::CloudWatch::Dashboard"], alarms, dashboards)
	}
}

// aMillion is what a million messages cost with one consumer.
func aMillion(t *testing.T, w Workload) float64 {
	t.Helper()
	return bills(t, w)[ours].Total() / w.Messages() * million
}

// TestSingles: in which configuration single messages keep to $1.90 a million, and that no other
// one does; docs/reference/cost.md has what they cost.
func TestSingles(t *testing.T) {
	for _, c := range []struct {
		queues int
		change func(*Workload)
		keeps  bool
	}{
		{16, cheapest, true},
		{110, cheapest, true},
		{125, cheapest, false},
		{16, func(w *Workload) { cheapest(w); w.Tracing = true }, false},
		{16, func(w *Workload) { cheapest(w); w.Window = 0 }, true},
		{16, func(w *Workload) { cheapest(w); w.URL = false }, false},
	} {
		w := singly(c.queues)
		c.change(&w)
		check.Is(t, (aMillion(t, w) <= 1.90), c.keeps, w)
	}
}

// TestDefault: what a million single messages may cost by default; docs/reference/cost.md has the
// configuration.
func TestDefault(t *testing.T) {
	got := aMillion(t, singly(16))
	check.That(t, got <= 2.75, "$%.3f a million, want at most $2.75", got)
	traced := singly(16)
	traced.Tracing = true
	got = aMillion(t, traced)
	check.That(t, got > 2.75, "$%.3f a million with X-Ray", got)
}

// TestHundreds: the goal for batches of 100 JSON messages in order, with one consumer, API, logs
// and X-Ray, which is on.
func TestHundreds(t *testing.T) {
	_, w := inBatches(100)
	w.Tracing = true
	b := bills(t, w)[oursAppended]
	got := b.Total() / w.Messages() * million
	check.That(t, got <= 0.15 && b.API != 0 && b.Logs != 0 && b.XRay != 0, "$%.3f a million", got)
}

// TestCallLine: the line of a put, by the names that a stack's function has.
func TestCallLine(t *testing.T) {
	var out bytes.Buffer
	e := emf.New(&out, emf.Names{Function: "Streamsort-EnqueueFunction0A1B2C3D-aBcDeFgHiJkL"})
	e.Begin().Flush() // the first has a ColdStart more
	out.Reset()
	m := e.Begin()
	m.Count("MessagesStored", 1)
	m.Count("Advances", 1)
	m.Flush()
	check.Is(t, out.Len()-1+26, callLine, &out)
}

// TestThePagesAreWhatIsCounted holds the tables of docs/reference/cost.md and the README's to the
// bills.
func TestThePagesAreWhatIsCounted(t *testing.T) {
	err := Page("../../..", false)
	check.That(t, err == nil, "%v", err)
}

// What one queue takes, worked out by hand of the units that are measured: an item of 100 has
// 0.03 units a message, a hundredth of which moves the cursor.
func TestOneQueue(t *testing.T) {
	for batch, want := range map[int]float64{2: 2_000, 5: 5_000, 25: 25_000, 100: 50_000,
		500: 500_000.0 / 7} {
		w := Workload{Rate: want, Batch: batch, Disorder: InOrder, Queues: 1}
		got := w.AppendRate()
		check.That(t, math.Abs(got-want) <= 1, "%d %.0f %.0f", batch, got, want)
		w.Rate = math.Floor(w.AppendRate())
		err := w.Check()
		check.That(t, err == nil, "%v", err)
		w.Rate += 2
		if err := w.Check(); err == nil ||
			!strings.Contains(err.Error(), "that are one item, so write queues 2 or more") {
			t.Errorf("batches of %d, %g a second: error %v", batch, w.Rate, err)
		}
	}
}

// TestTooMuchForSingles: where a queue's rate is possible for batches that are one item only, these
// have a bill, and nothing else of ours has.
func TestTooMuchForSingles(t *testing.T) {
	names := func(w Workload) (all []string) {
		for _, b := range w.Bills() {
			all = append(all, b.Name)
		}
		return all
	}
	w := Workload{Rate: 10_000, Batch: 100, Disorder: InOrder, Queues: 1}
	if got, want := names(w),
		[]string{"append", "append, one consumer", "SQS FIFO"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	var out bytes.Buffer
	check.OK(t, w.Write(&out))
	for _, want := range []string{"One queue takes 1000 messages a second",
		"50000 in batches of 100 that are one item", "is left out"} {
		check.That(t, strings.Contains(out.String(), want), "no %q in\n%s", want, &out)
	}
	w.Queues = 10
	got := names(w)
	check.That(t, slices.Contains(got, "sync") && slices.Contains(got, "aws-stream-sort"), "%q", got)
}

// TestMeasured: what the figures say is what is expected, and other units change the tables' part
// alone.
func TestMeasured(t *testing.T) {
	for _, together := range []bool{false, true} {
		w := Workload{Rate: 100, Batch: 25, Disorder: InOrder, Queues: 100}
		name := map[bool]string{false: "sync, one consumer", true: "append, one consumer"}[together]
		b := bills(t, w)[name]
		tables := b.Requests / w.Messages()
		m := w.Measured(Units{Writes: tables / writeUnits}, together)
		whole := (b.Total() - b.Fixed) / w.Messages() * million
		if math.Abs(m.Total-m.Expected) > 1e-9 || math.Abs(m.Tables-tables*million) > 1e-9 ||
			m.Expected > whole || m.Expected < whole-0.01 {
			t.Errorf("%s: %+v, and the bill has $%.4f a million", name, m, whole)
		}
		more := w.Measured(Units{Writes: tables/writeUnits + 1}, together)
		check.That(t, math.Abs(more.Total-m.Total-0.625) <= 1e-9, "%s %.4f", name, more.Total-m.Total)
	}
}
