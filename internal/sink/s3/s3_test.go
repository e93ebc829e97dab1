package s3

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/internal/sink/sinktest"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

const bucketARN = "arn:aws:s3:::books"

// memory is a bucket in memory.
type memory struct {
	sync.Mutex
	objects map[string][]byte
	written map[string]time.Time
	now     time.Time
	// answer, if it is not nil, answers in place of the bucket.
	answer func(*http.Request) (status int, body string)
	lists  int
}

// RoundTrip implements http.RoundTripper.
func (m *memory) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body = check.Get(io.ReadAll(r.Body))
	}
	m.Lock()
	defer m.Unlock()
	status, said := http.StatusOK, ""
	key := strings.TrimPrefix(r.URL.Path, "/books/")
	switch {
	case m.answer != nil:
		status, said = m.answer(r)
	case r.Method == http.MethodPut:
		m.objects[key], m.written[key] = body, m.now
	case r.Method == http.MethodDelete:
		delete(m.objects, key)
	case key == "":
		m.lists++
		said = m.list(r.URL.Query().Get("prefix"), r.URL.Query().Get("start-after"))
	default:
		said = string(m.objects[key])
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Request: r,
		Body: io.NopCloser(strings.NewReader(said))}, nil
}

func (m *memory) list(prefix, after string) string {
	var list strings.Builder
	n := 0
	for _, key := range slices.Sorted(maps.Keys(m.objects)) {
		if !strings.HasPrefix(key, prefix) || key <= after {
			continue
		}
		if n++; n > 1000 {
			break
		}
		fmt.Fprintf(&list, "<Contents><Key>%s</Key><LastModified>%s</LastModified></Contents>", key,
			m.written[key].Format(time.RFC3339Nano))
	}
	return fmt.Sprintf("<ListBucketResult><IsTruncated>%t</IsTruncated>%s</ListBucketResult>",
		n > 1000, list.String())
}

func newMemory() *memory {
	return &memory{objects: map[string][]byte{}, written: map[string]time.Time{},
		now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// desk is an archive in memory, and a sorter to replay with.
type desk struct {
	*testing.T
	*memory
	sink   kind.Sink
	a      *Archive
	sorter *cursor.Sorter
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	sinktest.Environment(t, "http://s3.example")
	d := &desk{T: t, memory: newMemory()}
	settings := check.Get(read(json.RawMessage(`{"kind":"s3","arn":"` + bucketARN + `"}`)))
	d.sink = check.Get(settings.Open(kind.Options{Transport: d.memory}))
	d.a = check.Get(NewArchive("c", bucketARN, awscall.Options{Transport: d.memory}))
	d.sorter = check.Get(cursor.New(cursor.NewMemory(), &cursor.Options{Now: func() time.Time {
		return d.now
	}}))
	return d
}

// sample is one with all that a producer can give it.
func sample(queue string, seq int64, body string) cursor.Message {
	return cursor.Message{
		Queue: queue, Seq: seq, ID: fmt.Sprint("id ", seq), Body: []byte(body),
		ContentType: "application/vnd.n+json",
		Attributes:  map[string]string{"a": "ü"},
		EnqueuedAt:  time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC),
		Trace: cursor.Trace{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
			State: "a=1"},
	}
}

// send sends a batch of a range, without those that were skipped.
func (d *desk) send(queue string, first, last int64, body string, skipped ...int64) {
	d.Helper()
	b := delivery.Batch{Queue: queue, Consumer: "c", From: first - 1, To: last, Skipped: skipped}
	for seq := first; seq <= last; seq++ {
		if !slices.Contains(skipped, seq) {
			b.Messages = append(b.Messages, sample(queue, seq, fmt.Sprintf(body, seq)))
		}
	}
	check.OK(d, d.sink.Send(d.Context(), b))
}

// replay replays a range, and returns what was put in all.
func (d *desk) replay(r Range) (sum Replayed, err error) {
	err = d.a.Replay(d.Context(), d.sorter, r, func(done Replayed) error {
		sum = Replayed{done.Last, sum.Messages + done.Messages, sum.Skipped + done.Skipped}
		return nil
	})
	return sum, err
}

// has compares what a queue has with bodies, from a seq on; an empty one was skipped.
func (d *desk) has(queue string, first int64, bodies ...string) {
	d.Helper()
	last := first + int64(len(bodies)) - 1
	for m, err := range d.sorter.Read(d.Context(), queue, first-1, last) {
		check.OK(d, err)
		body := bodies[m.Seq-first]
		if body == "" {
			check.That(d, m.Tombstone != "", "%d is %s, want none", m.Seq, m.Body)
			continue
		}
		want := sample(queue, m.Seq, body)
		check.That(d, m.ID == want.ID && string(m.Body) == body && m.ContentType == want.ContentType &&
			m.Trace == want.Trace && maps.Equal(m.Attributes, want.Attributes), "%+v, want %+v", m, want)
	}
}

// TestReplay: what was sent comes back as it was, each seq once whatever overlaps, as often as it
// is asked for.
func TestReplay(t *testing.T) {
	d := newDesk(t)
	d.send("q", 1, 40, `{"n":%d}`)
	whole := d.objects[key("c", "q", 1, 40)]
	d.send("q", 1, 40, `{"n":%d}`)
	check.That(t, bytes.Equal(whole, d.objects[key("c", "q", 1, 40)]), "a repeat puts other bytes")
	d.send("q", 1, 20, `{"n":%d}`) // the answer to 1 to 40 was lost, and what came again was halved
	d.send("q", 21, 21, `{"n":%d}`)
	d.send("q", 22, 60, `{"n":%d}`)
	d.send("q", 61, 64, "{ \"n\" : %d}\n\xff", 62, 64)
	d.send("@acme/q", 1, 1, `{"n":"another's"}`+"%.0d")
	for range 2 {
		check.Is(t, check.Get(d.replay(Range{Queue: "q", From: 2, To: 64, Into: "again"})),
			Replayed{64, 61, 2})
	}
	d.has("again", 2, `{"n":2}`)
	d.has("again", 20, `{"n":20}`, `{"n":21}`, `{"n":22}`)
	d.has("again", 60, `{"n":60}`, "{ \"n\" : 61}\n\xff", "", "{ \"n\" : 63}\n\xff", "")
	it := check.Get(d.sorter.Status(t.Context(), "again"))
	check.That(t, it.Position == 64 && it.Settings.First == 2, "%+v", it)
	// A part behind it, one of another queue, and one that is not there.
	d.send("q", 65, 66, `{"n":%d}`)
	check.Is(t, check.Get(d.replay(Range{Queue: "q", From: 65, To: 66, Into: "again"})),
		Replayed{66, 2, 0})
	got, err := d.replay(Range{Queue: "q", From: 60, To: 70, Into: "part"})
	check.Fails(t, err, ErrNotArchived)
	check.Is(t, got.Last, 66)
	check.Has(t, fmt.Sprint(err), `message 67 of queue "q"`)
	check.Fails(t, check.Err(d.replay(Range{Queue: "q", From: 67, To: 70, Into: "none"})),
		ErrNotArchived)
	check.Fails(t, check.Err(d.sorter.Status(t.Context(), "none")), cursor.ErrNoQueue)
}

// TestReplayTakesWhatWasWrittenLast: tables went back to a backup, and numbers were given out
// again.
func TestReplayTakesWhatWasWrittenLast(t *testing.T) {
	d := newDesk(t)
	d.send("q", 1, 9, `"old %d"`)
	d.now = d.now.Add(time.Second)
	d.send("q", 4, 6, `"new %d"`)
	d.send("q", 8, 8, `"new %d"`)
	check.Get(d.replay(Range{Queue: "q", From: 2, To: 9, Into: "again"}))
	d.has("again", 2, `"old 2"`, `"old 3"`, `"new 4"`, `"new 5"`, `"new 6"`,
		`"old 7"`, `"new 8"`, `"old 9"`)
}

// TestReplayLooksAtFewObjects: those long before the range are not listed.
func TestReplayLooksAtFewObjects(t *testing.T) {
	d := newDesk(t)
	for seq := int64(1); seq <= 5000; seq++ {
		d.objects[key("c", "q", seq, seq)] = nil
	}
	d.send("q", 4001, 5000, `%d`)
	delete(d.objects, key("c", "q", 4990, 4990))
	check.Is(t, check.Get(d.replay(Range{Queue: "q", From: 4990, To: 4990, Into: "again"})).Last, 4990)
	check.That(t, d.lists <= 2, "%d lists; want 2 of 5", d.lists)
}

func TestReplayRefuses(t *testing.T) {
	d := newDesk(t)
	d.send("q", 1, 3, `{"n":%d}`, 3)
	check.OK(d,
		d.sorter.Put(t.Context(), cursor.Message{Queue: "arrived", Seq: cursor.NoSeq, ID: "a",
			Body: []byte("1")})[0].Err)
	for _, m := range []cursor.Message{sample("taken", 1, `{"n":"other"}`), sample("short", 1, "1"),
		sample("over", 3, "3")} {
		check.OK(d, d.sorter.Put(t.Context(), m)[0].Err)
	}
	for _, c := range []struct {
		r    Range
		want string
	}{
		{Range{"q", 3, 2, "again"}, "to is 2: it must be from 3 on"},
		{Range{"q", -1, 2, "again"}, "to is 2: it must be from -1 on"},
		{Range{"q", 1, 2, "q"}, "into must be another queue"},
		{Range{"q", 1, 2, ""}, "into must be the name of a queue"},
		{Range{"", 1, 2, "again"}, "queue is missing"},
		{Range{"q", 1, 2, "arrived"}, "into must be a numbered queue"},
		{Range{"q", 3, 3, "short"}, "begins at 1 and has come to 1: it must have come to 2"},
		{Range{"q", 1, 2, "taken"}, ErrNotReplayed.Error()},
		{Range{"q", 1, 3, "over"}, ErrNotReplayed.Error() + `: message 3 of queue "over" is skipped in the archive`},
	} {
		check.Has(t, fmt.Sprint(check.Err(d.replay(c.r))), c.want, c.r)
	}
	d.objects[key("c", "q", 1, 3)] = d.objects[key("c", "q", 1, 3)][:20]
	cut := check.Err(d.replay(Range{"q", 1, 3, "again"}))
	check.Has(t, fmt.Sprint(cut), "object "+key("c", "q", 1, 3)+" of bucket books")
}

// TestReplayTakesEachSeqOnce: an object whose lines are not its seqs, each once and in order, is
// refused.
func TestReplayTakesEachSeqOnce(t *testing.T) {
	d := newDesk(t)
	for _, seqs := range [][]int{{1, 1, 3}, {3, 2, 1}, {1, 2}} {
		var object bytes.Buffer
		zip := gzip.NewWriter(&object)
		for _, seq := range seqs {
			fmt.Fprintf(zip, `{"queue":"q","seq":%d,"body":1}`, seq)
		}
		check.OK(d, zip.Close())
		d.objects[key("c", "q", 1, 3)] = object.Bytes()
		sum, err := d.replay(Range{"q", 1, 3, "into"})
		check.That(t, errors.Is(err, ErrNotArchived) && sum.Last == 0, "%v: %+v, %v", seqs, sum, err)
	}
}

// TestReplayOfTheLastSeq: no seq is behind it.
func TestReplayOfTheLastSeq(t *testing.T) {
	d := newDesk(t)
	check.OK(d, d.sink.Send(t.Context(), delivery.Batch{
		Queue: "q", Consumer: "c", From: cursor.MaxSeq - 2, To: cursor.MaxSeq,
		Messages: []cursor.Message{sample("q", cursor.MaxSeq-1, "1"), sample("q", cursor.MaxSeq, "2")},
	}))
	sum := check.Get(d.replay(Range{"q", cursor.MaxSeq - 1, cursor.MaxSeq, "into"}))
	check.Is(t, sum, Replayed{cursor.MaxSeq, 2, 0})
}

// TestReplayToAQueueThatTakesNoMore: it is full for now, or has what was replayed no more; neither
// is another message.
func TestReplayToAQueueThatTakesNoMore(t *testing.T) {
	d := newDesk(t)
	d.send("q", 1, 30, "%d")
	first, numbered, async, ahead := int64(1), cursor.KindNumbered, cursor.ModeAsync, int64(10)
	check.Get(d.sorter.Configure(t.Context(), "slow",
		cursor.Change{First: &first, Kind: &numbered, Mode: &async, MaxAhead: &ahead}))
	refused := func(r Range, want string) {
		t.Helper()
		err := check.Err(d.replay(r))
		check.That(t, !errors.Is(err, ErrNotReplayed), "another message: %v", err)
		check.Has(t, fmt.Sprint(err), want)
	}
	refused(Range{"q", 1, 30, "slow"}, `queue "slow" takes no more until it moves: message 11 is more than 10 beyond its position, 0`)
	r := Range{"q", 1, 30, "gone"}
	check.Get(d.replay(r))
	check.Get(d.sorter.Inside(queuelog.Inside{}).DeleteUpTo(t.Context(), "gone", 5, 100))
	refused(r, `queue "gone" is past message 1, and has it no more`)
}

// TestErase deletes the objects of one queue, all of them, and of no other.
func TestErase(t *testing.T) {
	d := newDesk(t)
	for seq := int64(1); seq <= 2500; seq++ {
		d.objects[key("c", "q", seq, seq)] = nil
	}
	others := []string{key("c", "@acme/q", 1, 1), key("c", "q/", 1, 1), key("c", "q2", 1, 1),
		key("other", "q", 1, 1)}
	for _, other := range others {
		d.objects[other] = nil
	}
	check.Is(t, check.Get(d.a.Erase(t.Context(), "q")), false)
	slices.Sort(others)
	got := slices.Sorted(maps.Keys(d.objects))
	check.That(t, slices.Equal(got, others), "%d objects are left: %.5v", len(got), got)
	check.Is(t, check.Get(d.a.Erase(t.Context(), "q")), false, "nothing is there")
	d.objects[key("c", "q", 1, 1)] = nil
	for name, answer := range map[string]func(*http.Request) (int, string){
		"list": func(*http.Request) (int, string) {
			return http.StatusForbidden, "<Error><Code>AccessDenied</Code></Error>"
		},
		"one": func(r *http.Request) (int, string) {
			if r.Method == http.MethodGet {
				return http.StatusOK, d.list("c/own/q/", "")
			}
			return http.StatusForbidden, "<Error><Code>AccessDenied</Code></Error>"
		},
	} {
		d.answer = answer
		left, err := d.a.Erase(t.Context(), "q")
		check.That(t, left, "%s: nothing is left", name)
		check.Has(t, fmt.Sprint(err), "AccessDenied", name)
		check.Has(t, fmt.Sprint(err), "bucket books", name)
	}
}

func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   string
		away   bool
	}{
		"no such bucket":         {404, "<Error><Code>NoSuchBucket</Code><Message>The specified bucket does not exist</Message></Error>", "bucket books: status 404: NoSuchBucket: The specified bucket does not exist", false},
		"denied":                 {403, "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>", "AccessDenied", false},
		"another region":         {301, "<Error><Code>PermanentRedirect</Code></Error>", "bucket books is in another region: use one of the stack's region", false},
		"another region, signed": {400, "<Error><Code>AuthorizationHeaderMalformed</Code></Error>", "is in another region", false},
		"slow down":              {503, "<Error><Code>SlowDown</Code></Error>", "SlowDown", true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // what is away is asked again after a while
				d := newDesk(t)
				d.answer = func(*http.Request) (int, string) { return c.status, c.body }
				err := d.sink.Send(t.Context(), delivery.Batch{Queue: "q", Consumer: "c", To: 1})
				check.Has(t, fmt.Sprint(err), c.want)
				check.Is(t, kind.IsAway(err), c.away)
			})
		})
	}
	none := check.Err(check.Get(read(json.RawMessage(`{"kind":"s3"}`))).Open(kind.Options{}))
	check.Has(t, fmt.Sprint(none),
		"arn is missing: there is no bucket; it must be like arn:aws:s3:::BUCKET")
}

// TestDefaults: objects are as large as they may, and nothing is tracked.
func TestDefaults(t *testing.T) {
	for given, want := range map[int]int{0: 1000, 5: 5} {
		r := delivery.Reader{MaxMessages: given}
		check.OK(t, (settings{}).Defaults(&r))
		check.Is(t, r.MaxMessages, want, given)
	}
	r := delivery.Reader{Track: time.Minute}
	check.That(t, (settings{}).Defaults(&r) != nil, "a bucket may be tracked")
}

func TestKeys(t *testing.T) {
	for queue, want := range map[string]string{
		"orders":           "c/own/orders/",
		"orders/2026 é":    "c/own/orders!2F2026!20!C3!A9/",
		"..":               "c/own/!2E./",
		"_hidden":          "c/own/!5Fhidden/",
		"@acme/orders":     "c/tenants/acme/orders/",
		"@a|b@c.d/x":       "c/tenants/a!7Cb!40c.d/x/",
		"@no tenant/x":     "c/own/!40no!20tenant!2Fx/",
		"tenants/acme/x":   "c/own/tenants!2Facme!2Fx/",
		"!-long":           "c/own/!21-long/",
		"@acme/../other/x": "c/tenants/acme/!2E.!2Fother!2Fx/",
	} {
		check.Is(t, folder("c", queue), want, queue)
	}
	check.Is(t, key("_a.b", "q", 7, 12),
		"!5Fa.b/own/q/0000000000000000007-0000000000000000012.ndjson.gz")
	for key, want := range map[string]bool{
		key("c", "q", 7, cursor.MaxSeq): true, "c/own/q/7-12.ndjson.gz": false, "c/own/q/notes.txt": false,
		"c/own/q/0000000000000000007-0000000000000000012.ndjson.gz.bak": false,
	} {
		first, _, ok := rangeOf(key)
		check.That(t, ok == want && (!ok || first == 7), "%s: %d, %v", key, first, ok)
	}
}

var safe = regexp.MustCompile(`^(?:[A-Za-z0-9!-][A-Za-z0-9!._-]*/)+$`)

// TestFoldersAreApart: whatever names are, no queue's folder is another's, or within it, and a
// tenant's are its own.
func TestFoldersAreApart(t *testing.T) {
	names := rapid.OneOf(
		rapid.StringOfN(rapid.RuneFrom([]rune("ab_.-!@/%é 2F")), 1, 8, -1),
		rapid.Map(rapid.StringOfN(rapid.RuneFrom([]rune("aü/")), 400, 500, -1), func(s string) string {
			return s[:min(len(s), cursor.MaxQueueName)]
		}),
	)
	rapid.Check(t, func(t *rapid.T) {
		a, b := names.Draw(t, "a"), names.Draw(t, "b")
		for _, queue := range []string{a, "@acme/" + a} {
			of := folder("c", queue)
			if longest := len(folder(strings.Repeat("_", 128), "@"+strings.Repeat("@", 64)+"/"+a)) +
				49; !safe.MatchString(of) || longest > 1024 {
				t.Fatalf("%q: %s; its longest key has %d bytes", queue, of, longest)
			}
			if acme := strings.HasPrefix(of, "c/tenants/acme/"); acme != strings.HasPrefix(queue, "@acme/") {
				t.Fatalf("%q: %s", queue, of)
			}
		}
		if a != b && strings.HasPrefix(folder("c", a), folder("c", b)) {
			t.Fatalf("%q and %q: %s, %s", a, b, folder("c", a), folder("c", b))
		}
		if strings.HasPrefix(folder("c", a), Folder("d")) {
			t.Fatalf("%q is another consumer's", a)
		}
	})
}
