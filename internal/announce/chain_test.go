package announce_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/announce"
	"github.com/streamsort/streamsort/pkg/xorack"
)

func failedChain() xorack.Chain {
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return xorack.Chain{
		Tag: "night run", Incarnation: xorack.Incarnation{1}, Edges: 3, Ops: []xorack.Op{{1}}, Created: created,
		Recorded: xorack.Failed, Reason: "disk full", LastOp: xorack.Op{2}, EndedAt: created.Add(90 * time.Second),
	}
}

func wantChain() string {
	return `{"id":"` + failedChain().EventID() + `","kind":"chain.failed","tag":"night run","outcome":"FAILED","reason":"disk full",` +
		`"operation":"0200000000000000","edges":3,"edgesEnded":1,"createdAt":"2026-01-02T03:04:05Z","endedAt":"2026-01-02T03:05:35Z","ageSeconds":90}`
}

func TestAnnounceAChain(t *testing.T) {
	details := bus(t, `{"FailedEntryCount":0,"Entries":[{"EventId":"1"}]}`)
	a, err := announce.New("people", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Chain(t.Context(), failedChain()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"people streamsort chain.failed " + wantChain()}, *details); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestAnnounceAChainToAFunction(t *testing.T) {
	const function = "arn:aws:lambda:us-east-1:123456789012:function:ends:live"
	status, asked := http.StatusAccepted, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		asked = r.Header.Get("X-Amz-Invocation-Type") + " " + r.URL.Path + " " + string(raw)
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL_LAMBDA", server.URL)
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	f, err := announce.NewFunction(function)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Chain(t.Context(), failedChain()); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(asked, "Event /2015-03-31/functions/arn:aws:lambda") || !strings.HasSuffix(asked, wantChain()) {
		t.Errorf("invoked with %s", asked)
	}
	status = http.StatusForbidden
	if err := f.Chain(t.Context(), failedChain()); err == nil || !strings.Contains(err.Error(), function) {
		t.Errorf("refused: %v", err)
	}
	for _, wrong := range []string{"ends", "arn:aws:sns:us-east-1:123456789012:ends", "arn:aws:lambda:us-east-1:123456789012:layer:ends"} {
		if _, err := announce.NewFunction(wrong); err == nil {
			t.Errorf("%s: no error", wrong)
		}
	}
}

func TestEndsAreToldToEverybody(t *testing.T) {
	details := bus(t, `{"FailedEntryCount":0,"Entries":[{"EventId":"1"}]}`)
	for function, invocations := range map[string]int{"": 0, "arn:aws:lambda:us-east-1:123456789012:function:ends": 1} {
		invoked := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			invoked++
			w.WriteHeader(http.StatusAccepted)
		}))
		defer server.Close()
		t.Setenv("AWS_ENDPOINT_URL_LAMBDA", server.URL)
		*details = nil
		tell, err := announce.Ends("people", "", function)
		if err != nil {
			t.Fatal(err)
		}
		if err := tell(t.Context(), failedChain()); err != nil || len(*details) != 1 || invoked != invocations {
			t.Errorf("%q: %v, events %v, %d invocations", function, err, *details, invoked)
		}
	}
	if _, err := announce.Ends("", "", "ends"); err == nil || !strings.Contains(err.Error(), "arn:aws:lambda") {
		t.Errorf("a function that is none: %v", err)
	}
}
