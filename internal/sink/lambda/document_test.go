package lambda

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/internal/sink/sinktest"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/xorack"
)

var all = kind.Limits{Kind: "lambda", Bytes: 6 << 20}

func TestDocument(t *testing.T) {
	b := sinktest.Batch("q", `{"a":"<é>"}`, `{ "spaced": 1 }`, "\x00", "", "plain")
	b.Messages[0].ID, b.Messages[0].Attributes = "id", map[string]string{"k": "v"}
	b.Messages[4].ContentType, b.Messages[4].Seq = "text/plain", 1<<53+1
	b.From, b.To, b.Skipped, b.Attempt, b.Rewinds = -1, 1<<53+2, []int64{0, 5, 1<<53 + 2}, 2, 3
	written, err := Documents(b, all)
	check.Need(t, err == nil && len(written) == 1, "%d documents, %v", len(written), err)
	const want = `{"queue":"q","consumer":"c","token":"7-req","tokenN":7,"from":-1,"to":"9007199254740994","attempt":2,"rewinds":3,"messages":[` +
		`{"seq":1,"id":"id","body":{"a":"<é>"},"contentType":"application/json","attributes":{"k":"v"},"enqueuedAt":"2026-01-02T03:04:05.006Z"},` +
		`{"seq":2,"bodyBase64":"eyAic3BhY2VkIjogMSB9","contentType":"application/json","enqueuedAt":"2026-01-02T03:04:05.006Z"},` +
		`{"seq":3,"bodyBase64":"AA==","contentType":"application/json","enqueuedAt":"2026-01-02T03:04:05.006Z"},` +
		`{"seq":4,"bodyBase64":"","contentType":"application/json","enqueuedAt":"2026-01-02T03:04:05.006Z"},` +
		`{"seq":"9007199254740993","bodyBase64":"cGxhaW4=","contentType":"text/plain","enqueuedAt":"2026-01-02T03:04:05.006Z"}` +
		`],"skipped":[0,5,"9007199254740994"]}`
	check.Is(t, cmp.Diff(want, string(written[0].JSON)), "")
}

// span is what is looked at of a document.
type span struct {
	From, To int64
	Messages []struct{ Seq int64 }
	Skipped  []int64
}

// TestDocumentsFollow: whatever the limit, the documents are within it, follow each other without a
// gap, and have each seq once.
func TestDocumentsFollow(t *testing.T) {
	b := sinktest.Batch("queue", sinktest.Bodies(40)...)
	b.To = 43
	b.Messages = append(b.Messages[:20], b.Messages[21:]...)
	b.Skipped = []int64{21, 41, 42, 43}
	fewest := 0
	for _, limit := range []int{1 << 20, 2000, 1000, 500, 400} {
		written := check.Get(Documents(b, kind.Limits{Kind: "lambda", Bytes: limit}))
		check.That(t, len(written) >= fewest && (limit != 1<<20 || len(written) == 1),
			"%d documents at %d bytes", len(written), limit)
		fewest = len(written)
		at, next := b.From, b.From+1
		for _, w := range written {
			check.That(t, len(w.JSON) <= limit, "a document of %d bytes, at most %d are taken",
				len(w.JSON), limit)
			d := sinktest.Decode[span](t, w.JSON)
			check.That(t, d.From == at && d.To > d.From,
				"a document from %d to %d follows one to %d", d.From, d.To, at)
			check.That(t, d.From == w.From && d.To == w.To,
				"from %d to %d is said of %d to %d", w.From, w.To, d.From, d.To)
			at = d.To
			has := map[int64]bool{}
			for _, m := range d.Messages {
				has[m.Seq] = true
			}
			for _, seq := range d.Skipped {
				has[seq] = true
			}
			for ; has[next]; next++ {
			}
			check.That(t, next == d.To+1 && len(has) == int(d.To-d.From),
				"the document from %d to %d has %v", d.From, d.To, has)
		}
		check.That(t, at == b.To, "the last document ends at %d, the batch at %d", at, b.To)
	}
}

func TestDocumentOfSkippedAlone(t *testing.T) {
	b := sinktest.Batch("q")
	b.From, b.To, b.Skipped = 3, 5, []int64{4, 5}
	written, err := Documents(b, all)
	check.That(t, err == nil && len(written) == 1 &&
		strings.HasSuffix(string(written[0].JSON), `"messages":[],"skipped":[4,5]}`),
		"%+v, %v", written, err)
}

// TestLargestMessage: every message that the sorter takes fits a function, however it is written,
// and so a batch of any.
func TestLargestMessage(t *testing.T) {
	m := cursor.Message{
		Queue: strings.Repeat("\x01", cursor.MaxQueueName), Seq: cursor.MaxSeq,
		ID:   strings.Repeat("\x01", cursor.MaxID),
		Body: make([]byte, cursor.MaxBody), ContentType: strings.Repeat("\x01", cursor.MaxContentType),
		Attributes: map[string]string{"k": strings.Repeat("\x01", cursor.MaxAttributes-1)},
	}
	check.OK(t, m.Validate())
	b := sinktest.Batch(m.Queue)
	b.Consumer = strings.Repeat("\x01", 1024)
	for range 20 {
		b.Messages = append(b.Messages, m)
	}
	b.From, b.To = cursor.MaxSeq-1, cursor.MaxSeq
	written, err := Documents(b, all)
	check.That(t, err == nil && len(written) == 2, "%d documents, %v", len(written), err)
}

// TestTrackedDocuments: each message has its own edge, whichever document it is in.
func TestTrackedDocuments(t *testing.T) {
	b := sinktest.Tracked(sinktest.Batch("q", sinktest.Bodies(5)...), "t")
	small := all
	small.Bytes = 700
	written, err := Documents(b, small)
	check.Need(t, err == nil && len(written) >= 2, "%d documents, %v", len(written), err)
	for _, document := range written {
		for _, m := range sinktest.Decode[struct {
			Messages []struct {
				Seq  int
				Edge xorack.Edge
			}
		}](t, document.JSON).Messages {
			check.That(t, m.Edge == b.Edges[m.Seq-1], "message %d has the edge %s", m.Seq, m.Edge)
		}
	}
}

// TestUpTo: an answer says how far a document is done, of the seqs 5 to 8.
func TestUpTo(t *testing.T) {
	for answer, want := range map[string]string{
		``: "8", `null`: "8", `{}`: "8", `{"taken":1,"Taken":2}`: "8", `{"done":null,"batchItemFailures":null}`: "8", `{"batchItemFailures":[]}`: "8",
		`{"done":8}`: "8", `{"done":7}`: "7", `{"Done":"6"}`: "6", `{"done":4}`: "4",
		`{"batchItemFailures":[{"itemIdentifier":"8"}]}`: "7", `{"batchItemFailures":[{"itemIdentifier":"8"},{"itemIdentifier":6}]}`: "5",
		`{"batchItemFailures":[{"itemIdentifier":"5"}]}`: "4", `{"done":7,"batchItemFailures":[{"itemIdentifier":"7"}]}`: "6",
		`{"done":9}`: "must be from 4 to 8", `{"done":3}`: "must be from 4 to 8", `{"done":true}`: "done, which must be", `{"done":7,"done":8}`: "twice",
		`{"batchItemFailures":7}`: "must be a list", `{"batchItemFailures":[{"itemIdentifier":""}]}`: "no seq", `{"batchItemFailures":[{}]}`: "no seq",
		`{"batchItemFailures":[{"itemIdentifier":"4"}]}`: "itemIdentifier 4, which must be from 5 to 8", `{"batchItemFailures":[{"itemIdentifier":9}]}`: "itemIdentifier 9, which must be from 5 to 8",
		`{"done":8,"batchItemFailures":[{"itemIdentifier":"7"},{"itemIdentifier":"900"}]}`: "itemIdentifier 900", `{"done":9,"batchItemFailures":[{"itemIdentifier":"7"}]}`: "up to 9, which must be from 4 to 8",
		`{"batchItemFailures":[{"itemIdentifier":"secret"}]}`: "no seq",
	} {
		_, _, upTo, err := readAnswer([]byte(answer), 4, 8)
		got := fmt.Sprint(upTo)
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != want || err != nil && !strings.Contains(got, want) ||
			strings.Contains(got, "secret") {
			t.Errorf("%s: %s, want %s", answer, got, want)
		}
	}
	if _, _, upTo, err := readAnswer([]byte(`{"done":-1}`), -1, 3); err != nil || upTo != -1 {
		t.Errorf("nothing of a queue that begins at 0: %d, %v", upTo, err)
	}
}

// TestUpToOfAnEndpoint: a number is refused as a function's is, and so is what says something of
// parts that cannot be separated.
func TestUpToOfAnEndpoint(t *testing.T) {
	for answer, want := range map[string]int64{
		`OK`: 8, `<p>`: 8, `"done"`: 8, `{"done":true}`: 8, `{"done":"yes"}`: 8, `{"done":{"n":1}}`: 8, `{"done":6}`: 6, `{"done":"6"}`: 6,
		`{"done":true,"batchItemFailures":[]}`: 8, `{"done":true,"batchItemFailures":[{"itemIdentifier":"7"}]}`: 6,
		"\ufeff{\"done\":6}": 6, "\ufeff \n{\"done\":6}": 6, "\ufeffOK": 8,
	} {
		check.Is(t, check.Get(UpTo([]byte(answer), 4, 8)), want, "of an endpoint", answer)
	}
	for _, answer := range []string{
		`{"batchItemFailures":7}`, `{"done":99}`, `{"done":"99"}`, `{"done":3}`, `{"done":-5}`, `{"done":6.0}`, `{"done":6e0}`,
		`{"done":6,"DONE":6}`, `{"batchItemFailures":[],"batchItemFailures":[{"itemIdentifier":"6"}]}`, `{"batchItemFailures":[{"itemIdentifier":"9"}]}`,
	} {
		check.That(t, check.Err(UpTo([]byte(answer), 4, 8)) != nil, "of an endpoint %s: taken", answer)
	}
}

// TestAFunctionDefersItsBatch: what it may answer.
func TestAFunctionDefersItsBatch(t *testing.T) {
	for answer, want := range map[string]string{
		``: "", `null`: "", `{}`: "", `{"deferSeconds":null}`: "null", `{"deferSeconds":900}`: "900",
		`{"DEFERSECONDS":2592000,"more":[1]}`: "2592000", `{"replies":[],"deferSeconds":"900"}`: `"900"`,
	} {
		_, deferred, _, err := readAnswer([]byte(answer), 4, 8)
		check.That(t, err == nil && deferred == want, "%s: %s, %v; want %s", answer, deferred, err, want)
	}
	_, _, _, err := readAnswer([]byte(`{"deferSeconds":900,"DeferSeconds":900}`), 4, 8)
	check.Has(t, fmt.Sprint(err), "a member twice")
}
