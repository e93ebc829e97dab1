package sink

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/internal/sink/sinktest"
)

// answering is a transport of which each request is answered so.
type answering func() (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return a()
}

func says(status int, header, body string) answering {
	return func() (*http.Response, error) {
		h := http.Header{}
		if name, value, some := strings.Cut(header, ": "); some {
			h.Set(name, value)
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

// TestAway: what a service says of itself is distinguished from what it says of a message, as it is
// written on the wire.
func TestAway(t *testing.T) {
	refused := answering(func() (*http.Response, error) { return nil, errors.New("connection refused") })
	const snsFailed = `<PublishBatchResponse><PublishBatchResult><Failed><member><Id>0</Id><Code>Throttled</Code><SenderFault>false</SenderFault></member></Failed></PublishBatchResult></PublishBatchResponse>`
	lambda, sqs, sns, bus := set{Kind: "lambda", ARN: functionARN}, wires[0], wires[1], wires[2]
	for name, c := range map[string]struct {
		sink   set
		answer answering
		away   bool
	}{
		"lambda, not reachable":      {lambda, refused, true},
		"lambda, throttled":          {lambda, says(429, "X-Amzn-Errortype: TooManyRequestsException:http://x", `{"Reason":"ReservedFunctionConcurrentInvocationLimitExceeded"}`), true},
		"lambda, a fault":            {lambda, says(500, "X-Amzn-Errortype: ServiceException", `{}`), true},
		"lambda, the function fails": {lambda, says(200, "X-Amz-Function-Error: Unhandled", `{"errorType":"TooManyRequestsException","errorMessage":"429"}`), false},
		"lambda, no such function":   {lambda, says(404, "X-Amzn-Errortype: ResourceNotFoundException", `{}`), false},
		"sqs, not reachable":         {sqs, refused, true},
		"sqs, throttled":             {sqs, says(400, "", `{"__type":"com.amazonaws.sqs#RequestThrottled"}`), true},
		"sqs, an entry by a fault":   {sqs, says(200, "", `{"Failed":[{"Id":"0","Code":"InternalError","SenderFault":false}]}`), true},
		"sqs, an entry for good":     {sqs, says(200, "", `{"Failed":[{"Id":"0","Code":"InvalidMessageContents","SenderFault":true}]}`), false},
		"sqs, no verdict":            {sqs, says(200, "", `{}`), false},
		"sqs, no such queue":         {sqs, says(400, "", `{"__type":"com.amazonaws.sqs#QueueDoesNotExist"}`), false},
		"sns, throttled":             {sns, says(400, "", `<ErrorResponse><Error><Code>Throttled</Code></Error></ErrorResponse>`), true},
		"sns, an entry is throttled": {sns, says(200, "", snsFailed), true},
		"sns, no permission":         {sns, says(403, "", `<ErrorResponse><Error><Code>AuthorizationError</Code></Error></ErrorResponse>`), false},
		"bus, throttled":             {bus, says(400, "", `{"__type":"ThrottlingException"}`), true},
		"bus, an entry is throttled": {bus, says(200, "", `{"FailedEntryCount":1,"Entries":[{"ErrorCode":"ThrottlingException"}]}`), true},
		"bus, an entry by a fault":   {bus, says(200, "", `{"FailedEntryCount":1,"Entries":[{"ErrorCode":"InternalFailure"}]}`), true},
		"bus, an entry for good":     {bus, says(200, "", `{"FailedEntryCount":1,"Entries":[{"ErrorCode":"MalformedDetail"}]}`), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := c.sink.open(t, c.answer).Send(t.Context(), sinktest.Batch("q", "1"))
				if err == nil || kind.IsAway(err) != c.away {
					t.Errorf("error %v; is the sink away: %v, want %v", err, kind.IsAway(err), c.away)
				}
			})
		})
	}
}

// TestCalled: an error says what was called, and the id under which the function's log has the call.
func TestCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := answering(func() (*http.Response, error) {
			a, err := says(200, "X-Amz-Function-Error: Unhandled", `{"errorType":"E","errorMessage":"no"}`)()
			a.Header.Set("X-Amzn-Requestid", "r-1")
			return a, err
		})
		err := set{Kind: "lambda", ARN: functionARN}.open(t, failed).Send(t.Context(), sinktest.Batch("q", "1"))
		var called interface{ Called() (by, id string) }
		check.Need(t, errors.As(err, &called), "error %v", err)
		if by, id := called.Called(); by != functionARN || id != "r-1" {
			t.Errorf("it says %q, %q", by, id)
		}
	})
}
