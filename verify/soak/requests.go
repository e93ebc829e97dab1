package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/streamsort/streamsort/internal/client"
)

// announceAfter is the age of the gap from which it is announced.
const announceAfter = 5 * time.Second

// configureGap has the queue with the gap announce it soon.
func configureGap(ctx context.Context, c *client.Client) error {
	body := fmt.Sprintf(`{"queue":%q,"policy":"alert","gapAfter":%q}`, gapQueue, announceAfter)
	var answer json.RawMessage
	if err := c.Call(ctx, http.MethodPut, "/queues", nil, []byte(body), &answer); err != nil {
		return fmt.Errorf("configure queue %s: %w", gapQueue, err)
	}
	return nil
}

// consumerState is a consumer of a queue as the API shows it.
type consumerState struct {
	Consumer string `json:"consumer"`
	State    string `json:"state"`
}

// consumersOf asks for the consumers of a queue. text is the whole answer.
func consumersOf(ctx context.Context, c *client.Client, queue string) (all []consumerState, text string, err error) {
	var raw json.RawMessage
	if err := c.Call(ctx, http.MethodGet, "/consumers", url.Values{"queue": {queue}}, nil, &raw); err != nil {
		return nil, "", err
	}
	var answer struct{ Consumers []consumerState }
	err = json.Unmarshal(raw, &answer)
	return answer.Consumers, string(raw), err
}

// consumerNames are all who read each queue: those of consumers.json, and the
// function behind the stream.
var consumerNames = []string{receiver, "queue", "topic", "bus", "archive", "webhooks"}
