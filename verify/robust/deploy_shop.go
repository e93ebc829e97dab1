package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/dev/progress"
	"github.com/streamsort/streamsort/localstack/ministack"
)

// shopMessages is how many messages go through the user's own stack.
const shopMessages = 20

// shop deploys examples/shop, a CDK app of a user's own in a module of its own, and looks that its
// function gets every message in order. Its queue gets none: the server asks for a right to
// sqs:SendMessageBatch, an action that IAM does not have.
func (t *trial) shop(ctx context.Context) error {
	folder, app := filepath.Join(t.root, "examples", "shop"), filepath.Join(t.built, "shop")
	if _, err := execute(ctx, folder, nil, "go", "build", "-o", app, "."); err != nil {
		return err
	}
	assembly := t.assembly("shop")
	if err := t.runCDK(ctx, folder, t.asRoot(), "synth", "--quiet", "--app", app, "--output", assembly,
		"-c", "architecture="+runtime.GOARCH, "-c", "try=true", "-c", "binaries="+filepath.Join(t.built, "shop-dist")); err != nil {
		return err
	}
	outputs, err := t.deployStack(ctx, assembly, "Shop")
	if err != nil {
		return err
	}
	if err := t.sendToShop(ctx, outputs["OrdersUrl"]); err != nil {
		return err
	}
	wait := progress.Wait{
		Total: shopMessages, What: "messages are booked", Patience: time.Minute, Out: t.out,
	}
	if err := wait.Until(ctx, func(ctx context.Context) (int, string, error) {
		booked, err := t.booked(ctx, outputs["BooksName"])
		return booked, "", err
	}); err != nil {
		return err
	}
	t.print("%d messages, backwards, came to its function in order", shopMessages)
	return t.runCDK(ctx, "", t.asRoot(), "destroy", "--force", "--app", assembly)
}

// sendToShop puts the messages of one queue, the last one first.
func (t *trial) sendToShop(ctx context.Context, address string) error {
	c := t.client(address, "execute-api")
	for seq := shopMessages; seq > 0; seq-- {
		outcomes, err := c.Put(ctx, []json.RawMessage{json.RawMessage(fmt.Sprintf(`{"queue":"shop","seq":%d,"body":{"order":%d}}`, seq, seq))})
		if err != nil {
			return err
		}
		if outcomes[0].Status >= 300 {
			return fmt.Errorf("message %d: %+v", seq, outcomes[0])
		}
	}
	return nil
}

// booked is how many messages the shop's function has logged. They must be in order.
func (t *trial) booked(ctx context.Context, function string) (int, error) {
	var page struct{ Events []struct{ Message string } }
	err := t.server.JSON(ctx, "logs", "Logs_20140328.FilterLogEvents", map[string]string{"logGroupName": "/aws/lambda/" + function}, &page)
	if ministack.NoResource(err) {
		return 0, nil // Lambda makes the group with the first line
	}
	last := 0
	for _, e := range page.Events {
		var line struct {
			Message string
			Seq     int
		}
		at := strings.Index(e.Message, "{")
		if at < 0 || json.Unmarshal([]byte(e.Message[at:]), &line) != nil || line.Message != "booked" {
			continue
		}
		if line.Seq != last+1 {
			return 0, fmt.Errorf("message %d came after %d", line.Seq, last)
		}
		last = line.Seq
	}
	return last, err
}
