// Package runtime starts a function, and is what lies around each of its invocations.
//
// A function's main is one line:
//
//	func main() { runtime.Main(newHandler) }
//
// newHandler takes from [Deps] what the function needs of its environment, and returns a [Handler].
// Nothing is created that the function does not ask for, and none of it makes a request. Deps
// collects everything that is wrong, so that one start reports all of it.
//
// [Around] is the same around a handler of a test.
package runtime

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/margin"
)

// Handler is what Lambda calls: of [Handle].
type Handler any

// Main is a function's main. It does not return.
func Main(newHandler func(*Deps) (Handler, error)) {
	slog.SetDefault(lambdacontext.NewLogger())
	handler, err := load(emitter(os.Stdout, time.Second), newHandler, time.Now)
	if err != nil {
		slog.Error("cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(handler)
}

// New is the Handler of the environment. Metrics go to out. The error joins everything that is
// wrong.
func New(out io.Writer, newHandler func(*Deps) (Handler, error)) (Handler, error) {
	return start(emitter(out, 0), newHandler)
}

// start is New, of a process whose metrics are written by the emitter.
func start(emitter *emf.Emitter, newHandler func(*Deps) (Handler, error)) (Handler, error) {
	d := newDeps(emitter)
	handler, err := newHandler(d)
	if err == nil {
		err = d.Err()
	}
	return handler, err
}

// Headroom is that of a function whose answer takes no longer: see [Handle].
const Headroom = time.Second

// Handle is the Handler of a function, which needs so much headroom: its context ends so long
// before Lambda ends the invocation, so that it answers for everything it has done. The metrics are
// the invocation's.
func Handle[In, Out any](d *Deps, headroom time.Duration,
	handle func(context.Context, *emf.Metrics, In) (Out, error)) Handler {
	return around(d.emitter, headroom, handle, d.after...)
}

// afterTime is how long what comes after a handler may take, and answerTime what it leaves of the
// invocation, for the answer. Both are within the least headroom that a function has, a second.
const afterTime, answerTime = 500 * time.Millisecond, 200 * time.Millisecond

// Around returns what Lambda calls, as [Handle] does. Metrics go to out. Each of after is called at
// the end, all of them side by side, in a context that ends before Lambda ends the invocation; none
// where no time is left.
func Around[In, Out any](
	out io.Writer, headroom time.Duration, handle func(context.Context, *emf.Metrics, In) (Out, error),
	after ...func(context.Context, *emf.Metrics),
) func(context.Context, In) (Out, error) {
	return around(emitter(out, 0), headroom, handle, after...)
}

// emitter writes metrics to out under the names of the environment.
func emitter(out io.Writer, gather time.Duration) *emf.Emitter {
	return emf.New(out, emf.Names{
		Namespace: os.Getenv("POWERTOOLS_METRICS_NAMESPACE"),
		Service:   os.Getenv("POWERTOOLS_SERVICE_NAME"),
		Function:  os.Getenv("AWS_LAMBDA_FUNCTION_NAME"),
		Gather:    gather,
	})
}

func around[In, Out any](
	emitter *emf.Emitter, headroom time.Duration,
	handle func(context.Context, *emf.Metrics, In) (Out, error),
	after ...func(context.Context, *emf.Metrics),
) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, event In) (Out, error) {
		metrics := emitter.Begin()
		defer metrics.End()
		defer func() {
			end := time.Now().Add(afterTime)
			if deadline, ok := ctx.Deadline(); ok && deadline.Add(-answerTime).Before(end) {
				end = deadline.Add(-answerTime)
			}
			ctx, cancel := context.WithDeadline(ctx, end)
			defer cancel()
			if ctx.Err() == nil {
				fanout.SideBySide(len(after), func(i int) { after[i](ctx, metrics) })
			}
		}()
		within, cancel := margin.Keep(ctx, headroom)
		defer cancel()
		return handle(within, metrics, event)
	}
}

// IsBatch reports whether an event is a batch of records of a source of AWS, such as aws:sqs.
func IsBatch(event json.RawMessage, source string) bool {
	var batch struct {
		Records []struct {
			EventSource string `json:"eventSource"`
		}
	}
	if json.Unmarshal(event, &batch) != nil {
		return false
	}
	for _, record := range batch.Records {
		if record.EventSource != source {
			return false
		}
	}
	return len(batch.Records) > 0
}
