package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/streamsort/streamsort/localstack/template"
)

// InvokeAsync takes a request and answers at once; the request runs behind. One that fails is tried
// again, and in the end goes to the function's OnFailure ("How Lambda handles errors and retries
// with asynchronous invocation", AWS Lambda Developer Guide). What is still waiting when the
// service is closed is lost.
func (s *Service) InvokeAsync(r Request) error {
	f, err := s.check(&r, MaxAsyncPayload)
	if err != nil {
		return err
	}
	if !s.begin() {
		return ErrClosed
	}
	go func() {
		defer s.work.Done()
		last, attempts, condition := tryAsync(s.ctx, s.config.AsyncRetry, f.Async.Retries, f.Async.MaxAge,
			func() (Response, error) {
				return s.Invoke(s.ctx, r)
			})
		if condition != "" && f.Async.OnFailure != "" {
			s.config.OnFailure(f.Async.OnFailure, failureRecord(f, r, last, attempts, condition))
		}
	}()
	return nil
}

// tryAsync invokes until the function succeeds, the retries are used up, the request is too old, or
// ctx ends. A failed function waits for the time retry before the second attempt and for twice that
// before the third; a throttled one waits from one second, doubling, to five minutes, and uses up
// no retry. condition is empty on success or when ctx ended.
func tryAsync(ctx context.Context, retry time.Duration, retries int, maxAge time.Duration,
	invoke func() (Response, error)) (last Response, attempts int, condition string) {
	begun := time.Now()
	throttled := time.Second
	for {
		var wait time.Duration
		response, err := invoke()
		switch {
		case ctx.Err() != nil:
			return response, attempts, ""
		case errors.Is(err, ErrThrottled):
			wait = throttled
			throttled = min(2*throttled, 5*time.Minute)
		case err == nil && response.FunctionError == "":
			return response, attempts + 1, ""
		default:
			attempts++
			last = response
			if attempts > retries {
				return last, attempts, "RetriesExhausted"
			}
			wait = time.Duration(attempts) * retry
		}
		if time.Since(begun)+wait > maxAge {
			return last, attempts, "EventAgeExceeded"
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return last, attempts, ""
		}
	}
}

// failureRecord is the invocation record that Lambda sends to an on-failure destination ("Capturing
// records of Lambda asynchronous invocations", AWS Lambda Developer Guide).
func failureRecord(f *function, r Request, last Response, attempts int, condition string) []byte {
	record := map[string]any{
		"version":   "1.0",
		"timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
		"requestContext": map[string]any{
			"requestId": last.RequestID, "functionArn": template.FunctionARN(f.Name) + ":$LATEST",
			"condition": condition, "approximateInvokeCount": attempts,
		},
		"requestPayload":  json.RawMessage(r.Payload),
		"responseContext": map[string]any{"statusCode": 200, "executedVersion": "$LATEST", "functionError": last.FunctionError},
	}
	if json.Valid(last.Payload) {
		record["responsePayload"] = json.RawMessage(last.Payload)
	}
	text, _ := json.Marshal(record)
	return text
}
