package fifo

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sink/sinktest"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
)

func TestGroupOf(t *testing.T) {
	for queue, want := range map[string]string{
		"orders":                 "orders",
		"a/b:c!\"#$%&'()*~{|}^_": "a/b:c!\"#$%&'()*~{|}^_",
		strings.Repeat("x", 128): strings.Repeat("x", 128),
		strings.Repeat("x", 129): "sha256:",
		"two words":              "sha256:",
		"größe":                  "sha256:",
		"tab\t":                  "sha256:",
		"del\x7f":                "sha256:",
		"sha256:abc":             "sha256:",
		"sha256":                 "sha256",
	} {
		got := groupOf(queue)
		if want == hashedGroup && (len(got) != 7+64 || !strings.HasPrefix(got, want) || got == queue) ||
			want != hashedGroup && got != want {
			t.Errorf("group of %q is %q, want %q", queue, got, want)
		}
	}
	hashed := groupOf("two words")
	check.That(t, groupOf(hashed) != hashed, "two queues share the group %s", hashed)
}

// TestDedup: what is another message has another id, and what is the same has the same.
func TestDedup(t *testing.T) {
	seen := map[string]string{}
	for _, consumer := range []string{"a", "ab"} {
		for _, queue := range []string{"c", "bc", strings.Repeat("q", 1024)} {
			for _, seq := range []int64{1, 11, 1<<63 - 1} {
				for _, rewinds := range []int64{0, 1, 1<<63 - 1} {
					b := sinktest.Batch(queue)
					b.Consumer = consumer
					what := fmt.Sprint(consumer, "/", queue, "/", seq, "/", rewinds)
					id := dedupOf(dedupPrefix(b), seq, rewinds)
					check.That(t, seen[id] == "" && len(id) <= 128,
						"%s has the id %s (%d characters), as has %s", what, id, len(id), seen[id])
					seen[id] = what
				}
			}
		}
	}
	b := sinktest.Batch("q", "1")
	again := b
	again.Attempt, again.Token.N = 3, 9
	first := check.Get(itemsOf(b, false))
	check.Is(t, check.Get(itemsOf(again, false))[0].Entry.DeduplicationID,
		first[0].Entry.DeduplicationID)
}

func TestTextOf(t *testing.T) {
	for body, want := range map[string][2]string{
		"":                    {"-", "empty"},
		"-":                   {"-", ""},
		" ":                   {" ", ""},
		"{\"a\":\"ü\"}\r\n\t": {"{\"a\":\"ü\"}\r\n\t", ""},
		"\U0001F600\uFFFD":    {"\U0001F600\uFFFD", ""},
		"\x00":                {"AA==", "base64"},
		"\x1b[0m":             {"G1swbQ==", "base64"},
		"\xff\xfe":            {"//4=", "base64"},
		"\uFFFE":              {"77++", "base64"},
		"\uFFFF":              {"77+/", "base64"},
		"\xed\xa0\x80":        {"7aCA", "base64"}, // a surrogate
	} {
		text, encoding := textOf([]byte(body))
		check.Is(t, [2]string{text, encoding}, want, body)
	}
}

func TestFifoItems(t *testing.T) {
	b := sinktest.Batch("a queue\x01", "x")
	m := &b.Messages[0]
	m.Seq, m.ID, m.ContentType, m.Attributes = 1<<62, "id", "text/plain",
		map[string]string{"b": "<2>", "a": "1"}
	got := check.Get(itemsOf(b, false))[0]
	want := map[string]awscall.Attribute{
		"queue":       {DataType: "Binary", BinaryValue: []byte("a queue\x01")},
		"seq":         {DataType: "String", StringValue: "4611686018427387904"},
		"consumer":    {DataType: "String", StringValue: "c"},
		"token":       {DataType: "String", StringValue: "7-req"},
		"contentType": {DataType: "String", StringValue: "text/plain"},
		"id":          {DataType: "String", StringValue: "id"},
		"attributes":  {DataType: "String", StringValue: `{"a":"1","b":"<2>"}`},
	}
	check.Is(t, cmp.Diff(want, got.Entry.Attributes), "")
	size := 1
	for name, a := range want {
		size += len(name+a.DataType+a.StringValue) + len(a.BinaryValue)
	}
	check.That(t, got.Bytes == size && got.Seq == m.Seq,
		"seq %d of %d bytes, want %d of %d", got.Seq, got.Bytes, m.Seq, size)
}

// TestTrackedFifoItems: each message has its edge, and one that is delivered again under another is
// not dropped as a repeat.
func TestTrackedFifoItems(t *testing.T) {
	b := sinktest.Tracked(sinktest.Batch("q", "1", "2"), "first")
	first := check.Get(itemsOf(b, false))
	for i, it := range first {
		check.Is(t, it.Entry.Attributes["edge"].StringValue, b.Edges[i].String())
		check.That(t, len(it.Entry.DeduplicationID) <= 128, "the id has %d characters",
			len(it.Entry.DeduplicationID))
	}
	check.Is(t, check.Get(itemsOf(b, false))[0].Entry.DeduplicationID, first[0].Entry.DeduplicationID)
	again := check.Get(itemsOf(sinktest.Tracked(b, "again"), false))
	check.That(t, again[0].Entry.DeduplicationID != first[0].Entry.DeduplicationID,
		"delivered again it has the same id")
}

// TestLargestMessage: every message that the sorter takes fits a queue, and a topic that was
// configured to take as much; not one as topics usually are.
func TestLargestMessage(t *testing.T) {
	b := sinktest.Batch(strings.Repeat("\x01", cursor.MaxQueueName))
	b.Consumer = strings.Repeat("\x01", 1024)
	b.Messages = []cursor.Message{{
		Queue: b.Queue, Seq: cursor.MaxSeq, ID: strings.Repeat("\x01", cursor.MaxID),
		Body: make([]byte, cursor.MaxBody), ContentType: strings.Repeat("\x01", cursor.MaxContentType),
		Attributes: map[string]string{"k": strings.Repeat("\x01", cursor.MaxAttributes-1)},
	}}
	size := check.Get(itemsOf(b, false))[0].Bytes
	check.That(t, size <= 1<<20 && size > 256<<10, "%d bytes", size)
}

// TestKeyedFifoItems: whatever a message of a keyed queue has, SQS takes its attributes.
func TestKeyedFifoItems(t *testing.T) {
	key := check.Get(sortkey.KeyType("time,text").Key("2026-05-06T07:08:09+02:00", "<a>"))
	b := sinktest.Tracked(sinktest.Batch("@acme/q", "1", "\x00"), "tag")
	m := &b.Messages[1]
	m.ID, m.Attributes, m.Key, m.Late, m.Unlinked = "id", map[string]string{"a": "1"}, key, true, true
	b.Messages[0].Key = key
	items := check.Get(itemsOf(b, false))
	for i, want := range []string{`{"key":["2026-05-06T05:08:09Z","<a>"]}`,
		`{"key":["2026-05-06T05:08:09Z","<a>"],"late":true,"unlinked":true}`} {
		got := items[i].Entry.Attributes
		check.Is(t, got["keyed"].StringValue, want)
		check.That(t, len(got) <= 10, "%d attributes: %+v", len(got), got)
	}
	check.Is(t, len(items[1].Entry.Attributes), 10)
}

// TestTracedFifoItems: a trace is sent whatever else a message has, and SQS takes the attributes.
func TestTracedFifoItems(t *testing.T) {
	key := check.Get(sortkey.KeyType("text").Key("k"))
	trace := cursor.Trace{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		State: "a=1"}
	parent, state, tenant := "traceparent", "tracestate", "tenant"
	values := map[string]string{parent: trace.Parent, state: trace.State, tenant: "acme"}
	for _, c := range []struct {
		name           string
		body           string
		key            sortkey.Key
		attributes     map[string]string
		want, wantNone []string
		keyed          string
	}{
		{name: "alone", want: []string{parent, state, tenant}},
		{name: "with more", attributes: map[string]string{"a": "1"}, want: []string{parent, state}, wantNone: []string{tenant}},
		{name: "with all", attributes: map[string]string{"a": "1"}, body: "\x00", want: []string{parent}, wantNone: []string{tenant, state}},
		{name: "keyed", key: key, want: []string{parent, state}, wantNone: []string{tenant}, keyed: `{"key":"k"}`},
		{
			name: "keyed, with all", key: key, attributes: map[string]string{"a": "1"}, body: "\x00", wantNone: []string{tenant, state, parent},
			keyed: `{"key":"k","traceparent":"` + trace.Parent + `","tracestate":"a=1"}`,
		},
	} {
		b := sinktest.Tracked(sinktest.Batch("@acme/q", c.body+"1"), "tag")
		m := &b.Messages[0]
		m.ID, m.Attributes, m.Key, m.Trace = "id", c.attributes, c.key, trace
		items := check.Get(itemsOf(b, false))
		got := items[0].Entry.Attributes
		check.That(t, len(got) <= 10, "%s: %d attributes", c.name, len(got))
		check.Is(t, items[0].Entry.Trace,
			"Root=1-0af76519-16cd43dd8448eb211c80319c;Parent=b7ad6b7169203331;Sampled=1")
		for _, name := range c.want {
			check.Is(t, got[name].StringValue, values[name], c.name, name)
		}
		for _, name := range c.wantNone {
			_, has := got[name]
			check.That(t, !has, "%s: %s in %+v", c.name, name, got)
		}
		check.Is(t, got["keyed"].StringValue, c.keyed, c.name)
	}
}

// A queue is named by its URL, which is in the partition of its region.
func TestURL(t *testing.T) {
	t.Setenv("AWS_REGION", "eu-west-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	s := sinktest.Open(t, SQS, "arn:aws-cn:sqs:cn-north-1:12:a.fifo", "")
	check.Is(t, s.(*sink).name, "https://sqs.cn-north-1.amazonaws.com.cn/12/a.fifo")
}
