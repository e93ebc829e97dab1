package announce_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/announce"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
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

func said() cursor.Announcement {
	return cursor.Announcement{
		Kind: cursor.GapOpened, ID: "gap.opened/1/q/3", Queue: "q", Missing: cursor.Range{From: 2, To: 4}, MaxParked: cursor.MaxSeq,
		Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Age: 90 * time.Second,
	}
}

func TestAnnounce(t *testing.T) {
	details := bus(t, `{"FailedEntryCount":0,"Entries":[{"EventId":"1"}]}`)
	a := check.Get(announce.New("people", "", ""))
	check.OK(t, a.Queue(t.Context(), said()))
	skipped := cursor.Announcement{
		Kind: cursor.GapSkipped, ID: "gap.skipped/1/q/3", Queue: "q", Missing: cursor.Range{From: 2, To: 4}, MaxParked: 9,
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
	details := bus(t, `{"FailedEntryCount":0,"Entries":[{"EventId":"1"}]}`)
	a := check.Get(announce.New("people", "", ""))
	key := check.Get(sortkey.KeyType("time,number").Key("2026-01-02T03:04:05.5+01:00", 7))
	late := cursor.Announcement{
		Kind: cursor.MessageLate, ID: "message.late/7/@acme/q/3", Queue: "@acme/q", Late: 3,
		LateExamples: []cursor.LateMessage{{Seq: 9, Key: key}, {Seq: cursor.MaxSeq, Key: key, Dropped: true}},
	}
	check.OK(t, a.Queue(t.Context(), late))
	late.LateExamples = nil // they are in the archive by now
	late.Kind = cursor.KeysBehind
	check.OK(t, a.Queue(t.Context(), late))
	head := func(kind string) string {
		return "people streamsort " + kind + ` {"id":"message.late/7/@acme/q/3","kind":"` + kind + `","queue":"@acme/q","tenant":"acme","count":3,`
	}
	want := []string{head("message.late") + `"examples":[{"seq":9,"key":["2026-01-02T02:04:05.5Z",7],"dropped":false},` +
		`{"seq":"9223372036854775807","key":["2026-01-02T02:04:05.5Z",7],"dropped":true}]}`, head("keys.behind") + `"examples":[]}`}
	check.Is(t, cmp.Diff(want, *details), "")
}

func TestAnnounceReportsARefusal(t *testing.T) {
	bus(t, `{"FailedEntryCount":1,"Entries":[{"ErrorCode":"InternalFailure","ErrorMessage":"try later"}]}`)
	a := check.Get(announce.New("people", "", ""))
	if err := a.Queue(t.Context(), said()); err == nil || !strings.Contains(err.Error(), "try later") {
		t.Errorf("error %v, want the bus's reason", err)
	}
}

func TestAnnounceWithoutABus(t *testing.T) {
	details := bus(t, `{}`)
	a := check.Get(announce.New("", "", ""))
	if err := a.Queue(t.Context(), said()); err != nil || len(*details) != 0 {
		t.Errorf("error %v, events %v; want none", err, *details)
	}
}

func TestAnnounceAConsumer(t *testing.T) {
	details := bus(t, `{"FailedEntryCount":0,"Entries":[{"EventId":"1"}]}`)
	a := check.Get(announce.New("people", "", ""))
	check.OK(t, a.Consumer(t.Context(), delivery.Announcement{
		Kind: "consumer.blocked", ID: "consumer.blocked/1/q/1/c/8/0", Queue: "q", Consumer: "c", Delivered: 7, Position: 9,
		Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Age: 90 * time.Second, Attempts: 5, Error: "no luck",
	}))
	want := []string{`people streamsort consumer.blocked {"id":"consumer.blocked/1/q/1/c/8/0","kind":"consumer.blocked","queue":"q","consumer":"c",` +
		`"delivered":7,"position":9,"since":"2026-01-02T03:04:05Z","ageSeconds":90,"attempts":5,"error":"no luck"}`}
	check.Is(t, cmp.Diff(want, *details), "")
}

// TestAnnounceACircuit: it is about no queue.
func TestAnnounceACircuit(t *testing.T) {
	details := bus(t, `{"FailedEntryCount":0,"Entries":[{"EventId":"1"}]}`)
	a := check.Get(announce.New("people", "", ""))
	for _, kind := range []string{"consumer.circuit-open", "consumer.circuit-closed"} {
		check.OK(t, a.Consumer(t.Context(), delivery.Announcement{
			Kind: kind, ID: "x", Consumer: "c", Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Age: 90 * time.Second, Attempts: 5,
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
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	a := check.Get(announce.New("", topic, ""))
	check.OK(t, a.Queue(t.Context(), said()))
	check.That(t, form.Get("TopicArn") == topic && strings.Contains(form.Get("Message"), `"id":"gap.opened/1/q/3"`) && form.Get("MessageAttributes.entry.1.Name") != "" && form.Get("Subject") == "streamsort gap.opened",
		"published %v", form)
}

func TestNewRefusesATopic(t *testing.T) {
	for _, topic := range []string{"people", "arn:aws:sqs:us-east-1:123456789012:people", "arn:aws:sns:us-east-1:123456789012:people.fifo"} {
		if _, err := announce.New("", topic, ""); err == nil || !strings.Contains(err.Error(), "must be like arn:aws:sns") {
			t.Errorf("%s: error %v", topic, err)
		}
	}
}

// TestAnnounceToAFunction has a function invoked with the document of the events,
// beside a bus; also where the bus refuses.
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
		t.Setenv("AWS_REGION", "us-east-1")
		t.Setenv("AWS_ACCESS_KEY_ID", "id")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
		a := check.Get(announce.New("people", "", function))
		for want, tell := range map[string]func() error{
			`{"id":"gap.opened/1/q/3","kind":"gap.opened",`: func() error { return a.Queue(t.Context(), said()) },
			wantChain(): func() error { return a.Chain(t.Context(), failedChain()) },
			`{"id":"x","kind":"consumer.lags","queue":"q",`: func() error {
				return a.Consumer(t.Context(), delivery.Announcement{Kind: "consumer.lags", ID: "x", Queue: "q", Consumer: "c"})
			},
		} {
			asked = ""
			if err := tell(); (err != nil) != refused {
				t.Errorf("%s: error %v", want, err)
			}
			check.That(t, strings.HasPrefix(asked, "Event /2015-03-31/functions/arn:aws:lambda") && strings.Contains(asked, "/invocations "+want),
				"invoked with %s, want %s", asked, want)
		}
		status = http.StatusForbidden
		if err := a.Queue(t.Context(), said()); err == nil || !strings.Contains(err.Error(), function) {
			t.Errorf("refused: %v", err)
		}
	}
}

func TestNewRefusesAFunction(t *testing.T) {
	for _, function := range []string{"people", "arn:aws:sns:us-east-1:123456789012:people", "arn:aws:lambda:us-east-1:123456789012:layer:people"} {
		if _, err := announce.New("", "", function); err == nil || !strings.Contains(err.Error(), "must be like arn:aws:lambda") {
			t.Errorf("%s: error %v", function, err)
		}
	}
}

// Records that were set aside are announced to everybody, with the tenant whose queues they were for.
func TestRecords(t *testing.T) {
	details := bus(t, `{"FailedEntryCount":0,"Entries":[{"EventId":"1"}]}`)
	a := check.Get(announce.New("people", "", ""))
	said := announce.SetAside{
		ID: "record.set-aside/clicks/1", Source: "clicks", Tenant: "acme", Count: 12,
		Examples: []announce.SetAsideRecord{{Record: "1", Reason: "missing", Field: "queue", Detail: "is missing"}, {Record: "2", Reason: "unreadable"}},
	}
	check.OK(t, a.Records(t.Context(), said))
	want := []string{`people streamsort record.set-aside {"id":"record.set-aside/clicks/1","kind":"record.set-aside","source":"clicks","tenant":"acme","count":12,` +
		`"examples":[{"record":"1","reason":"missing","field":"queue","detail":"is missing"},{"record":"2","reason":"unreadable"}]}`}
	check.Is(t, cmp.Diff(want, *details), "")
}
