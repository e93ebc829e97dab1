// Package faulty is a network on which one request goes wrong: a [Transport] lets requests pass,
// and treats the one that was asked for ([Transport.Fail]) as its [Fault] says. It shows what the
// code above does with a real server behind it.
package faulty

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
)

// Fault is how a request goes wrong.
type Fault string

const (
	// Refused: the server answers 500, and did nothing.
	Refused Fault = "500"
	// Throttled: the server answers that there were too many requests, and did nothing.
	Throttled Fault = "throttled"
	// Lost: the request takes effect, and the connection breaks before the response comes.
	Lost Fault = "response lost"
	// Failed: the request takes effect, and the server answers 500.
	Failed Fault = "500 after the effect"
	// TimedOut: the request takes effect, and the response comes too late: the error is one that
	// the end of a context has as well, as that of http.Client is.
	TimedOut Fault = "time-out"
	// Repeated: the request takes effect, its response is lost, and the very same request comes
	// again, as the SDK makes it do; only the second response arrives. The client does not wait in
	// between, as the SDK does.
	Repeated Fault = "response lost, repeated"
)

var errBroken = errors.New("connection reset")

// Transport is an http.RoundTripper. It may be used by any number of goroutines.
type Transport struct {
	next http.RoundTripper
	Nth[Fault]
}

// New returns a Transport in front of another one, on which nothing goes wrong yet.
func New(next http.RoundTripper) *Transport { return &Transport{next: next} }

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	fault := t.Due()
	switch fault {
	case Refused:
		return answer(request, http.StatusInternalServerError, "InternalServerError"), nil
	case Throttled:
		return answer(request, http.StatusBadRequest, "ThrottlingException"), nil
	}
	var again *http.Request
	if fault == Repeated {
		var err error
		if again, err = copied(request); err != nil {
			return nil, err
		}
	}
	response, err := t.next.RoundTrip(request)
	if err != nil || fault == "" {
		return response, err
	}
	// The effect is certain only once the whole response was there.
	_, err = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	switch {
	case err != nil:
		return nil, err
	case fault == Repeated:
		return t.next.RoundTrip(again)
	case fault == Failed:
		return answer(request, http.StatusInternalServerError, "InternalServerError"), nil
	case fault == TimedOut:
		return nil, context.DeadlineExceeded
	}
	return nil, errBroken
}

// copied is the same request once more; the first one can still be sent.
func copied(request *http.Request) (*http.Request, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	_ = request.Body.Close()
	request.Body = io.NopCloser(bytes.NewReader(body))
	again := request.Clone(request.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	return again, nil
}

func answer(request *http.Request, status int, kind string) *http.Response {
	if request.Body != nil {
		_ = request.Body.Close()
	}
	body := `{"__type":"com.amazonaws.dynamodb.v20120810#` + kind + `","message":"injected"}`
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1",
		ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Request: request,
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}
