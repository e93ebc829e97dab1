package announce_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/announce"
	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// bus is a server that notes what it is sent, and gives one answer.
func bus(t *testing.T, answer string) *[]string {
	t.Helper()
	var details []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw := check.Get(io.ReadAll(r.Body))
		var in struct {
			Entries []struct{ EventBusName, Source, DetailType, Detail string }
		}
		check.OK(t, json.Unmarshal(raw, &in))
		for _, e := range in.Entries {
			details = append(details, e.EventBusName+" "+e.Source+" "+e.DetailType+" "+e.Detail)
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL_EVENTBRIDGE", server.URL)
	return &details
}

// people is an Announcer for a bus, and what the bus has.
func people(t *testing.T) (*announce.Announcer, *[]string) {
	t.Helper()
	details := bus(t, `{"FailedEntryCount":0,"Entries":[{"EventId":"1"}]}`)
	return check.Get(announce.New("people", "", "")), details
}

func said() cursor.Announcement {
	return cursor.Announcement{
		Kind: cursor.GapOpened, ID: "gap.opened/1/q/3", Queue: "q", Missing: cursor.Range{From: 2, To: 4},
		MaxParked: cursor.MaxSeq,
		Since:     time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Age: 90 * time.Second,
	}
}

func TestAnnounce(t *testing.T) {
	a, details := people(t)
	check.OK(t, a.Queue(t.Context(), said()))
	skipped := cursor.Announcement{
		Kind: cursor.GapSkipped, ID: "gap.skipped/1/q/3", Queue: "q",
		Missing: cursor.Range{From: 2, To: 4}, MaxParked: 9,
		Skipped: []cursor.Range{{From: 2, To: 4}, {From: 6, To: cursor.MaxSeq}},
	}
	check.OK(t, a.Queue(t.Context(), skipped))
	want := []string{
		`people streamsort gap.opened {"id":"gap.opened/1/q/3","kind":"gap.opened","queue":"q",` +
			`"missingAfter":2,"missingUpTo":4,"maxParked":"9223372036854775807","since":"2026-01-02T03:04:05Z","ageSeconds":90}`,
		`people streamsort gap.skipped {"id":"gap.skipped/1/q/3","kind":"gap.skipped","queue":"q","missingAfter":2,"missingUpTo":4,` +
			`"maxParked":9,"skipped":[{"missingAfter":2,"missingUpTo":4},{"missingAfter":6,"missingUpTo":"9223372036854775807"}]}`,
	}
	check.Is(t, cmp.Diff(want, *details), "")
}

// TestAnnounceLateMessages: how many there were, and the last of them with their keys.
func TestAnnounceLateMessages(t *testing.T) {
	a, details := people(t)
	key := check.Get(sortkey.KeyType("time,number").Key("2026-01-02T03:04:05.5+01:00", 7))
	late := cursor.Announcement{
		Kind: cursor.MessageLate, ID: "message.late/7/@acme/q/3", Queue: "@acme/q", Late: 3,
		LateExamples: []cursor.LateMessage{{Seq: 9, Key: key},
			{Seq: cursor.MaxSeq, Key: key, Dropped: true}},
	}
	check.OK(t, a.Queue(t.Context(), late))
	late.LateExamples = nil // they are in the archive by now
	late.Kind = cursor.KeysBehind
	check.OK(t, a.Queue(t.Context(), late))
	head := func(kind string) string {
		return "people streamsort " + kind + ` {"id":"message.late/7/@acme/q/3","kind":"` + kind +
			`","queue":"@acme/q","tenant":"acme","count":3,`
	}
	want := []string{head("message.late") +
		`"examples":[{"seq":9,"key":["2026-01-02T02:04:05.5Z",7],"dropped":false},` +
		`{"seq":"9223372036854775807","key":["2026-01-02T02:04:05.5Z",7],"dropped":true}]}`, head("keys.behind") + `"examples":[]}`}
	check.Is(t, cmp.Diff(want, *details), "")
}

func TestAnnounceAConsumer(t *testing.T) {
	a, details := people(t)
	check.OK(t, a.Consumer(t.Context(), delivery.Announcement{
		Kind: "consumer.blocked", ID: "consumer.blocked/1/q/1/c/8/0", Queue: "q", Consumer: "c",
		Delivered: 7, Position: 9,
		Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Age: 90 * time.Second, Attempts: 5,
		Error: "no luck",
	}))
	want := []string{`people streamsort consumer.blocked {"id":"consumer.blocked/1/q/1/c/8/0","kind":"consumer.blocked","queue":"q","consumer":"c",` +
		`"delivered":7,"position":9,"since":"2026-01-02T03:04:05Z","ageSeconds":90,"attempts":5,"error":"no luck"}`}
	check.Is(t, cmp.Diff(want, *details), "")
}

// TestAnnounceACircuit: it is about no queue.
func TestAnnounceACircuit(t *testing.T) {
	a, details := people(t)
	for _, kind := range []string{"consumer.circuit-open", "consumer.circuit-closed"} {
		check.OK(t, a.Consumer(t.Context(), delivery.Announcement{
			Kind: kind, ID: "x", Consumer: "c", Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
			Age: 90 * time.Second, Attempts: 5,
		}))
	}
	want := []string{
		`people streamsort consumer.circuit-open {"id":"x","kind":"consumer.circuit-open","consumer":"c","since":"2026-01-02T03:04:05Z","ageSeconds":90,"probes":5}`,
		`people streamsort consumer.circuit-closed {"id":"x","kind":"consumer.circuit-closed","consumer":"c","since":"2026-01-02T03:04:05Z","ageSeconds":90,"probes":5}`,
	}
	check.Is(t, cmp.Diff(want, *details), "")
}

func TestAnnounceOnATopic(t *testing.T) {
	const topic = "arn:aws:sns:us-east-1:123456789012:people"
	var form url.Values
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		check.OK(t, r.ParseForm())
		form = r.PostForm
		_, _ = io.WriteString(w, `<PublishResponse><PublishResult><MessageId>1</MessageId></PublishResult></PublishResponse>`)
	}))
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL_SNS", server.URL)
	check.OK(t, check.Get(announce.New("", topic, "")).Queue(t.Context(), said()))
	check.That(t, form.Get("TopicArn") == topic &&
		strings.Contains(form.Get("Message"), `"id":"gap.opened/1/q/3"`) &&
		form.Get("MessageAttributes.entry.1.Name") != "" &&
		form.Get("Subject") == "streamsort gap.opened",
		"published %v", form)
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct{ topic, function, want string }{
		{"people", "", "sns"},
		{"arn:aws:sqs:us-east-1:123456789012:people", "", "sns"},
		{"arn:aws:sns:us-east-1:123456789012:people.fifo", "", "sns"},
		{"", "people", "lambda"},
		{"", "arn:aws:sns:us-east-1:123456789012:people", "lambda"},
		{"", "arn:aws:lambda:us-east-1:123456789012:layer:people", "lambda"},
	} {
		check.Says(t, check.Err(announce.New("", c.topic, c.function)),
			"must be like arn:aws:"+c.want, c)
	}
}

// TestAnnounceToAFunction has a function invoked with the document of the events, beside a bus;
// also where the bus refuses.
func TestAnnounceToAFunction(t *testing.T) {
	const function = "arn:aws:lambda:us-east-1:123456789012:function:people:live"
	for answer, refused := range map[string]bool{
		`{"FailedEntryCount":0,"Entries":[{"EventId":"1"}]}`:                 false,
		`{"FailedEntryCount":1,"Entries":[{"ErrorCode":"InternalFailure"}]}`: true,
	} {
		bus(t, answer)
		status, asked := http.StatusAccepted, ""
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			raw := check.Get(io.ReadAll(r.Body))
			asked = r.Header.Get("X-Amz-Invocation-Type") + " " + r.URL.Path + " " + string(raw)
			w.WriteHeader(status)
		}))
		t.Cleanup(server.Close)
		t.Setenv("AWS_ENDPOINT_URL_LAMBDA", server.URL)
		a := check.Get(announce.New("people", "", function))
		for want, tell := range map[string]func() error{
			`{"id":"gap.opened/1/q/3","kind":"gap.opened",`: func() error { return a.Queue(t.Context(), said()) },
			wantChain(): func() error { return a.Chain(t.Context(), failedChain()) },
			`{"id":"x","kind":"consumer.lags","queue":"q",`: func() error {
				return a.Consumer(t.Context(),
					delivery.Announcement{Kind: "consumer.lags", ID: "x", Queue: "q", Consumer: "c"})
			},
		} {
			asked = ""
			err := tell()
			check.That(t, (err != nil) == refused, "%s: error %v", want, err)
			check.That(t, strings.HasPrefix(asked, "Event /2015-03-31/functions/arn:aws:lambda") &&
				strings.Contains(asked, "/invocations "+want),
				"invoked with %s, want %s", asked, want)
		}
		status = http.StatusForbidden
		err := a.Queue(t.Context(), said())
		check.That(t, err != nil && strings.Contains(err.Error(), function), "refused: %v", err)
	}
}

// Records that were set aside are announced to everybody, with the tenant whose queues they were
// for.
func TestRecords(t *testing.T) {
	a, details := people(t)
	said := announce.SetAside{
		ID: "record.set-aside/clicks/1", Source: "clicks", Tenant: "acme", Count: 12,
		Examples: []announce.SetAsideRecord{{Record: "1", Reason: "missing", Field: "queue",
			Detail: "is missing"}, {Record: "2", Reason: "unreadable"}},
	}
	check.OK(t, a.Records(t.Context(), said))
	want := []string{`people streamsort record.set-aside {"id":"record.set-aside/clicks/1","kind":"record.set-aside","source":"clicks","tenant":"acme","count":12,` +
		`"examples":[{"record":"1","reason":"missing","field":"queue","detail":"is missing"},{"record":"2","reason":"unreadable"}]}`}
	check.Is(t, cmp.Diff(want, *details), "")
}

func failedChain() xorack.Chain {
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return xorack.Chain{
		Tag: "night run", Incarnation: xorack.Incarnation{1}, Edges: 3, Ops: []xorack.Op{{1}},
		Created:  created,
		Recorded: xorack.Failed, Reason: "disk full", LastOp: xorack.Op{2},
		EndedAt: created.Add(90 * time.Second),
	}
}

func wantChain() string {
	return `{"id":"` + failedChain().EventID() + `","kind":"chain.failed","tag":"night run","outcome":"FAILED","reason":"disk full",` +
		`"operation":"0200000000000000","edges":3,"edgesEnded":1,"createdAt":"2026-01-02T03:04:05Z","endedAt":"2026-01-02T03:05:35Z","ageSeconds":90}`
}

func TestAnnounceAChain(t *testing.T) {
	a, details := people(t)
	check.OK(t, a.Chain(t.Context(), failedChain()))
	check.Is(t, cmp.Diff([]string{"people streamsort chain.failed " + wantChain()}, *details), "")
}

// TestBatchesAreLogged: the batch whose work failed is named, without why; the others, and what was
// done, are left to who announces them.
func TestBatchesAreLogged(t *testing.T) {
	var logs bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&logs, nil)))
	defer slog.SetDefault(before)
	down := errors.New("down")
	var ended []string
	end := announce.Batches(func(_ context.Context, c xorack.Chain) error {
		ended = append(ended, c.Tag)
		return down
	})
	failed := xorack.Chain{Tag: "delivery/h/2-r", Data: "billing/a/b", Recorded: xorack.Failed,
		Reason: "secret"}
	done, other := failed, failed
	done.Recorded, other.Tag = xorack.Done, "order 7"
	for _, c := range []xorack.Chain{failed, done, other} {
		check.Fails(t, end(t.Context(), c), down, c.Tag)
	}
	check.That(t, len(ended) == 3, "%q went on, want all three", ended)
	line := logs.String()
	check.That(t, strings.Count(line, "\n") == 1 && strings.Contains(line, `"msg":"chain.failed"`) &&
		strings.Contains(line, `"queue":"a/b","consumer":"billing"`) && !strings.Contains(line, "secret"),
		"logged %s", line)
}

// TestListed: an end that is no good is listed once it is announced, and it stays due until it is.
func TestListed(t *testing.T) {
	definition := trouble.Definition(trouble.DefaultName)
	memory, down := ddb.NewMemory(definition), false
	errDown := errors.New("down")
	rows := trouble.NewStore(ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if down {
			return ddb.Answer{}, errDown
		}
		return memory.Do(ctx, r)
	}), definition)
	refused, announced := error(nil), 0
	end := announce.Listed(rows, time.Hour, func(context.Context, xorack.Chain) error {
		announced++
		return refused
	})
	c := failedChain()
	is := func(what string, c xorack.Chain, want error, listed int) {
		t.Helper()
		err := end(t.Context(), c)
		check.That(t, errors.Is(err, want) && (want != nil || err == nil), "%s: %v", what, err)
		check.Is(t, len(memory.Items(definition.Name)), listed, what)
	}
	refused = errDown
	is("nobody took it", c, errDown, 0)
	refused, down = nil, true
	is("the table is away", c, errDown, 0)
	check.That(t, announced == 2, "it was announced %d times: it waits for the list", announced)
	down = false
	is("failed", c, nil, 1)
	is("again", c, nil, 1)
	want := trouble.Row{State: trouble.Failed, Queue: c.Tag, Since: c.EndedAt,
		N: c.EndedAt.UnixMilli(), ExpiresOn: c.EndedAt.Add(time.Hour)}
	row, found, err := rows.Row(t.Context(), trouble.Failed, c.Tag, "")
	check.That(t, err == nil && found && row == want, "%+v, %v, want %+v", row, err, want)
	for how, listed := range map[xorack.End]int{xorack.Done: 1, xorack.Deleted: 1,
		xorack.TimedOut: 2} {
		other := c
		other.Tag, other.Recorded = string(how), how
		is(string(how), other, nil, listed)
		_ = rows.Delete(t.Context(), trouble.Row{State: trouble.TimedOut, Queue: other.Tag, N: want.N})
	}
	other := announce.Listed(nil, 0, func(context.Context, xorack.Chain) error { return nil })
	err = other(t.Context(), c)
	check.That(t, err == nil, "without a table: %v", err)
}

// The tenant of a queue or a tag stands beside the whole name.
func TestTenantIsPublished(t *testing.T) {
	a, details := people(t)
	gap, chain := said(), failedChain()
	gap.Queue, chain.Tag = "@acme/q", "@acme/tree"
	check.OK(t, errors.Join(
		a.Queue(t.Context(), gap),
		a.Consumer(t.Context(), delivery.Announcement{Kind: "consumer.blocked", Queue: "@acme/q",
			Consumer: "c"}),
		a.Chain(t.Context(), chain),
	))
	for i, want := range []string{`"queue":"@acme/q","tenant":"acme",`,
		`"queue":"@acme/q","tenant":"acme",`, `"tag":"@acme/tree","tenant":"acme",`} {
		check.That(t, i < len(*details) && strings.Contains((*details)[i], want),
			"no %s in %v", want, *details)
	}
}
