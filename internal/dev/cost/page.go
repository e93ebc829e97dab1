package cost

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/streamsort/streamsort/internal/dev/pages"
)

// The names of bills that the page shows.
const ours, oursAppended, theirs = "sync, one consumer", "append, one consumer", "SQS FIFO"

// Page writes the tables of docs/reference/cost.md, and the README's. Where it is not to write, it
// reports which are not as they are counted.
func Page(root string, write bool) error {
	var errs []error
	reference := filepath.Join("docs", "reference", "cost.md")
	for _, t := range []struct{ file, name, text string }{
		{"README.md", "price", priceTable()},
		{reference, "example", example()},
		{reference, "idle", idleTable()},
		{reference, "singles", singlesTable()},
		{reference, "batches", batchesTable()},
		{reference, "linger", lingerTable()},
		{reference, "queue", queueTable()},
		{reference, "windows", windowsTable()},
		{reference, "sweep", sweepTable()},
		{reference, "xray", xrayTable()},
		{reference, "timer", timerTable()},
		{reference, "eager", eagerTable()},
		{reference, "slow", slowTable()},
	} {
		errs = append(errs, pages.Named(filepath.Join(root, t.file), "counted: "+t.name).Renew(t.text,
			"make cost PAGE=1", write))
	}
	return errors.Join(errs...)
}

// per is what a million messages cost, by the bill of a name.
func (w Workload) per(name string) float64 {
	for _, b := range w.Bills() {
		if b.Name == name {
			return b.Total() / w.Messages() * million
		}
	}
	return math.NaN()
}

func rows(head string, lines ...string) string {
	cells := make([][]string, len(lines))
	for i, line := range lines {
		cells[i] = strings.Split(line, " | ")
	}
	return pages.Table(strings.Split(head, " | "), cells...)
}

// example is what the command at the page's head prints first.
func example() string {
	var out bytes.Buffer
	// a buffer never fails
	_ = Workload{Rate: 100, Batch: 25, Disorder: InOrder, Queues: 100}.Write(&out)
	paragraphs := strings.SplitN(out.String(), "\n\n", 4)
	return "```text\n" + strings.Join(paragraphs[:3], "\n\n") + "\n```\n"
}

// idleTable is what a stack costs that nobody uses, and what its tables cost by what they hold.
func idleTable() string {
	w := Workload{Queues: 1}
	fixed, idle := w.sorter("", flow{}).Fixed, w.sweep(0).Quiet()+w.timer().Polls
	return rows("alarms, metrics and dashboard a month | sweep and timer | a GB stored | its point-in-time recovery",
		fmt.Sprintf("$%.2f | $%.2f | $%.2f | $%.2f", fixed, idle, storedGB-restoreGB, restoreGB))
}

// singly is a workload of a thousand messages a second, each in a request of its own.
func singly(queues int) Workload {
	return Workload{Rate: 1000, Batch: 1, Disorder: InOrder, Queues: queues}
}

// setting is a step on the way to the cheapest stack.
type setting struct {
	name string
	set  func(*Workload)
	bill string
}

var settings = []setting{
	{"HTTP API, `LOGS=all TRACING=on`", func(w *Workload) { w.AllLogs, w.Tracing = true, true }, ours},
	{"the default: HTTP API, logs by outcome", func(*Workload) {}, ours},
	{"`DOOR=url`", func(w *Workload) { w.URL = true }, ours},
	{"and `WINDOW=1s`", cheapest, ours},
	{"the same in asynchronous mode", cheapest, "async, one consumer"},
}

func cheapest(w *Workload) { w.URL, w.Window = true, 1 }

func singlesTable() string {
	var lines []string
	for _, s := range settings {
		line := s.name
		for _, queues := range []int{16, 100, 1000} {
			w := singly(queues)
			s.set(&w)
			line += fmt.Sprintf(" | %.2f", w.per(s.bill))
		}
		lines = append(lines, line+fmt.Sprintf(" | %.2f", singly(16).per(theirs)))
	}
	return rows("$ a million | 16 queues | 100 queues | 1,000 queues | SQS FIFO", lines...)
}

// inBatches are workloads of which all come in batches of a size: one of few busy queues, and one
// of many.
func inBatches(size int) (busy, many Workload) {
	busy = singly(16)
	busy.Batch = size
	return busy, Workload{Rate: 10_000, Batch: size, Disorder: InOrder, Queues: 1000}
}

func batchesTable() string {
	const shown = "| %.2f | %.2f | %.2f | %.2f | %.2f"
	var lines []string
	for _, size := range []int{2, 10, 25, 50, 100} {
		busy, _ := inBatches(size)
		least := busy
		cheapest(&least)
		lines = append(lines, fmt.Sprintf("%d "+shown, size, busy.per(ours), least.per(ours),
			busy.per(oursAppended), least.per(oursAppended), busy.per(theirs)))
	}
	from := func(of func(size int) Workload) string {
		for size := 2; size <= mostTogether; size++ {
			if w := of(size); w.per(oursAppended) < w.per(theirs) {
				return fmt.Sprintf("**%d**", size)
			}
		}
		return "never"
	}
	for i, name := range []string{"these queues", "10,000 a second, 1,000 queues"} {
		of := func(size int) Workload {
			busy, many := inBatches(size)
			return []Workload{busy, many}[i]
		}
		lines = append(lines, fmt.Sprintf("cheaper than SQS FIFO from, %s | never | never | %s | %s | ",
			name, from(of), from(func(size int) Workload {
				w := of(size)
				cheapest(&w)
				return w
			})))
	}
	return rows("of one queue a request | an item each: the default | the cheapest | one item, JSON: the default | the cheapest | SQS FIFO", lines...)
}

func lingerTable() string {
	var lines []string
	for _, c := range []struct {
		queues int
		linger float64
	}{{1, .01}, {4, .01}, {16, .01}, {16, .05}, {16, .1}, {100, .01}, {100, .2}} {
		w := singly(c.queues)
		one := w.per(ours)
		w.Linger = c.linger
		lines = append(lines, fmt.Sprintf("%d | %g ms | %.2g | %.0f | %.2f | %.2f | %.1f", c.queues,
			c.linger*1000, w.batch(), w.requests(), w.per(oursAppended), one, one/w.per(oursAppended)))
	}
	return rows("queues | linger | of one queue together | requests a second | $ a million | put singly | times cheaper", lines...)
}

func queueTable() string {
	lines := []string{"one by one | 1, 1 | 1,000", "in batches of 25 | 1, 0.04 | 1,000"}
	for _, size := range []int{25, 100} {
		_, w := inBatches(size)
		lines = append(lines, fmt.Sprintf("JSON, batches of %d that are one item | %.2g, %.2g | %s", size,
			itemUnits(float64(size))/float64(size), 1/float64(size), thousands(w.AppendRate())))
	}
	return rows("messages of 100 bytes, in order | write units a message there, and of the cursor | messages a second", lines...)
}

func thousands(n float64) string { return fmt.Sprintf("%.0f,000", n/1000) }

func windowsTable() string {
	busy := singly(16).gathered()
	quiet := Workload{Rate: 10, Batch: 1, Disorder: InOrder, Queues: 10}.gathered()
	var lines []string
	for i, g := range busy {
		lines = append(lines, fmt.Sprintf("%gs | %.3f | %.3f | %.3f | %.3f", g.Seconds, g.Sort, g.Process,
			quiet[i].Sort, quiet[i].Process))
	}
	return rows("window | 1,000 a second, 16 queues: `sort` | one consumer | 10 a second, 10 queues: `sort` | one consumer", lines...)
}

func xrayTable() string {
	names, dollars := "single messages a second", "$ a million"
	for _, rate := range []float64{1, 10, 100, 1000, 10_000} {
		w := Workload{Rate: rate, Batch: 1, Disorder: InOrder, Queues: 100}
		untraced := w
		w.Tracing = true
		names += fmt.Sprintf(" | %g", rate)
		dollars += fmt.Sprintf(" | %.2f", w.per(ours)-untraced.per(ours))
	}
	return rows(names, dollars)
}

// eagerTable is what an eager consumer costs, beside one that waits for the stream.
func eagerTable() string {
	var lines []string
	for _, w := range []Workload{
		{Rate: 1, Batch: 1, Queues: 100},
		{Rate: 10, Batch: 1, Queues: 100},
		{Rate: 1000, Batch: 1, Queues: 1000},
		{Rate: 1000, Batch: 1, Queues: 16},
		{Rate: 1000, Batch: 25, Queues: 16},
	} {
		w.Disorder = InOrder
		waits := w.per(ours)
		w.Eager = true
		lines = append(lines, fmt.Sprintf("%g | %d | %d | %.2f | %.2f | %.2f", w.Rate, w.Queues, w.Batch,
			waits, w.per(ours), w.per(ours)-waits))
	}
	return rows("messages a second | queues | in a request | $ a million | eager | more", lines...)
}

func timerTable() string {
	on, off := Workload{Tracing: true}.timer(), Workload{}.timer()
	return rows("a month in which nothing is due | a million wake-ups, one by one | ten at a time | the same with X-Ray, where there are fewer than one a second",
		fmt.Sprintf("$%.2f | $%.2f | $%.2f | $%.2f, $%.2f", off.Polls, off.Million, off.Together,
			on.Million, on.Together))
}

// slowTable is what isolated invocations cost: each is the price of a call for as long as its
// endpoint takes, five requests to the tables, and two writes for its place in a tenant's share. A
// queue that finds none takes a wake-up, a notification, the call of process that it brings, and
// one more that finds a place or not.
func slowTable() string {
	off := Workload{}
	calls := func(seconds float64) float64 {
		b := off.bill("")
		b.addCalls(million/month, seconds)
		return b.Functions + b.Logs
	}
	again := off.timer().Together + million*(2*writeUnits+readUnits) + calls(3*trip) + calls(trip)
	return rows("a million isolated invocations, at endpoints of 1 s | of 9 s | "+
		"their places in tenants' shares | a million queues that find none, each time",
		fmt.Sprintf("$%.2f | $%.2f | $%.2f | $%.2f",
			calls(1+5*trip), calls(9+5*trip), million*2*writeUnits, again))
}

func sweepTable() string {
	w := Workload{Rate: 1, Batch: 1, Disorder: InOrder, Queues: million}
	s := w.sweep(1)
	return rows("part | a month | $ for a million",
		fmt.Sprintf("passes over all cursors, one each 4 minutes | 10,950 × Q × 117 bytes ÷ 8,192 read units, and a write each | %.2f", s.Rounds),
		fmt.Sprintf("the daily full pass | 30.4 × Q × (half a unit behind each position, and two scans) | %.2f", s.Full),
		fmt.Sprintf("calls, each minute | 43,800 × (11 read units, 32 ms, their log, a trace), and the time of the passes: 0.1 s for 1 MB of cursors, 4 at a time | %.2f", s.Calls),
		fmt.Sprintf("queues that moved | min(moves a second × 14 minutes, Q) × 10,950 × 1 read unit for their consumers | %.2f for each move a second", s.Moved))
}

// priceTable compares the default stack with SQS FIFO: 1,000 messages a second to 16 queues.
func priceTable() string {
	var lines []string
	for _, size := range []int{1, 25, 100} {
		ordered := singly(16)
		ordered.Batch = size
		late, name, one := ordered, fmt.Sprintf("batches of %d", size), oursAppended
		if late.Disorder = Window8; size == 1 {
			name, one = "one message a request", ours
		}
		lines = append(lines, fmt.Sprintf("%s | %.2f | %.2f | %.2f", name, late.per(ours),
			ordered.per(one), ordered.per(theirs)))
	}
	return rows("1,000 messages a second, 16 queues | Streamsort, up to 8 places late | Streamsort, in order | SQS FIFO", lines...)
}
