package runtime

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/streamsort/streamsort/internal/assetfile"
	"github.com/streamsort/streamsort/internal/emf"
)

// lookEvery is how often a process looks whether the files of its configuration have changed.
const lookEvery = time.Minute

// renewed is a handler whose configuration is in a bucket: it is created again when a file has
// changed. A file that is wrong is logged, and what was there before stays: only a process that
// starts fails by it.
type renewed struct {
	lambda.Handler
	make   func() (lambda.Handler, error)
	looked time.Time
	now    func() time.Time
}

// load is the handler of the environment: one that is renewed, where a bucket has the
// configuration.
func load(out *emf.Emitter, newHandler func(*Deps) (Handler, error),
	now func() time.Time) (Handler, error) {
	handler, err := start(out, newHandler)
	if err != nil || os.Getenv(assetfile.Variable) == "" {
		return handler, err
	}
	return &renewed{Handler: lambda.NewHandler(handler), make: func() (lambda.Handler, error) {
		handler, err := start(out, newHandler)
		return lambda.NewHandler(handler), err
	}, looked: now(), now: now}, nil
}

// Invoke implements lambda.Handler. Lambda calls it once at a time.
func (r *renewed) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	if now := r.now(); now.Sub(r.looked) >= lookEvery {
		r.looked = now
		r.look(ctx)
	}
	return r.Handler.Invoke(ctx, payload)
}

func (r *renewed) look(ctx context.Context) {
	changed, err := assetfile.Changed(ctx)
	if err != nil {
		slog.WarnContext(ctx, "the configuration cannot be read: what was read before stays", "error",
			err)
	}
	if !changed {
		return
	}
	handler, err := r.make()
	if err != nil {
		slog.ErrorContext(ctx, "the new configuration is wrong: what was read before stays until this process ends", "error", err)
		return
	}
	slog.InfoContext(ctx, "the configuration has changed, and was read")
	r.Handler = handler
}
