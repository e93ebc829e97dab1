package emf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// line is a line as CloudWatch reads it.
type line struct {
	AWS struct {
		Timestamp         int64
		CloudWatchMetrics []struct {
			Namespace  string
			Dimensions [][]string
			Metrics    []struct{ Name, Unit string }
		}
	} `json:"_aws"`
	values map[string]json.RawMessage
}

// read checks each line by the rules of the specification.
func read(t *testing.T, out *bytes.Buffer) []line {
	t.Helper()
	var lines []line
	for text := range strings.Lines(out.String()) {
		var l line
		check.OK(t, json.Unmarshal([]byte(text), &l))
		check.OK(t, json.Unmarshal([]byte(text), &l.values))
		check.Need(t, l.AWS.Timestamp != 0 && len(l.AWS.CloudWatchMetrics) == 1,
			"no directive: %s", text)
		directive := l.AWS.CloudWatchMetrics[0]
		n := len(directive.Metrics)
		check.That(t, n > 0 && n <= 100, "%d metrics in a line", n)
		for _, dimensions := range directive.Dimensions {
			for _, name := range dimensions {
				var value string
				check.OK(t, json.Unmarshal(l.values[name], &value))
				check.That(t, value != "", "dimension %s has the value %s", name, l.values[name])
			}
		}
		for _, metric := range directive.Metrics {
			var values []float64
			var value float64
			if json.Unmarshal(l.values[metric.Name], &values) != nil &&
				json.Unmarshal(l.values[metric.Name], &value) != nil {
				t.Errorf("metric %s has the value %s", metric.Name, l.values[metric.Name])
			}
			check.That(t, len(values) <= 100, "metric %s has %d values", metric.Name, len(values))
		}
		lines = append(lines, l)
	}
	return lines
}

func TestFlush(t *testing.T) {
	var out bytes.Buffer
	e := New(&out, Names{Namespace: "Space", Service: "orders", Function: "enqueue"})
	m := e.Begin()
	m.Count("Duplicates", 0)
	m.Count("MessagesStored", 2)
	m.Count("MessagesStored", 3)
	m.Add("GapAge", Seconds, 1.5)
	m.Flush()
	m.Flush()
	lines := read(t, &out)
	check.Need(t, len(lines) == 1, "%d lines, want 1:\n%s", len(lines), &out)
	for name, want := range map[string]string{
		"MessagesStored": "5", "GapAge": "1.5", "ColdStart": "1", "service": `"orders"`, "function_name": `"enqueue"`, "Duplicates": "",
	} {
		check.Is(t, string(lines[0].values[name]), want, name)
	}
	check.Is(t, lines[0].AWS.CloudWatchMetrics[0].Namespace, "Space")
	out.Reset()
	m = e.Begin()
	m.Flush()
	check.That(t, out.Len() == 0, "a second cold start, or a line about nothing: %s", &out)
}

func TestFlushSplits(t *testing.T) {
	var out bytes.Buffer
	m := New(&out, Names{}).Begin()
	for i := range 250 {
		m.Add("Many", Milliseconds, float64(i))
		m.Count(fmt.Sprint("Metric", i), 1)
	}
	m.Flush()
	seen := 0
	for _, l := range read(t, &out) {
		var values []float64
		if json.Unmarshal(l.values["Many"], &values) == nil {
			seen += len(values)
		}
	}
	check.Is(t, seen, 250)
}

// What has a dimension of its own is in lines of its own, under the service.
func TestFlushOfADimension(t *testing.T) {
	var out bytes.Buffer
	m := New(&out, Names{}).Begin()
	m.Flush()
	out.Reset()
	m.Count("Refused", 1)
	m.Of("tenant", "acme").Count("Refused", 2)
	m.Of("tenant", "acme").Count("Refused", 3)
	m.Of("tenant", "zoo").Add("GapAge", Seconds, 4)
	m.Flush()
	m.Flush()
	seen := map[string]string{}
	for _, l := range read(t, &out) {
		key := fmt.Sprint(string(l.values["tenant"]), l.AWS.CloudWatchMetrics[0].Dimensions)
		seen[key] += string(l.values["Refused"]) + string(l.values["GapAge"])
	}
	want := map[string]string{"[[service function_name]]": "1", `"acme"[[service tenant]]`: "5",
		`"zoo"[[service tenant]]`: "4"}
	check.That(t, maps.Equal(seen, want), "%v, want %v", seen, want)
}

// Counters of calls that go well wait for the next line of their process. Nothing that fails waits,
// nor what is not a counter of routine, and no count is lost.
func TestGather(t *testing.T) {
	var out bytes.Buffer
	e := New(&out, Names{Gather: time.Second})
	now := time.UnixMilli(1)
	e.now = func() time.Time { return now }
	call := func(after time.Duration, add func(*Metrics)) string {
		now = now.Add(after)
		out.Reset()
		m := e.Begin()
		add(m)
		m.End()
		values := ""
		for _, l := range read(t, &out) {
			for _, metric := range l.AWS.CloudWatchMetrics[0].Metrics {
				values += metric.Name + " " + string(l.values[metric.Name]) + " "
			}
		}
		return values
	}
	put := func(m *Metrics) { m.Count("MessagesStored", 2); m.Count("Advances", 1) }
	call(0, func(*Metrics) {})
	e.calls = 100 // many, without a pause
	for i, c := range []struct {
		after time.Duration
		add   func(*Metrics)
		want  string
	}{
		{0, put, ""},
		{999 * time.Millisecond, put, ""},
		{time.Millisecond, put, "Advances 3 MessagesStored 6 "},
		{10 * time.Millisecond, put, ""},
		{980 * time.Millisecond, put, ""},
		{10 * time.Millisecond, put, "Advances 3 MessagesStored 6 "},
		{time.Millisecond, put, ""},
		{time.Millisecond, func(m *Metrics) { m.Count("Errors", 1) }, "Advances 1 Errors 1 MessagesStored 2 "},
		{time.Millisecond, put, ""},
		{time.Millisecond, func(m *Metrics) { m.Add("OpenGaps", Count, 3) }, "Advances 1 MessagesStored 2 OpenGaps 3 "},
		{time.Millisecond, func(m *Metrics) { m.Of("tenant", "acme").Count("MessagesStored", 1) }, "MessagesStored 1 "},
		{time.Millisecond, func(*Metrics) {}, ""},
		{time.Minute, put, "Advances 1 MessagesStored 2 "},
	} {
		check.Is(t, call(c.after, c.add), c.want, "call", i)
	}
}

// Numbers add up after bursts and pauses: each count is in a line of the time in which it was
// counted, few wait at any time, and of a process that is called now and then none does. A busy one
// writes a line a second.
func TestBurstsAndPauses(t *testing.T) {
	var out bytes.Buffer
	e := New(&out, Names{Gather: time.Second})
	now := time.UnixMilli(1_000_000)
	e.now = func() time.Time { return now }
	counted := map[int64]int{} // by the second
	burst := func(calls int, every, pause time.Duration) (lines int) {
		t.Helper()
		total := 0
		out.Reset()
		for i := range calls {
			m := e.Begin()
			m.Count("MessagesStored", 1)
			m.End()
			total++
			check.Need(t, e.left*10 <= i+2, "%d of %d calls wait", e.left, i+1) // with the one before
			counted[now.Unix()]++
			now = now.Add(every)
		}
		now = now.Add(pause)
		m := e.Begin() // whatever comes next, also an hour later
		m.Count("Errors", 1)
		m.End()
		written := map[int64]int{}
		for _, l := range read(t, &out) {
			n := 0
			_ = json.Unmarshal(l.values["MessagesStored"], &n)
			written[l.AWS.Timestamp/1000] += n
			total -= n
			lines++
		}
		check.That(t, total == 0, "%d calls are in no line", total)
		for second, n := range written {
			near := counted[second] + counted[second-1]
			check.That(t, n <= near, "%d in second %d, in which there were %d, with the one before", n,
				second, near)
		}
		return lines
	}
	for range 20 {
		check.Is(t, burst(1, 0, time.Hour), 2, "one call an hour: its own line and the next one's")
	}
	for _, n := range []int{2, 9, 100} {
		burst(n, 5*time.Millisecond, time.Hour)
	}
	burst(50, 300*time.Millisecond, 2*time.Second)
	lines := burst(60*100, 10*time.Millisecond, time.Hour)
	check.That(t, lines <= 60+60, "a minute of a busy process: %d lines", lines)
}
