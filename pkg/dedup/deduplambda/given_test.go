package deduplambda_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/dedup"
	"github.com/streamsort/streamsort/pkg/dedup/deduplambda"
)

type options = dedup.Options[string, string]

var errDown = errors.New("down")

func process(t testing.TB, store dedup.Store, o *options) *dedup.Deduplicator[string, string] {
	t.Helper()
	return check.Get(dedup.New(store, "payments", o))
}

// as fails the test unless the error is an E.
func as[E error](t testing.TB, err error) E {
	t.Helper()
	var want E
	check.Need(t, errors.As(err, &want), "error %v (%T), want a %T", err, err, want)
	return want
}

// isA is as for a test that needs no more of the error.
func isA[E error](t testing.TB, err error) {
	t.Helper()
	_ = as[E](t, err)
}

// incompressible is a text of n bytes that zstd cannot make much shorter.
func incompressible(n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	random := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, n)
	for i := range text {
		text[i] = letters[random.IntN(len(letters))]
	}
	return string(text)
}

// TestNothingGiven: what must be given and is nil is an error that names it.
func TestNothingGiven(t *testing.T) {
	field := func(want string, err error) {
		t.Helper()
		check.Is(t, as[*dedup.InvalidError](t, err).Field, want)
	}
	ctx, d := t.Context(), process(t, dedup.NewMemory(), nil)
	id := func(s string) (string, error) { return s, nil }
	handle := func(_ context.Context, s string) (string, error) { return s, nil }
	var zero dedup.Deduplicator[string, string]
	for _, none := range []*dedup.Deduplicator[string, string]{nil, &zero} {
		field("deduplicator",
			check.Err(deduplambda.Handler(none, id, handle,
				&deduplambda.HandlerOptions[string]{MissingKey: deduplambda.RunUnprotected})(ctx, "")))
		field("deduplicator",
			check.Err(deduplambda.OnSQS(none, deduplambda.MessageID,
				func(context.Context, events.SQSMessage) (string, error) {
					return "", nil
				})(ctx, events.SQSEvent{Records: []events.SQSMessage{{}}})))
	}
	_, err := deduplambda.HTTPv2(nil,
		func(context.Context,
			events.APIGatewayV2HTTPRequest) (r events.APIGatewayV2HTTPResponse, err error) {
			return
		}, &deduplambda.HTTPOptions{MissingKey: deduplambda.RunUnprotected})(ctx, post("", "/", ""))
	field("deduplicator", err)

	field("key or handler", check.Err(deduplambda.Handler[string, string](d, id, nil, nil)(ctx, "a")))
	field("id or handler",
		check.Err(deduplambda.OnSQS[string, string](d, nil, nil)(ctx,
			events.SQSEvent{Records: []events.SQSMessage{{}}})))
	_, err = deduplambda.HTTPv2(web(t, dedup.NewMemory(), nil), nil, nil)(ctx, post("k", "/", ""))
	field("handler", err)
	field("handler",
		check.Err(deduplambda.HTTPv1(web(t, dedup.NewMemory(), nil), nil, nil)(ctx,
			events.APIGatewayProxyRequest{})))
	field("handler",
		check.Err(deduplambda.FunctionURL(web(t, dedup.NewMemory(), nil), nil, nil)(ctx,
			events.LambdaFunctionURLRequest{})))
}

// foreign are errors of another Deduplicator, as an effect returns them that uses one.
func foreign() map[string]error {
	key := dedup.Key{ID: "elsewhere", Processor: "other"}
	all := map[string]error{
		"not remembered": &dedup.NotRememberedError{Key: key, Err: dedup.ErrThrottled},
		"invalid result": &dedup.InvalidError{Field: "result", Problem: "cannot be encoded"},
		"invalid id":     &dedup.InvalidError{Field: "id", Problem: "must not be empty"},
		"still running":  &dedup.StillRunningError{Key: key, Until: time.Now().Add(time.Hour)},
		"another's":      &dedup.PayloadMismatchError{Key: key},
		"quarantined":    &dedup.QuarantinedError{Key: key, Attempts: 3},
		"lost":           &dedup.LostError{Key: key, Attempt: 1},
		"remembered":     &dedup.RememberedError{Key: key, Message: "no such account"},
		"forgotten":      &dedup.ForgetError{Reason: "status 502"},
		"omitted":        &deduplambda.OmittedError{Key: key},
		"throttled":      dedup.ErrThrottled,
		"no time":        dedup.ErrNoTime,
		"ended":          dedup.ErrEnded,
	}
	for _, name := range []string{"not remembered", "still running", "lost", "throttled", "ended"} {
		all[name+", wrapped"] = fmt.Errorf("charge: %w", all[name])
	}
	return all
}

// TestErrorsOfAnotherDeduplicator: an effect that uses one and returns its error has failed, and
// nothing is taken for an error of this one.
func TestErrorsOfAnotherDeduplicator(t *testing.T) {
	for name, foreign := range foreign() {
		t.Run(name, func(t *testing.T) {
			d := process(t, dedup.NewMemory(), nil)
			identity := func(s string) (string, error) { return s, nil }
			fails := func(context.Context, string) (string, error) { return "not mine", foreign }
			for range 2 {
				out, err := deduplambda.Handler(d, identity, fails, nil)(t.Context(), "b")
				check.That(t, out == "" && errors.Is(err, foreign), "Handler: %q, %v", out, err)
			}
			onQueue := deduplambda.OnSQS(d, deduplambda.MessageID,
				func(context.Context, events.SQSMessage) (string, error) {
					return "", foreign
				})
			batch := events.SQSEvent{Records: []events.SQSMessage{{MessageId: "1"}}}
			check.Is(t, len(check.Get(onQueue(t.Context(), batch)).BatchItemFailures), 1)
			onHTTP := deduplambda.HTTPv2(web(t, dedup.NewMemory(), nil),
				func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
					return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusTeapot}, foreign
				}, nil)
			if got, err := onHTTP(t.Context(), post("k", "/", "")); got.StatusCode != 0 ||
				!errors.Is(err, foreign) {
				t.Errorf("HTTPv2: %d, %v", got.StatusCode, err)
			}
		})
	}
}
