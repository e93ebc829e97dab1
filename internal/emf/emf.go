// Package emf writes CloudWatch metrics into a function's log, in the Embedded Metric Format:
// CloudWatch reads them from there, so that no request is made.
//
// Call [New] once a function's process and [Emitter.Begin] once an invocation; add to the
// [Metrics], and [Metrics.End] them before the handler returns. Namespace, service and names are
// those of Powertools for AWS Lambda: package runtime reads POWERTOOLS_METRICS_NAMESPACE and
// POWERTOOLS_SERVICE_NAME into [Names], and the first invocation counts a ColdStart.
//
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
package emf

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"sync"
	"time"
)

// Unit is a CloudWatch unit.
type Unit string

const (
	Count        Unit = "Count"
	Seconds      Unit = "Seconds"
	Milliseconds Unit = "Milliseconds"
)

// maxValues is how many values of one metric, and how many metrics, one line can hold.
const maxValues, maxMetrics = 100, 100

// Emitter makes the metrics of one process's invocations.
type Emitter struct {
	Names
	out  io.Writer
	now  func() time.Time
	cold sync.Once
	mu   sync.Mutex // one line at a time

	gathering sync.Mutex
	// waiting is what was left, by how many calls, and since when.
	waiting *Metrics
	left    int
	since   time.Time
	// calls are those without a pause, up to the one that ended at ended; the last line was written
	// at wrote.
	calls        int
	ended, wrote time.Time
}

// routine are the counters of calls that go well: only they wait.
var routine = map[string]bool{
	"Acks": true, "Advances": true, "Batches": true, "ChainsCreated": true, "ChainsFinished": true, "Claims": true, "ClaimsCarried": true,
	"Delivered": true, "Duplicates": true, "EagerCalls": true, "MessagesStored": true, "Notified": true, "Parked": true, "Settled": true,
	"SourceRecords": true, "StreamRecords": true, "WakeUpsSent": true, "WebhooksAccepted": true,
}

// Names distinguish the metrics of a process from others.
type Names struct {
	// Namespace is CloudWatch's; Streamsort where it is empty.
	Namespace string
	// Service is the dimension service; streamsort where it is empty.
	Service string
	// Function is the dimension function_name; local where it is empty.
	Function string
	// Gather is for how long [Metrics.End] may leave counters of calls that go well to a later call
	// of the process, where there are many; 0 for not at all.
	Gather time.Duration
}

// New returns the Emitter of this process, which writes to out.
func New(out io.Writer, names Names) *Emitter {
	names.Namespace = cmp.Or(names.Namespace, "Streamsort")
	names.Service = cmp.Or(names.Service, "streamsort")
	names.Function = cmp.Or(names.Function, "local")
	return &Emitter{Names: names, out: out, now: time.Now}
}

// Begin starts an invocation's metrics. The first invocation of a process counts a ColdStart.
func (e *Emitter) Begin() *Metrics {
	m := e.metrics()
	e.cold.Do(func() { m.Add("ColdStart", Count, 1) })
	return m
}

func (e *Emitter) metrics() *Metrics {
	return &Metrics{emitter: e, units: map[string]Unit{}, values: map[string][]float64{}}
}

// Metrics are the metrics of one invocation. They may be added to by any number of goroutines.
type Metrics struct {
	emitter *Emitter
	// dimension, with its value, is one beside the service, in the place of the function; empty for
	// none.
	dimension, value string
	mu               sync.Mutex
	units            map[string]Unit
	values           map[string][]float64
	parts            []*Metrics
	// at is when it was counted; the zero time is now.
	at time.Time
}

// Of are metrics with a dimension of their own, which are flushed with these: a metric costs as
// much for each value of it as a metric does. They stand under the service and that dimension only.
func (m *Metrics) Of(dimension, value string) *Metrics {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, part := range m.parts {
		if part.dimension == dimension && part.value == value {
			return part
		}
	}
	part := m.emitter.metrics()
	part.dimension, part.value = dimension, value
	m.parts = append(m.parts, part)
	return part
}

// Add adds a value of a metric.
func (m *Metrics) Add(name string, unit Unit, value float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.units[name] = unit
	m.values[name] = append(m.values[name], value)
}

// Count adds to a counter. Nothing is written for a counter that stays 0.
func (m *Metrics) Count(name string, n int) {
	if n == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.units[name] = Count
	if len(m.values[name]) == 0 {
		m.values[name] = []float64{0}
	}
	m.values[name][0] += float64(n)
}

// Counted is what was counted under a name since the last Flush.
func (m *Metrics) Counted(name string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0.0
	for _, value := range m.values[name] {
		n += value
	}
	return int(n)
}

// mostLeft is what part of the calls without a pause may wait: one in ten. A process may be frozen
// after any call, and end so, and of a few calls none is lost then.
const mostLeft = 10

// End ends an invocation: it writes what was added, with what earlier invocations left to it. An
// invocation that added only counters of what goes well, less than [Names].Gather after a line,
// leaves them to the next one, if that is no more than a tenth of the invocations without such a
// pause. What waited for longer, in a frozen process, has its own time in a line of its own. Lost
// with the process: that tenth of a second of calls.
func (m *Metrics) End() {
	e := m.emitter
	e.gathering.Lock()
	defer e.gathering.Unlock()
	now := e.now()
	if now.Sub(e.ended) >= e.Gather {
		e.calls = 0
	}
	e.ended = now
	e.calls++
	if m.isRoutine() && now.Sub(e.wrote) < e.Gather && (e.left+1)*mostLeft <= e.calls {
		if e.waiting == nil {
			e.waiting, e.since = e.metrics(), now
		}
		e.waiting.take(m)
		e.left++
		return
	}
	switch {
	case e.waiting == nil:
	case now.Sub(e.since) > e.Gather:
		e.waiting.at = e.since
		e.waiting.Flush()
	default:
		m.take(e.waiting)
	}
	e.waiting, e.left = nil, 0
	e.wrote = now
	m.Flush()
}

func (m *Metrics) isRoutine() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.values {
		if !routine[name] {
			return false
		}
	}
	return len(m.parts) == 0
}

func (m *Metrics) take(others *Metrics) {
	others.mu.Lock()
	defer others.mu.Unlock()
	for name, values := range others.values {
		for _, n := range values {
			m.Count(name, int(n))
		}
	}
}

// Flush writes what was added, in as many lines as it takes, and forgets it. What cannot be written
// is lost: metrics never fail an invocation.
func (m *Metrics) Flush() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, part := range m.parts {
		part.Flush()
	}
	at := m.at
	if at.IsZero() {
		at = m.emitter.now()
	}
	for len(m.values) > 0 {
		line := map[string]any{"service": m.emitter.Service, "function_name": m.emitter.Function}
		// CloudWatch bills each combination of dimensions, so there is one.
		dimensions := [][]string{{"service", "function_name"}}
		if m.dimension != "" {
			line[m.dimension], dimensions = m.value, [][]string{{"service", m.dimension}}
		}
		var metrics []map[string]any
		for _, name := range slices.Sorted(maps.Keys(m.values)) {
			if len(metrics) == maxMetrics {
				break
			}
			values := m.values[name]
			now := values[:min(len(values), maxValues)]
			if m.values[name] = values[len(now):]; len(m.values[name]) == 0 {
				delete(m.values, name)
			}
			if line[name] = now; len(now) == 1 {
				line[name] = now[0]
			}
			metrics = append(metrics, map[string]any{"Name": name, "Unit": m.units[name]})
		}
		line["_aws"] = map[string]any{
			"Timestamp": at.UnixMilli(),
			"CloudWatchMetrics": []any{map[string]any{
				"Namespace":  m.emitter.Namespace,
				"Dimensions": dimensions,
				"Metrics":    metrics,
			}},
		}
		text, err := json.Marshal(line)
		if err != nil {
			continue // unreachable: names, numbers and units only, and NaN is never added
		}
		m.emitter.mu.Lock()
		_, _ = m.emitter.out.Write(append(text, '\n'))
		m.emitter.mu.Unlock()
	}
}
