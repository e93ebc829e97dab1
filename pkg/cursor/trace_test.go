package cursor_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

const (
	parentA = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	parentB = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
)

// manyMembers is a tracestate of n members, each of about this many bytes.
func manyMembers(n, size int) string {
	members := make([]string, n)
	for i := range members {
		members[i] = fmt.Sprintf("v%d=%s", i, strings.Repeat("x", size))
	}
	return strings.Join(members, ",")
}

// TestTraceContexts: what the W3C's recommendation says of each.
func TestTraceContexts(t *testing.T) {
	later := "cc" + parentA[2:] + "-what-the-future-will-be-like"
	for _, c := range []struct{ parent, state, field string }{
		{"", "", ""},
		{parentA, "", ""},
		{parentA, "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", ""},
		{parentA, "fw529a3039@dt=FfAAAABpMm8gHgB4ZzQ; a,, \tb= x", ""},
		{later, "", ""},
		{parentB[:53] + "ff", "", ""},
		{"", "a=1", "tracestate"},
		{parentA[:54], "", "traceparent"},
		{parentA + "-x", "", "traceparent"},
		{"ff" + parentA[2:], "", "traceparent"},
		{"01" + parentA[2:] + "x", "", "traceparent"},
		{strings.ToUpper(parentA), "", "traceparent"},
		{"00-" + strings.Repeat("0", 32) + parentA[35:], "", "traceparent"},
		{parentA[:36] + strings.Repeat("0", 16) + parentA[52:], "", "traceparent"},
		{strings.ReplaceAll(parentA, "-", "_"), "", "traceparent"},
		{parentA[:54] + "g", "", "traceparent"},
		{parentA, "a", "tracestate"},
		{parentA, "A=1", "tracestate"},
		{parentA, "a=1,a=2", "tracestate"},
		{parentA, "a=b=c", "tracestate"},
		{parentA, "a=\x01", "tracestate"},
		{parentA, manyMembers(33, 1), "tracestate"},
		{parentA, manyMembers(8, 100), "tracestate"},
	} {
		read, err := cursor.ParseTrace(c.parent, c.state)
		lenient := cursor.TraceOf(c.parent, c.state)
		var wrong *invalid.Error
		switch {
		case c.field == "" && (err != nil || read.State != c.state ||
			c.parent != "" && len(read.Parent) != 55 || lenient.Parent != read.Parent):
			t.Errorf("%s, %s: read as %+v, %+v, %v", c.parent, c.state, read, lenient, err)
		case c.field != "" && (!errors.As(err, &wrong) || wrong.Field != c.field ||
			read != (cursor.Trace{})):
			t.Errorf("%s, %s: read as %+v, error %v; want one of %s", c.parent, c.state, read, err, c.field)
		case c.field == "traceparent" && lenient != (cursor.Trace{}):
			t.Errorf("the headers %s, %s are read as %+v", c.parent, c.state, lenient)
		}
	}
	read, err := cursor.ParseTrace(later, "")
	check.That(t, err == nil && read.Parent == parentA, "of a later version: %+v, %v", read, err)
	read, err = cursor.ParseTrace(parentB[:53]+"ff", "")
	check.That(t, err == nil && read.Parent == parentB[:53]+"03",
		"with flags that mean nothing: %+v, %v", read, err)
}

// TestTraceHeadersThatAreTooLong lose their long members first, then the last ones.
func TestTraceHeadersThatAreTooLong(t *testing.T) {
	long := "long=" + strings.Repeat("l", 200)
	for state, want := range map[string]string{
		manyMembers(8, 100):                      manyMembers(4, 100),
		"a=1," + long + "," + manyMembers(6, 60): "a=1," + manyMembers(6, 60),
		"a=1," + long + ", b=2 ,":                "a=1," + long + ", b=2",
		"a=1, a=2":                               "",
		manyMembers(3, 250) + ",a=1":             manyMembers(2, 250) + ",a=1",
	} {
		if got := cursor.TraceOf(parentA, state); got.Parent != parentA || got.State != want {
			t.Errorf("%s became %s; want %s", state, got.State, want)
		}
	}
}

// traces are what a process reads of the queue's messages.
func (b *bench) traces() string {
	b.t.Helper()
	var all []string
	for m, err := range b.process(cursor.Options{}).Read(b.t.Context(), "q", 0, b.status().Position) {
		check.OK(b.t, err)
		all = append(all, strings.TrimPrefix(m.Trace.Parent+" "+m.Trace.State, " "))
	}
	return strings.Join(all, ";")
}

var traceA, traceB = cursor.Trace{Parent: parentA, State: "a=1"}, cursor.Trace{Parent: parentB}

// A message's trace stays with it in each kind of queue, and is no part of what it is: a repeat
// that is traced otherwise is a duplicate, and the first one's trace stays.
func TestTracesAreKept(t *testing.T) {
	t.Run("numbered", func(t *testing.T) {
		b := newBench(t, nil)
		for _, trace := range []cursor.Trace{traceA, traceB, {}} {
			r := b.sorter.Put(t.Context(),
				cursor.Message{Queue: "q", Seq: 1, Body: []byte("1"), Trace: trace})[0]
			check.OK(t, r.Err)
			want := map[bool]cursor.Outcome{true: cursor.Advanced, false: cursor.Duplicate}[trace == traceA]
			check.That(t, r.Outcome == want, "%+v: %s, want %s", trace, r.Outcome, want)
		}
		b.want("traces", b.traces(), parentA+" a=1")
	})
	t.Run("arrival", func(t *testing.T) {
		b := newBench(t, nil)
		one, other, same := arrival("1"), several("2", 3), several("3", 2)
		one.Messages[0].Trace = traceB
		other.Messages[0].Trace, other.Messages[2].Trace = traceA, traceB
		same.Messages[0].Trace, same.Messages[1].Trace = traceA, traceA
		for _, a := range []request{one, other, same} {
			b.append(a)
			a.Messages[0].Trace = cursor.Trace{}
			got := b.append(a)
			check.That(t, strings.HasPrefix(got, "duplicate"), "repeated without a trace: %s", got)
		}
		b.want("traces", b.traces(), parentB+" ;"+parentA+" a=1;;"+parentB+" ;"+parentA+
			" a=1;"+parentA+" a=1")
	})
	t.Run("keyed", func(t *testing.T) {
		b := newBench(t, nil)
		m := keyedOf("k", "1")
		m.Trace = traceA
		b.putKeyed(m)
		m.Trace = traceB
		b.want("repeated", b.putKeyed(m)[:9], "duplicate")
		b.settleLater()
		b.want("traces", b.traces(), parentA+" a=1")
	})
}

// One that is not in its form is refused, and nothing is stored.
func TestTracesAreValidated(t *testing.T) {
	b := newBench(t, nil)
	for _, trace := range []cursor.Trace{{Parent: "00"}, {State: "a=1"}, {Parent: "01" + parentA[2:]},
		{Parent: parentA, State: "a"}} {
		err := b.sorter.Put(t.Context(), cursor.Message{Queue: "q", Seq: 1, Trace: trace})[0].Err
		field := check.As[*invalid.Error](t, err).Field
		check.That(t, strings.HasPrefix(field, "trace"), "%+v: %v", trace, err)
	}
}

// What messages with a trace of their own have together is bounded with it: an item of DynamoDB has
// 400 KB.
func TestTracesCountInAnArrival(t *testing.T) {
	a := several("1", cursor.MaxArrivalMessages)
	for i := range a.Messages {
		a.Messages[i].Body = make([]byte, 600)
		a.Messages[i].Trace = cursor.Trace{Parent: parentA, State: fmt.Sprintf("a=%0250d,b=%0200d", i, i)}
	}
	wrong := check.As[*invalid.Error](t, cursor.Validate(a.put()))
	check.Is(t, wrong.Code, invalid.TooLarge, "each its own", wrong)
	for i := range a.Messages {
		a.Messages[i].Trace = traceA
	}
	same(t, "all the same", cursor.Validate(a.put()), nil)
}
