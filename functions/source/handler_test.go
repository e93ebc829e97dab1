package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/announce"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/intake"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/internal/runtime/runtimetest"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/internal/source"
	"github.com/streamsort/streamsort/internal/source/sourcetest"
	"github.com/streamsort/streamsort/pkg/cursor"
)

func init() { slog.SetDefault(slog.New(slog.DiscardHandler)) }

// peers are the failure queue and the bus, as servers.
type peers struct {
	mu sync.Mutex
	// aside is what the failure queue took, announced what the bus did.
	aside, announced []string
	// refuse are how many entries of each batch the failure queue refuses, from its end; away tells
	// that it answers nothing.
	refuse int
	away   bool
	// deaf tells that the bus answers nothing.
	deaf bool
	most int // bytes of the largest request
}

func newPeers(t *testing.T) *peers {
	t.Helper()
	p := &peers{}
	server := httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	return p
}

func (p *peers) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var in struct {
		Entries []struct {
			ID          string `json:"Id"`
			MessageBody string
			Detail      string
		}
	}
	raw, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(raw, &in)
	if strings.HasPrefix(r.Header.Get("X-Amz-Target"), "AWSEvents") {
		if p.deaf {
			http.Error(w, `{"__type":"InternalException"}`, http.StatusBadRequest)
			return
		}
		for _, e := range in.Entries {
			p.announced = append(p.announced, e.Detail)
		}
		_, _ = io.WriteString(w, `{"FailedEntryCount":0,"Entries":[{"EventId":"1"}]}`)
		return
	}
	if p.away {
		http.Error(w, `{"__type":"com.amazonaws.sqs#QueueDoesNotExist"}`, http.StatusBadRequest)
		return
	}
	type verdict struct {
		ID   string `json:"Id"`
		Code string `json:",omitempty"`
	}
	var out struct{ Successful, Failed []verdict }
	size := 0
	for i, e := range in.Entries {
		size += len(e.MessageBody)
		if i >= len(in.Entries)-p.refuse {
			out.Failed = append(out.Failed, verdict{e.ID, "InternalError"})
			continue
		}
		p.aside = append(p.aside, e.MessageBody)
		out.Successful = append(out.Successful, verdict{ID: e.ID})
	}
	p.most = max(p.most, size)
	_ = json.NewEncoder(w).Encode(out)
}

// taker is the handler with what it wrote.
type taker struct {
	*service
	metrics *bytes.Buffer
}

// newTaker makes the handler of a source on a Sorter. Without peers nothing may be set aside.
func newTaker(t *testing.T, of *source.Source, sorter *cursor.Sorter, p *peers) *taker {
	t.Helper()
	bus := ""
	if p != nil {
		bus = "people"
	}
	announcer := check.Get(announce.New(bus, "", ""))
	set := &aside{source: of, announcer: announcer, now: func() time.Time {
		return sourcetest.Time(0)
	}}
	if p != nil {
		set = check.Get(newAside(of, os.Getenv("AWS_ENDPOINT_URL")+"/000000000000/failures", announcer))
		set.now = func() time.Time { return sourcetest.Time(0) }
	}
	var out bytes.Buffer
	return &taker{&service{source: of, sorter: sorter, aside: set}, &out}
}

func (h *taker) handle(ctx context.Context, event json.RawMessage) (json.RawMessage, error) {
	return runtime.Around(h.metrics, headroom, h.service.handle)(ctx, event)
}

// beside is a handler with its peers, and its tables.
func beside(t *testing.T, source string) (*peers, *world, *taker) {
	t.Helper()
	p, w := newPeers(t), newWorld(t)
	return p, w, newTaker(t, read(t, source), w.sorter, p)
}

func (h *taker) answers(t *testing.T, event json.RawMessage, want string) {
	t.Helper()
	answer, err := h.handle(t.Context(), event)
	check.That(t, err == nil && string(answer) == want, "%s, %v", answer, err)
}

func read(t *testing.T, text string) *source.Source {
	t.Helper()
	return check.Get(source.Read([]byte(text)))
}

func event(bodies ...string) json.RawMessage {
	var records []string
	for i, body := range bodies {
		quoted, _ := json.Marshal(body)
		records = append(records, fmt.Sprintf(`{"messageId":"m-%d","body":%s,"eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:r:1:q"}`, i+1, quoted))
	}
	return json.RawMessage(`{"Records":[` + strings.Join(records, ",") + `]}`)
}

// kinesisEvent is the same of Kinesis, all of one partition key.
func kinesisEvent(bodies ...string) json.RawMessage {
	var records []string
	for i, body := range bodies {
		records = append(records, fmt.Sprintf(`{"eventID":"s:%d","eventSource":"aws:kinesis","kinesis":{"partitionKey":"p","sequenceNumber":"%d","data":"%s"}}`,
			i+1, i+1, base64.StdEncoding.EncodeToString([]byte(body))))
	}
	return json.RawMessage(`{"Records":[` + strings.Join(records, ",") + `]}`)
}

// done is the answer that names no record.
const done = `{"batchItemFailures":[]}`

const bySeq = `{"name":"src","kind":"sqs","queue":"q","seq":"n"}`

// said are the reasons and fields of what the failure queue took.
func (p *peers) said(t *testing.T) (all []string) {
	t.Helper()
	for _, text := range p.aside {
		d := documentOf(t, text)
		all = append(all, d.Name+" "+d.Reason+" "+d.Field)
	}
	return all
}

// A record with a list is a message of each element, by the time of the first receipt where it has
// none; of one that is not understood nothing is stored, and it is set aside once.
func TestEach(t *testing.T) {
	p, w, h := beside(t, `{"name":"src","kind":"sqs","each":"items[]","queue":"@event.q","id":"@messageId,id","key":"at | @received","keyType":"time","attributes":{"first":"@record.attributes.Sent"}}`)
	for range 2 {
		h.answers(t, event(`{"q":"a","items":[{"id":1},{"id":2,"at":1700000000},{"id":3,"at":"2099-01-01T00:00:00Z"}]}`, `{"q":"a","items":[{"id":[]},{"id":{}}]}`), done)
	}
	status := check.Get(w.sorter.Status(t.Context(), "src/a"))
	waits, err := w.sorter.Waiting(t.Context(), status)
	check.That(t, err == nil && waits.Count == 3, "%+v, %v", waits, err)
	check.Is(t, strings.Join(p.said(t), ", "), "m-2 malformed id, m-2 malformed id")
	check.Has(t, h.metrics.String(), `"ClocksAhead":1`)
}

// A queue starts at the first record that comes of it, where the source says so.
func TestASourceStartsHere(t *testing.T) {
	w := newWorld(t)
	h := newTaker(t, read(t, strings.Replace(bySeq, `"seq":`, `"first":"here","seq":`, 1)),
		w.sorter, newPeers(t))
	check.Get(h.handle(t.Context(), event(`{"q":"a","n":4712}`, `{"q":"a","n":4711}`)))
	status := check.Get(w.sorter.Status(t.Context(), "src/a"))
	check.That(t, status.Settings.First == 4711 && status.Position == 4712, "%+v", status)
}

// A record that makes no message is set aside and announced, and holds up no other one.
func TestPoisonIsSetAside(t *testing.T) {
	p, w, h := beside(t, bySeq)
	h.answers(t, event(`{"q":"a","n":1}`, `no JSON`, `{"q":"a","n":2}`, `{"q":"a","n":-3}`,
		`{"q":"a","n":3}`), done)
	status, err := w.sorter.Status(t.Context(), "src/a")
	check.That(t, err == nil && status.Position == 3, "%+v, %v", status, err)
	check.Is(t, strings.Join(p.said(t), ", "), "m-2 malformed queue, m-4 out-of-range seq")
	const first = `{"id":"record.set-aside/src/m-2/`
	const want = `,"kind":"record.set-aside","source":"src","sourceKind":"sqs","reason":"malformed","field":"queue","detail":"cannot be found: the event is not JSON","at":"2026-03-01T09:00:00Z","name":"m-2","record":{"messageId":"m-2","body":"no JSON","eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:r:1:q"},"bytes":97,`
	check.That(t, strings.HasPrefix(p.aside[0], first), "the first: %s", p.aside[0])
	check.Has(t, p.aside[0], want)
	check.That(t, len(p.announced) == 1 &&
		strings.Contains(p.announced[0],
			`"count":2,"examples":[{"record":"m-2","reason":"malformed","field":"queue"`),
		"announced: %s", p.announced)
	for _, want := range []string{`"SourceRecords":5`, `"RecordsSetAside":2`, `"MessagesStored":3`} {
		check.That(t, strings.Contains(h.metrics.String(), want), "no %s in %s", want, h.metrics)
	}
	// The same event again: the same ids, and no more messages.
	check.Get(h.handle(t.Context(), event(`{"q":"a","n":1}`, `no JSON`)))
	check.Is(t, documentOf(t, p.aside[2]).ID, documentOf(t, p.aside[0]).ID, p.aside)
}

func documentOf(t *testing.T, text string) (d document) {
	t.Helper()
	check.OK(t, json.Unmarshal([]byte(text), &d))
	return d
}

func TestWhatQueuesRefuse(t *testing.T) {
	p, w, h := beside(t, bySeq)
	put := func(queue string, seqs ...int64) {
		t.Helper()
		for _, seq := range seqs {
			check.OK(t,
				w.sorter.Put(t.Context(), cursor.Message{Queue: queue, Seq: seq, Body: []byte(`1`)})[0].Err)
		}
	}
	ahead, skip, after := int64(3), cursor.PolicySkip, time.Second
	check.Get(w.sorter.Configure(t.Context(), "src/full", cursor.Change{MaxAhead: &ahead}))
	check.Get(w.sorter.Configure(t.Context(), "src/late",
		cursor.Change{Policy: &skip, GapAfter: &after}))
	put("src/conflict", 1)
	put("src/late", 1, 3)
	w.now = w.now.Add(time.Hour)
	check.Get(w.sorter.Sweep(t.Context(), cursor.SweepOptions{}))
	check.OK(t,
		w.sorter.Put(t.Context(), cursor.Message{KeyParts: []any{1}, KeyType: "number",
			Queue: "src/keyed", ID: "1", Body: []byte(`1`)})[0].Err)
	h.answers(t, event(`{"q":"conflict","n":1}`, `{"q":"late","n":2}`, `{"q":"late","n":0}`,
		`{"q":"full","n":9}`, `{"q":"keyed","n":1}`, `{"q":"good","n":1}`,
		`{"q":"twice","n":1,"a":1}`, `{"q":"twice","n":1,"a":2}`, `{"q":"twice","n":1,"a":1}`),
		`{"batchItemFailures":[{"itemIdentifier":"m-4"}]}`)
	check.Is(t, strings.Join(p.said(t), ", "),
		"m-1 conflict , m-2 late seq, m-3 stale seq, m-5 misplaced seq, m-8 conflict ")
	for _, queue := range []string{"src/good", "src/twice"} {
		status, err := w.sorter.Status(t.Context(), queue)
		check.That(t, err == nil && status.Position == 1, "%s: %+v, %v", queue, status, err)
	}
	// In a stream one that is too far ahead would hold up all behind it.
	p.aside = nil
	h = newTaker(t, read(t, `{"name":"src","kind":"kinesis","queue":"q","seq":"n"}`), w.sorter, p)
	h.answers(t, kinesisEvent(`{"q":"full","n":9}`, `{"q":"good","n":2}`), done)
	check.Is(t, strings.Join(p.said(t), ", "), "1 full seq")
}

// One that is too far ahead in its message group waits for nothing, since what fills the gap may be
// behind it: it is put again when the others are, and set aside where that does not help.
func TestTooFarAheadInAGroup(t *testing.T) {
	p, w, h := beside(t, `{"name":"src","kind":"sqsFifo","seq":"n"}`)
	ahead := int64(3)
	check.Get(w.sorter.Configure(t.Context(), "src/g", cursor.Change{MaxAhead: &ahead}))
	group := func(seqs ...int) json.RawMessage {
		var records []string
		for _, n := range seqs {
			records = append(records, fmt.Sprintf(`{"messageId":"m-%d","body":"{\"n\":%d}","eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:r:1:q.fifo","attributes":{"MessageGroupId":"g","SequenceNumber":"%d"}}`, n, n, 100+len(records)))
		}
		return json.RawMessage(`{"Records":[` + strings.Join(records, ",") + `]}`)
	}
	for _, step := range []struct {
		seqs     []int
		position int64
		aside    string
	}{
		{[]int{6, 1, 2, 3}, 3, ""}, // 6 waits behind 4 and 5
		{[]int{20}, 3, "m-20 full seq"},
		{[]int{12, 4, 5}, 6, "m-20 full seq, m-12 full seq"},
		{[]int{9, 7, 8}, 9, "m-20 full seq, m-12 full seq"},
	} {
		h.answers(t, group(step.seqs...), done)
		check.Is(t, check.Get(w.sorter.Status(t.Context(), "src/g")).Position, step.position, step.seqs)
		check.Is(t, strings.Join(p.said(t), ", "), step.aside, step.seqs)
	}
}

// What cannot be set aside is repeated: it is nowhere else.
func TestFailureQueueAway(t *testing.T) {
	p, _, h := beside(t, bySeq)
	p.refuse = 1
	h.answers(t, event(`bad`, `{"q":"a","n":1}`, `worse`),
		`{"batchItemFailures":[{"itemIdentifier":"m-3"}]}`)
	p.refuse, p.away = 0, true
	h.answers(t, event(`bad`, `{"q":"a","n":2}`), `{"batchItemFailures":[{"itemIdentifier":"m-1"}]}`)
	check.That(t, len(p.announced) == 1 && strings.Contains(p.announced[0], `"count":1`),
		"announced: %s", p.announced)
	// By an asynchronous call, all comes again.
	h = newTaker(t, read(t, `{"name":"src","kind":"eventbridge","queue":"q"}`), newWorld(t).sorter, p)
	err := check.Err(h.handle(t.Context(), json.RawMessage(`{"detail-type":"x","detail":{}}`)))
	check.Has(t, fmt.Sprint(err), "could not be sent to the failure queue")
	// A bus that is away loses an announcement, and nothing else.
	p, _, h = beside(t, bySeq)
	p.deaf = true
	h.answers(t, event(`bad`), done)
	check.Is(t, len(p.aside), 1)
	check.Has(t, h.metrics.String(), `"AnnouncementsFailed":1`)
}

// What is set aside fits into a message of SQS, whatever it is; several share a request as far as
// they fit.
func TestWhatIsKeptIsBounded(t *testing.T) {
	p, _, h := beside(t, bySeq)
	large := `{"q":"a","n":1,"x":"` + strings.Repeat("é", 200<<10) + `"}`
	bodies := []string{large, `"` + "\uFFFF" + `"`, `"` + strings.Repeat("<", 30_000) + `"`}
	for range 13 {
		bodies = append(bodies, strings.Repeat("x", 40_000))
	}
	h.answers(t, event(bodies...), done)
	check.Need(t, len(p.aside) == len(bodies), "%d set aside", len(p.aside))
	check.That(t, p.most <= 262_144, "a request of %d bytes", p.most)
	kept := map[string]document{}
	for _, text := range p.aside {
		kept[documentOf(t, text).Name] = documentOf(t, text)
	}
	if d := kept["m-1"]; d.Reason != "too-large" || !d.Truncated || d.Record != nil ||
		d.Bytes < 400<<10 || len(d.RecordBase64) != maxRecord || d.SHA256 == "" {
		t.Errorf("too large: %s, %d bytes, truncated %v, %d kept", d.Reason, d.Bytes, d.Truncated,
			len(d.RecordBase64))
	}
	d := kept["m-2"]
	check.That(t, d.Record == nil && !d.Truncated && d.RecordBase64 != "", "not for SQS: %+v", d)
	check.Has(t, string(kept["m-3"].Record), `\u003c\u003c`) // one that fits is there as it is
}

// One request of an event going wrong, in each way: the records whose fate is unknown are repeated,
// and then all are there, once.
func TestEveryRequestFails(t *testing.T) {
	for _, shape := range sourcetest.Shapes {
		if shape.Name != "sqs" && shape.Name != "sqsFifo" && shape.Name != "kinesis" &&
			shape.Name != "kafka" {
			continue
		}
		for _, fault := range ddbtest.EveryFault() {
			for nth := 1; ; nth++ {
				w := &world{t: t, now: sourcetest.Time(0)}
				faults := ddbtest.NewFaults(runtimetest.Tables())
				w.sorter = runtimetest.Sorter(faults,
					&cursor.Options{Now: func() time.Time { return w.now }})
				h := newTaker(t, read(t, shape.Source), w.sorter, nil)
				var records []json.RawMessage
				for queue := range 2 {
					for _, n := range []int{2, 1, 3} {
						records = append(records, shape.Record(queue, n))
					}
				}
				faults.Fail(nth, fault)
				for range 3 {
					answer, err := h.handle(t.Context(), shape.Event(records))
					if err == nil && string(answer) == done {
						break
					}
				}
				happened := !faults.Pending()
				faults.Fail(0, "")
				w.now = w.now.Add(time.Minute)
				for queue := range 2 {
					// What the streams' handler does where a producer could not.
					var err error
					if shape.Settles {
						_, err = w.sorter.Settle(t.Context(), shape.Queue(queue), sortkey.EverySortKey)
					} else {
						_, err = w.sorter.Inside(queuelog.Inside{}).Heal(t.Context(), shape.Queue(queue), 1, 2, 3)
					}
					check.OK(t, err)
					status, err := w.sorter.Status(t.Context(), shape.Queue(queue))
					check.Need(t, err == nil && status.Position == 3,
						"%s, request %d %s: queue %d is at %d, %v", shape.Name, nth, fault,
						queue, status.Position, err)
					want := 1
					for m, err := range w.sorter.Read(t.Context(), shape.Queue(queue), 0, 3) {
						check.OK(t, err)
						check.Is(t, check.Get(shape.N(m.Body)), want, shape.Name, nth, fault)
						want++
					}
				}
				if !happened {
					break
				}
			}
		}
	}
}

// Where there is no time left, nothing is begun: all comes again.
func TestNoTime(t *testing.T) {
	h := newTaker(t, read(t, bySeq), newWorld(t).sorter, newPeers(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	answer, err := h.handle(ctx, event(`{"q":"a","n":1}`, `bad`))
	check.That(t, err == nil &&
		string(answer) == `{"batchItemFailures":[{"itemIdentifier":"m-1"},{"itemIdentifier":"m-2"}]}`,
		"%s, %v", answer, err)
	check.That(t, strings.Contains(h.metrics.String(), `"RecordsRepeated":2`), "metrics %s", h.metrics)
	// What is no event of a source is an error.
	h = newTaker(t, read(t, bySeq), newWorld(t).sorter, nil)
	err = check.Err(h.handle(t.Context(), json.RawMessage(`{"queue":"a","seq":1}`)))
	check.Has(t, fmt.Sprint(err), "no event of a source")
}

// In arrival order, records stand in the order of the event, each once.
func TestArrivalOrder(t *testing.T) {
	w := newWorld(t)
	h := newTaker(t, read(t, `{"name":"src","kind":"sqs"}`), w.sorter, nil)
	for range 2 {
		h.answers(t, event(`"a"`, `plain`, `"c"`), done)
	}
	var got []string
	for m, err := range w.sorter.Read(t.Context(), "src/q", 0, 3) {
		check.OK(t, err)
		got = append(got, m.ContentType+string(m.Body))
	}
	check.That(t, fmt.Sprint(got) == `["a" text/plain; charset=utf-8plain "c"]`, "%s", got)
}

// A stream's order is that of its records, whichever request goes wrong: none is given a place
// before one that stands before it in the event has one.
func TestArrivalOrderOfAStream(t *testing.T) {
	const of = `{"name":"src","kind":"kinesis","order":"arrival"}`
	inOrder(t, of)
	// A record before the others makes no message, and one of the last that are stored together
	// fails.
	for nth := intake.MaxMessages - 5; nth < intake.MaxMessages+5; nth++ {
		inOrderBut(t, of, intake.MaxMessages+3, 2, nth, ddbtest.Refused)
	}
}

// TestAppendOfAStream: the same where the records say their seqs, each of which has to be the next
// one.
func TestAppendOfAStream(t *testing.T) {
	const of = `{"name":"src","kind":"kinesis","order":"arrival","seq":"n"}`
	inOrder(t, of)
	p, w, h := beside(t, of)
	h.answers(t, kinesisEvent(`{"n":1}`, `{"n":4}`), done)
	check.Is(t, strings.Join(p.said(t), ", "), "2 ahead seq")
	status := check.Get(w.sorter.Status(t.Context(), "src/p"))
	check.That(t, status.Position == 1 && status.Settings.Kind == cursor.KindArrival, "%+v", status)
}

// inOrder has a stream's records come, with each request going wrong once, and looks at what is
// there then.
func inOrder(t *testing.T, source string) {
	t.Helper()
	const most = intake.MaxMessages + 3 // more than are stored at a time
	for _, count := range []int{4, most} {
		for _, fault := range ddbtest.EveryFault() {
			step := 1
			if count == most {
				step = 97
			}
			for nth := 1; inOrderBut(t, source, count, 0, nth, fault); nth += step {
			}
		}
	}
}

// inOrderBut is one run of so many records, whose nth request goes wrong; of one of them, unless it
// is 0, no message can be made. It reports whether the request was made.
func inOrderBut(t *testing.T, source string, count, refused, nth int, fault ddbtest.Fault) bool {
	t.Helper()
	bodies, want := make([]string, count), []string(nil)
	for i := range bodies {
		if bodies[i] = fmt.Sprintf(`{"n":%d}`, i+1); i+1 == refused {
			bodies[i] = strings.Repeat("m", cursor.MaxBody+1)
			continue
		}
		want = append(want, bodies[i])
	}
	faults := ddbtest.NewFaults(runtimetest.Tables())
	sorter := runtimetest.Sorter(faults, &cursor.Options{ForEach: fanout.OneByOne})
	p := newPeers(t)
	h := newTaker(t, read(t, source), sorter, p)
	faults.Fail(nth, fault)
	for range 3 {
		if answer, err := h.handle(t.Context(), kinesisEvent(bodies...)); err == nil &&
			string(answer) == done {
			break
		}
	}
	if said := p.said(t); (refused > 0) != (len(said) > 0) {
		t.Fatalf("of %d, request %d %s: set aside: %s", count, nth, fault, said)
	}
	happened := !faults.Pending()
	faults.Fail(0, "")
	var got []string
	for m, err := range sorter.Read(t.Context(), "src/p", 0, int64(len(want))) {
		check.Need(t, err == nil,
			"of %d, request %d %s: behind message %d: %v", count, nth, fault, len(got), err)
		got = append(got, string(m.Body))
	}
	for i, body := range want {
		check.Need(t, i < len(got) && got[i] == body,
			"of %d, request %d %s: of %d messages, %s is not in its place, but %s", count, nth,
			fault, len(got), body, got[min(i, len(got)):min(i+1, len(got))])
	}
	return happened
}

func TestStart(t *testing.T) {
	newPeers(t)
	for name, value := range map[string]string{
		"STREAMSORT_MESSAGES_TABLE": "m", "STREAMSORT_CURSORS_TABLE": "c", "STREAMSORT_TROUBLE_TABLE": "s", "STREAMSORT_ARRIVALS_TABLE": "a",
		sourceVariable: bySeq, failureVariable: "http://127.0.0.1:1/1/f",
	} {
		t.Setenv(name, value)
	}
	handle, err := runtime.New(io.Discard, newHandler)
	check.That(t, handle != nil && err == nil, "%v", err)
	for name, bad := range map[string]struct{ value, want string }{
		failureVariable:                {"", "STREAMSORT_FAILURE_QUEUE is not set"},
		sourceVariable:                 {`{"name":"a","kind":"mq"}`, `STREAMSORT_SOURCE: kind "mq" is not known`},
		"STREAMSORT_ANNOUNCE_TOPIC":    {"x", `topic "x" must be like`},
		"STREAMSORT_ANNOUNCE_FUNCTION": {"x", `function "x" must be like`},
		"STREAMSORT_QUOTAS":            {"true", "quotas.json"},
		"STREAMSORT_MESSAGES_TABLE":    {"", "STREAMSORT_MESSAGES_TABLE is not set"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, bad.value)
			check.Has(t, fmt.Sprint(check.Err(runtime.New(io.Discard, newHandler))), bad.want)
		})
	}
	// A source may be described by a file.
	folder := t.TempDir()
	t.Setenv("LAMBDA_TASK_ROOT", folder)
	file := filepath.Join(folder, "source1.json")
	for text, want := range map[string]string{bySeq: "",
		`{"name":"a","kind":"mq"}`: file + `: kind "mq" is not known`} {
		check.OK(t, os.WriteFile(file, []byte(text), 0o600))
		from, err := describe("source1.json")
		check.That(t, (err == nil) == (want == "") && (from == nil) == (want != "") &&
			strings.Contains(fmt.Sprint(err), want), "%s: %v, want %q", text, err, want)
	}
	check.That(t, check.Err(describe("source2.json")) != nil, "a file that is not there")
}

// TestABatchOfMoreThanAQuota: records of a tenant that come together, and are more than its quota
// has in a window, pass as a debt: they come again as they are, and would else never pass.
func TestABatchOfMoreThanAQuota(t *testing.T) {
	w := newWorld(t)
	h := newTaker(t, read(t, `{"name":"src","kind":"kinesis","order":"arrival","queue":"@partitionKey","prefix":"@acme/"}`), w.sorter, nil)
	h.quotas = runtimetest.Quotas(func() time.Time { return w.now },
		quota.Quota{Name: "*", Limits: quota.Amounts{quota.Messages: 1}})
	bodies := make([]string, 400)
	for i := range bodies {
		bodies[i] = strconv.Itoa(i + 1)
	}
	h.answers(t, kinesisEvent(bodies...), done)
	// The window is used up, and the next one is not.
	more := append(bodies, "401")
	check.That(t, string(check.Get(h.handle(t.Context(), kinesisEvent(more...)))) != done,
		"all passed")
	w.now = w.now.Add(time.Hour)
	h.answers(t, kinesisEvent(more...), done)
}
