package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// refusing is a sink that takes no batch.
type refusing struct{ err error }

// Send implements [kind.Sink].
func (r refusing) Send(context.Context, delivery.Batch) error { return r.err }

// synctestDay is when synctest's clock starts.
var synctestDay = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// TestHanding: a message that no sink takes blocks at once, and one for whose sink it is away
// is not counted.
func TestHanding(t *testing.T) {
	for name, c := range map[string]struct {
		err      error
		state    delivery.State
		attempts int
	}{
		"too large": {&kind.TooLargeError{Kind: "sqs", Seq: 1, Bytes: 2, Limit: 1}, delivery.Blocked, 1},
		"away":      {&smithyhttp.RequestSendError{Err: context.DeadlineExceeded}, delivery.Idle, 0},
		"redirect":  {&kind.AnswerError{Status: 302}, delivery.Idle, 1},
		"final":     {&kind.AnswerError{Status: 422}, delivery.Blocked, 1},
		"busy":      {&kind.AnswerError{Status: 429, RetryAt: synctestDay.Add(20 * time.Minute)}, delivery.Idle, 0},
		"fails":     {&kind.AnswerError{Status: 500}, delivery.Idle, 1},
		"not there": {&kind.AwayError{Err: context.DeadlineExceeded}, delivery.Idle, 0},
		"refused":   {&kind.RefusedError{Kind: "sqs", Seq: 1}, delivery.Idle, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sorter := check.Get(cursor.New(cursor.NewMemory(), &cursor.Options{ForEach: fanout.OneByOne}))
				d := check.Get(delivery.New(delivery.NewMemory(), sorter, nil))
				check.OK(t, sorter.Put(t.Context(), cursor.Message{Queue: "q", Seq: 1})[0].Err)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				done := d.Deliver(ctx, "q", delivery.Reader{Name: "c", Handle: handing(refusing{c.err})}, -1)
				if done.Err != nil || done.Record.State != c.state || done.Record.Attempts != c.attempts {
					t.Errorf("%s after %d attempts, %v; want %s after %d", done.Record.State, done.Record.Attempts, done.Err, c.state, c.attempts)
				}
				if at := synctestDay.Add(20 * time.Minute); done.Record.RetryAt.Equal(at) != (name == "busy") {
					t.Errorf("it is tried again at %s; it asked for %s", done.Record.RetryAt, at)
				}
			})
		})
	}
}
