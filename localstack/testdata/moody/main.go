// Moody is a consumer behind the cursors' stream that fails as the names of its queues say: it
// refuses each batch of "retry/…" twice, its process dies with the first one of "die/…", and it
// takes all others; a second one, "slowly", has a window for "window/…". It logs what it is given, with the time in ms; and each message that has a key.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/settings"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/timer"
)

func handle(_ context.Context, batch handoff.Batch) error {
	fmt.Println("given", batch.Queue, batch.To, batch.Attempt, time.Now().UnixMilli())
	for _, m := range batch.Messages {
		if m.Key != "" {
			fmt.Println("sorted", m.Queue, m.Seq, m.Key, m.Late, m.ID, time.Now().UnixMilli())
		}
	}
	switch {
	case strings.HasPrefix(batch.Queue, "die/") && batch.Attempt == 1:
		os.Exit(1)
	case strings.HasPrefix(batch.Queue, "retry/") && batch.Attempt < 3:
		return errors.New("not now")
	}
	return nil
}

// gathered takes all batches of "window/…", and logs their last seqs for attempts.
func gathered(_ context.Context, batch handoff.Batch) error {
	fmt.Println("given", "slowly/"+batch.Queue, batch.To, batch.To, time.Now().UnixMilli())
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	s, err := settings.FromEnvironment()
	if err != nil {
		return err
	}
	client, err := dynamo.New(nil)
	if err != nil {
		return err
	}
	deliverer, _, err := s.NewDeliverer(client, nil, nil)
	if err != nil {
		return err
	}
	handler, err := handoff.OnStream(deliverer, s.Names,
		handoff.Reader{Name: "moody", Handle: handle, Circuit: handoff.Circuit{Off: true}},
		handoff.Reader{Name: "slowly", Handle: gathered, Prefix: "window/", BatchWindow: 2 * time.Second})
	if err != nil {
		return err
	}
	lambda.Start(timer.Flushing(s.Timer, handler))
	return nil
}
