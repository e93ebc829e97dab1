package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/localstack"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// bench is what the outage is shown on.
type bench struct {
	stack  *localstack.Stack
	client *client.Client
	store  *delivery.Store
	stop   func()
}

// start starts the stack, whose process calls the sink.
func start(ctx context.Context, s schedule, to *sink, out io.Writer) (*bench, error) {
	root, err := localdb.Root()
	if err != nil {
		return nil, err
	}
	// The functions' sources are found from where the template lies.
	build := filepath.Join(root, ".build")
	if err := os.MkdirAll(build, 0o700); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(build, "outage-")
	if err != nil {
		return nil, err
	}
	lambda := httptest.NewServer(to)
	stop := func() { lambda.Close(); _ = os.RemoveAll(folder) }
	b, err := onStack(ctx, s, folder, lambda.URL, out)
	if err != nil {
		stop()
		return nil, err
	}
	b.stop = func() { b.stack.Close(); stop() }
	return b, nil
}

func onStack(ctx context.Context, s schedule, folder, lambda string, out io.Writer) (*bench, error) {
	template := filepath.Join(folder, "streamsort.patch.json")
	text, err := s.patch("../../examples/demo/streamsort.patch.json")
	if err == nil {
		err = os.WriteFile(template, text, 0o600)
	}
	if err != nil {
		return nil, err
	}
	kind := localdb.Choose()
	fmt.Fprintf(out, "==> starting %s, and the functions\n", kind)
	stack, err := localstack.Run(ctx, localstack.Config{
		Templates: []string{template},
		// No event bus here: what the sweep announces stays in its log.
		Env:    map[string]string{"STREAMSORT_EVENT_BUS": "", "ProcessFunction.AWS_ENDPOINT_URL_LAMBDA": lambda},
		Server: string(kind), Logger: slog.New(slog.DiscardHandler),
		// What fails here fails on purpose.
		Failed: func(string, string) {},
	})
	if err != nil {
		return nil, err
	}
	b := &bench{stack: stack}
	db, err := dynamo.New(&dynamo.Options{Endpoint: stack.DynamoDB()})
	if err == nil {
		b.store = delivery.NewDynamo(db, delivery.Names{Consumers: stack.Outputs()["streamsort"]["ConsumersTableName"]})
		b.client, err = client.New(stack.URL())
	}
	if err != nil {
		stack.Close()
		return nil, err
	}
	return b, nil
}
