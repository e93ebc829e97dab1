package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/traffic"
)

// shopMessages is how many messages go through the user's own stack.
const shopMessages = 20

// shop deploys examples/shop, a CDK app of a user's own in a module of its own, and looks that its
// function gets every message in order. Its queue gets none: the server asks for a right to
// sqs:SendMessageBatch, an action that IAM does not have.
func (t *deployment) shop(ctx context.Context) {
	folder, app := filepath.Join(t.Root, "examples", "shop"), filepath.Join(t.built, "shop")
	check.Get(execute(ctx, folder, nil, "go", "build", "-o", app, "."))
	assembly := t.assembly("shop")
	check.Must(t.runCDK(ctx, folder, "synth", "--quiet", "--app", app, "--output", assembly,
		"-c", "architecture="+runtime.GOARCH, "-c", "try=true", "-c",
		"binaries="+filepath.Join(t.built, "shop-dist")))
	outputs := check.Get(t.deployStack(ctx, assembly, "Shop"))
	orders := door{put: t.client(outputs["OrdersUrl"], "execute-api").Put}
	for seq := shopMessages; seq > 0; seq-- {
		document := fmt.Appendf(nil, `{"queue":"shop","seq":%d,"body":{"order":%d}}`, seq, seq)
		check.Must(t.send(ctx, orders, []traffic.Message{{Document: document}}))
	}
	check.Must(t.wait(shopMessages, "messages are booked").Until(ctx,
		func(ctx context.Context) (int, string, error) {
			booked, err := t.booked(ctx, outputs["BooksName"])
			return booked, "", err
		}))
	t.Print("%d messages, backwards, came to its function in order", shopMessages)
	check.Must(t.runCDK(ctx, "", "destroy", "--force", "--app", assembly))
}

// booked is how many messages the shop's function has logged. They must be in order.
func (t *deployment) booked(ctx context.Context, function string) (last int, err error) {
	lines, err := t.log(ctx, function)
	for _, text := range lines {
		var line struct {
			Message string
			Seq     int
		}
		at := strings.Index(text, "{")
		if at < 0 || json.Unmarshal([]byte(text[at:]), &line) != nil || line.Message != "booked" {
			continue
		}
		if last++; line.Seq != last {
			return 0, fmt.Errorf("message %d came as number %d", line.Seq, last)
		}
	}
	return last, err
}
