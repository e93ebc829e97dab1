// Package cost says what Streamsort costs on AWS, in dollars a month, beside SQS FIFO and the
// algorithm of aws-stream-sort. `make cost` prints it; docs/reference/cost.md has its tables, and
// says what is assumed.
//
// Call [Workload.Check] and [Workload.Bills]. Every figure is one of three kinds, and stands in a
// file of its own: what AWS charges (prices.go), what an operation takes (units.go; tests measure
// each by AWS's rules and fail when it has changed), and what nobody has measured on AWS
// (assumed.go: times, sizes of log lines). A bill counts nothing twice and leaves out what is the
// same for all: the consumer's own function, data transfer, the free tier.
package cost

import (
	"errors"
	"fmt"
	"math"
)

// Workload is what comes in.
type Workload struct {
	// Rate is messages a second, on average: above 0, at most 1,000,000. They have 100 bytes; up to
	// about 800 they cost the same.
	Rate float64
	// Batch is how many messages of one queue the producer sends in a request: 1 to 500.
	Batch int
	// Linger, if not 0, says that messages come one by one to pkg/producer, which waits so many
	// seconds at most for others: 0.001 to 60. Batch is 1 then.
	Linger float64
	// Disorder is the order of arrival.
	Disorder Order
	// Keyed: the queues sort by a key, after a settle window.
	Keyed bool
	// Queues is how many queues the messages are spread over: 1 to 10,000,000.
	Queues int
	// URL: requests come by the function URL, and not by the HTTP API.
	URL bool
	// AllLogs: calls that go well are logged too, one by one, as with logSuccesses 100.
	AllLogs bool
	// Tracing: X-Ray records calls, as with tracing true.
	Tracing bool
	// Window is for how long process's records are gathered, in seconds: 0 to 300. Its batches must
	// have room for them.
	Window float64
	// Eager: process is called by each request that moves queues, beside the stream.
	Eager bool
}

// Bounds of a workload.
const maxRate, maxBatch, maxQueues, maxWindow, minLinger, maxLinger = 1_000_000, 500,
	10_000_000, 300, 0.001, 60

// Check reports each field that is out of its bounds, and a rate that so few queues cannot take.
func (w Workload) Check() error {
	var errs []error
	must := func(holds bool, format string, arguments ...any) {
		if !holds {
			errs = append(errs, fmt.Errorf(format, arguments...))
		}
	}
	must(w.Rate > 0 && w.Rate <= maxRate,
		"rate is %g; write messages a second, above 0 and up to %d", w.Rate, maxRate)
	must(w.Batch >= 1 && w.Batch <= maxBatch,
		"batch is %d; write how many messages a request has, 1 to %d", w.Batch, maxBatch)
	must(w.Queues >= 1 && w.Queues <= maxQueues,
		"queues is %d; write how many queues share the rate, 1 to %d", w.Queues, maxQueues)
	must(w.Window >= 0 && w.Window <= maxWindow, "window is %gs; write 0s to %ds", w.Window, maxWindow)
	lingers := w.Linger >= minLinger && w.Linger <= maxLinger
	must(w.Linger == 0 || lingers, "linger is %gs; write 1ms to %ds", w.Linger, maxLinger)
	must(!lingers || w.Batch == 1,
		"linger is %gs and batch %d; write batch 1: the producer makes the batches", w.Linger, w.Batch)
	errs = append(errs, w.Disorder.check())
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return w.checkQueues()
}

// Messages are those of a month.
func (w Workload) Messages() float64 { return w.Rate * month }

// Bill is what one way of doing it costs, in dollars a month.
type Bill struct {
	Name string
	// Requests are those to the tables, or to the FIFO queue.
	Requests float64
	// API is the HTTP API's part, Functions that of Lambda.
	API, Functions float64
	// Sweep is for looking after the queues.
	Sweep float64
	// Stored is for the tables' size, with the means to restore them.
	Stored float64
	// Logs are what API and functions write, XRay the calls that are traced; Fixed is for metrics
	// and alarms, however little comes in.
	Logs, XRay, Fixed float64

	// line is what a call logs, in bytes, and traced says whether X-Ray records some.
	line   float64
	traced bool
}

func (w Workload) bill(name string) Bill {
	return Bill{Name: name, line: w.callLine(), traced: w.Tracing}
}

// Total is the sum.
func (b Bill) Total() float64 {
	return b.Requests + b.API + b.Functions + b.Sweep + b.Stored + b.Logs + b.XRay + b.Fixed
}

// Bills are the bills of our modes that take the rate, and of what else one could take.
func (w Workload) Bills() []Bill {
	if w.Keyed {
		return []Bill{w.keyedBill(w.sorter("keyed", w.keyed())),
			w.keyedBill(w.delivered("keyed, one consumer", w.keyed())), w.fifo()}
	}
	var bills []Bill
	if w.singly() {
		bills = append(bills,
			w.sorter("sync", w.sync()),
			w.sorter("async", w.async()),
			w.delivered("sync, one consumer", w.sync()),
			w.delivered("async, one consumer", w.async()))
	}
	if w.appendable() {
		bills = append(bills, w.sorter("append", w.append()),
			w.delivered("append, one consumer", w.append()))
	}
	if w.singly() {
		bills = append(bills, w.older())
	}
	return append(bills, w.fifo())
}

// usual is the flow in numbered queues; where they do not take the rate, that of queues to which
// batches are appended.
func (w Workload) usual() flow {
	if w.singly() {
		return w.sync()
	}
	return w.append()
}

// flow is what a second brings, behind the producer.
type flow struct {
	units    Units   // of the tables
	producer float64 // requests to the tables, one after the other, of its call
	calls    float64 // of sort
	trips    float64 // requests of a call of sort, one after the other
	moves    float64 // of cursors
	bytes    float64 // that a message takes in its table
	items    float64 // of messages
}

func (w Workload) single(units Units, producer, calls, trips, moves float64) flow {
	return flow{units, producer, calls, trips, moves, SingleBytes, w.Rate}
}

// sync: the producer moves the cursor; sort looks once at each queue of what it gathered in a
// second.
func (w Workload) sync() flow {
	units := at(Producer[w.Disorder], w.batch()).times(w.Rate)
	calls, looks := w.sortLooks(w.Rate, syncWindow)
	return w.single(units.plus(Heal.times(looks)), 2, calls, 1, units.Writes-w.Rate)
}

// append: the queue is in arrival order, and each batch of JSON, at its seq, is an item; the
// process that has a request is not that which had the queue's last one, so it looks.
func (w Workload) append() flow {
	each := w.perItem()
	items := w.Rate / each
	calls, looks := w.sortLooks(items, syncWindow)
	units := Appended(each).times(items).plus(Heal.times(looks)).plus(Units{Reads: w.batches()})
	return flow{units, 1 + 2*items/w.batches(), calls, 1, items, ItemBytes(each) / each, items}
}

// sortLooks is how often a second sort is called, and looks at a queue, where it gathers so many
// records a second for so many seconds.
func (w Workload) sortLooks(records, window float64) (calls, looks float64) {
	calls = w.streamCalls(w.batches(), records, window)
	return calls, math.Max(calls, math.Min(w.batches(), float64(w.Queues)/window))
}

// async: the producer stores; sort moves each queue's cursor once for what its batch has of it: the
// messages of a request at least.
func (w Workload) async() flow {
	perQueue := clamp(w.Rate/float64(w.Queues)/polls, w.batch(), streamBatch)
	units := at(Asynchronous[w.Disorder], perQueue).times(w.Rate)
	return w.single(units, 1, w.streamCalls(w.batches(), w.Rate, 1.0/polls), 4, units.Writes-w.Rate)
}

// perSettle is how many messages of a keyed queue are settled together: those that a batch of the
// arrivals' stream has of it.
func (w Workload) perSettle() float64 {
	return clamp(w.Rate/float64(w.Queues)/polls, w.batch(), streamBatch)
}

// keyed: the producer stores, and looks at the queue once a request; sort has a wake-up sent for
// each queue of its batch, which settles it.
func (w Workload) keyed() flow {
	units := at(Settling, w.perSettle()).plus(Units{Writes: 1, Reads: 1 / w.batch()}).times(w.Rate)
	return w.single(units, 2, w.streamCalls(w.batches(), w.Rate, 1.0/polls), 0, w.Rate/w.perSettle())
}

// keyedBill adds the wake-ups, of which one settles a queue, and the sweep's looks at what waits:
// half a unit a queue and round.
func (w Workload) keyedBill(b Bill) Bill {
	settles := w.Rate / w.perSettle()
	calls := math.Max(settles/10, math.Min(settles, polls))
	b.Requests += calls * queueCalls * month * standardRequest
	b.addCalls(calls, 3*trip)
	b.Sweep += float64(w.Queues) * month / roundEvery * readUnits / 2
	return b
}

// streamCalls is how often a second a function is called with records that come in so many groups,
// and are gathered for so long.
func (w Workload) streamCalls(groups, records, seconds float64) float64 {
	side := math.Min(lanes, float64(w.Queues))
	return math.Max(math.Min(groups, side/seconds), records/streamBatch)
}

// sorter is the stack without consumers.
func (w Workload) sorter(name string, f flow) Bill {
	b := w.bill(name)
	b.addUnits(f.units)
	b.addDoor(w)
	b.addCalls(w.requests(), f.producer*trip)
	b.addCalls(f.calls, f.trips*trip)
	b.Stored = (w.Rate*f.bytes + f.items*itemMore) * kept / gb * storedGB
	b.Sweep = w.sweep(f.moves).Total()
	b.Fixed = metrics*metric + alarms*alarm + dashboards*dashboard
	return b
}

// delivered is a sorter with process and one consumer: a Lambda function, whose own time is the
// user's.
func (w Workload) delivered(name string, f flow) Bill {
	b := w.sorter(name, f)
	window := math.Max(w.Window, 1.0/polls)
	batches, calls := math.Min(f.moves, float64(w.Queues)/window),
		w.streamCalls(f.moves, f.moves, window)
	if w.Eager {
		// The stream's calls look at each consumer, and find nothing to do.
		b.addUnits(Units{Reads: 1}.times(batches))
		b.addCalls(calls, trip)
		b.Functions += w.requests() * month * trip * memory * gbSecond // enqueue asks for the call
		batches, calls = f.moves, w.requests()
	}
	pages := math.Ceil(w.Rate / batches * f.bytes / page)
	b.addUnits(Deliver.plus(Units{Reads: pages / 2}).times(batches))
	b.addCalls(calls, batches/calls*(5*trip+sinkTime))
	b.Functions += batches * month * invocation // of the consumer
	return b
}

// older is a function around aws-stream-sort behind the same API: two requests one after the other
// for a message that is not the next, four for one that is.
func (w Workload) older() Bill {
	b := w.bill("aws-stream-sort")
	b.addUnits(Older[w.Disorder].times(w.Rate))
	b.addDoor(w)
	b.addCalls(w.requests(), 4*trip*w.Rate/w.requests())
	b.Stored = w.Rate * kept * (SingleBytes + itemMore) / gb * storedGB
	return b
}

// fifo is SQS FIFO: each batch is sent, received and deleted, ten messages at most. It does not
// sort, keeps a message until it is received, and the producer sends to it without a function of
// ours.
func (w Workload) fifo() Bill {
	return Bill{Name: "SQS FIFO",
		Requests: 3 * w.Rate / math.Min(w.Rate/w.requests(), 10) * month * fifoRequest}
}

func (b *Bill) addUnits(second Units) { b.Requests += second.dollars() * month }

// addDoor adds what the HTTP API takes for the requests; the function URL takes nothing.
func (b *Bill) addDoor(w Workload) {
	if w.URL {
		return
	}
	requests := w.requests() * month
	b.API += math.Min(requests, apiFirst)*apiRequest + math.Max(requests-apiFirst, 0)*apiBeyond
	line := float64(apiLine)
	if w.AllLogs {
		line = apiFullLine
	}
	b.Logs += requests * line / gb * loggedGB
}

// callLine is what a call logs, in bytes.
func (w Workload) callLine() float64 {
	if w.AllLogs {
		return invocationLines
	}
	return callLine
}

// addCalls adds invocations, each with so many seconds of waiting.
func (b *Bill) addCalls(second, waiting float64) {
	b.Functions += second * month * (invocation + (work+waiting)*memory*gbSecond)
	b.Logs += b.lines(second, waiting) * month * b.line / gb * loggedGB
	b.XRay += traces(second, b.traced)
}

// lines are how many lines of metrics such calls log a second: a process of calls that go well
// writes one a second, and twice as many processes are there as are busy.
func (b *Bill) lines(calls, waiting float64) float64 {
	if b.line == invocationLines {
		return calls
	}
	return math.Min(calls, math.Max(1, 2*calls*(work+waiting)))
}

// traces is what X-Ray records a month of a function's calls, so many a second, where it is on.
func traces(calls float64, on bool) float64 {
	if !on {
		return 0
	}
	first := math.Min(calls, tracedFirst)
	return (first + tracedShare*(calls-first)) * month * trace
}

func (u Units) times(n float64) Units { return Units{u.Writes * n, u.Reads * n} }
func (u Units) plus(o Units) Units    { return Units{u.Writes + o.Writes, u.Reads + o.Reads} }

func clamp(value, least, most float64) float64 { return math.Min(math.Max(value, least), most) }

// batch is how many messages of one queue come together. The first of those of a lingering producer
// waits for all of the linger where its queue is alone; with others, whose requests it goes along
// with, for three quarters of it at least: each queue has waited for half. TestLingerFigures of
// pkg/producer pins both. What more comes while the request before is under way is left out.
func (w Workload) batch() float64 {
	if w.Linger == 0 {
		return float64(w.Batch)
	}
	waits := w.Linger
	if w.Queues > 1 {
		waits *= 0.75
	}
	return math.Min(1+w.perQueue()*waits, maxBatch)
}

// batches are those of one queue, a second.
func (w Workload) batches() float64 { return w.Rate / w.batch() }

// requests are those of the producer, a second. One that lingers makes two in each linger at most,
// with several queues each, or more where they would have more than 500 messages.
func (w Workload) requests() float64 {
	if w.Linger == 0 {
		return w.batches()
	}
	return math.Max(math.Min(w.batches(), 2/w.Linger), w.Rate/maxBatch)
}

// Measured is what a million messages of a load cost with one consumer, in dollars.
type Measured struct {
	// Tables is for the units that it took; Total for all, without what there is once.
	Tables, Total float64
	// Expected is Total by the figures of this package, and not by what was measured.
	Expected float64
}

// Measured prices the units that a message took, as the producer moves the cursor; together says
// that batches were one item each. The workload has been checked but for its rate.
func (w Workload) Measured(message Units, together bool) Measured {
	f := w.sync()
	if together && w.appendable() {
		f = w.append()
	}
	b := w.delivered("", f)
	millions := w.Messages() / million
	m := Measured{Tables: message.dollars() * million,
		Expected: (b.Total() - b.Fixed - w.sweep(f.moves).Quiet()) / millions}
	m.Total = m.Expected - b.Requests/millions + m.Tables
	return m
}

// queueUnits is how many write units a second one queue can take: all its messages are in one
// partition, and its cursor is one item. Neither is split by who writes at its end.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
const queueUnits = 1000

// QueueRate is how many messages a second one queue takes, by units: 1,000 where each is an item of
// its own, however many come in a request, for each is a write of its partition.
const QueueRate = queueUnits

// appendable reports whether the producer's batches can be one item each.
func (w Workload) appendable() bool { return w.Disorder == InOrder && w.batch() > 1 && !w.Keyed }

// AppendRate is how many messages a second one queue takes, by units, where each batch of JSON is
// one item: as many as its partition has units for, or as its cursor can be moved over.
func (w Workload) AppendRate() float64 {
	each := w.perItem()
	return queueUnits * each / math.Max(itemUnits(each), 1)
}

func (w Workload) perItem() float64 { return math.Min(w.batch(), mostTogether) }

func (w Workload) perQueue() float64 { return w.Rate / float64(w.Queues) }

// singly reports whether the queues take the rate where each message is an item.
func (w Workload) singly() bool { return w.perQueue() <= QueueRate }

// queueRate is the most that one queue takes of this workload.
func (w Workload) queueRate() float64 {
	if w.appendable() {
		return math.Max(QueueRate, w.AppendRate())
	}
	return QueueRate
}

// checkQueues reports a rate that so few queues cannot take.
func (w Workload) checkQueues() error {
	most := w.queueRate()
	if w.perQueue() <= most {
		return nil
	}
	return fmt.Errorf("rate is %g on queues %d; a queue takes %.0f messages a second at most%s, so write queues %d or more",
		w.Rate, w.Queues, most, w.asOne(), int(math.Ceil(w.Rate/most)))
}

// asOne says of a workload whose batches can be one item each that they are.
func (w Workload) asOne() string {
	if w.appendable() {
		return fmt.Sprintf(" in batches of %.3g that are one item", w.batch())
	}
	return ""
}
