package deduplambda

import (
	"context"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/streamsort/streamsort/pkg/dedup"
)

// OnSQS is a handler of a queue's messages: each runs once by its id, such as [MessageID]. Those
// that fail come again; in a FIFO queue, as eventSourceARN says, the later ones of their group do
// too, without being tried. The event source mapping must report batch item failures.
func OnSQS[ID, R any](d *dedup.Deduplicator[ID, R], id func(events.SQSMessage) (ID, error),
	handle func(context.Context, events.SQSMessage) (R, error)) func(context.Context,
	events.SQSEvent) (events.SQSEventResponse, error) {
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		var response events.SQSEventResponse
		if _, err := dedup.Each(ctx, d, nil, id, handle); err != nil { // it can handle nothing
			return response, err
		}
		failed := map[string]bool{}
		for _, message := range event.Records {
			// Only a FIFO queue has an order to keep, that of each group.
			inOrder := strings.HasSuffix(message.EventSourceARN, ".fifo")
			group := message.Attributes["MessageGroupId"]
			done := 0
			if !failed[group] {
				done, _ = dedup.Each(ctx, d, []events.SQSMessage{message}, id, handle) // it logs why not
			}
			if done == 0 {
				failed[group] = inOrder
				response.BatchItemFailures = append(response.BatchItemFailures,
					events.SQSBatchItemFailure{ItemIdentifier: message.MessageId})
			}
		}
		return response, nil
	}
}

// MessageID is the id of a message of SQS. A message that is sent twice has two: where senders
// retry, take an id from the message's body.
func MessageID(message events.SQSMessage) (string, error) { return message.MessageId, nil }
