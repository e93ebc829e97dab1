package dedup

import (
	"context"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// Each runs handle once for each item, one after the other, and stops at the
// first that fails. It returns how many are done, of this call and of earlier
// ones, and the error of the one that is not. It is for batches in order: those
// of a stream, and those that are handed on in order. A batch that is delivered
// again skips what is done.
func Each[T, ID, R any](ctx context.Context, d *Deduplicator[ID, R], items []T, id func(T) (ID, error), handle func(context.Context, T) (R, error)) (int, error) {
	if err := wired(d, id != nil && handle != nil); err != nil {
		return 0, err
	}
	for done, item := range items {
		if err := one(ctx, d, item, id, handle); err != nil {
			return done, err
		}
	}
	return len(items), nil
}

// wired reports a batch handler that can handle nothing.
func wired[ID, R any](d *Deduplicator[ID, R], given bool) error {
	if !given {
		return missing("id or handler")
	}
	return d.made()
}

// one runs handle once for an item. An item that ran and could not be remembered
// is done: if it came again, it would run again.
func one[T, ID, R any](ctx context.Context, d *Deduplicator[ID, R], item T, id func(T) (ID, error), handle func(context.Context, T) (R, error)) error {
	var how ending
	key, err := id(item)
	if err == nil {
		_, how, err = d.once(ctx, key, func(ctx context.Context) (R, error) { return handle(ctx, item) }, nil)
	}
	switch {
	case err == nil:
	case how == unkept:
		d.options.Logger.WarnContext(ctx, "item not remembered", "processor", d.processor, "error", err)
		return nil
	default:
		d.options.Logger.WarnContext(ctx, "item failed", "processor", d.processor, "error", err)
	}
	return err
}

// OnSQS is a handler of a queue's messages: each runs once by its id, such as
// [MessageID]. Those that fail come again; in a FIFO queue, as eventSourceARN
// says, the later ones of their group do too, without being tried. The event
// source mapping must report batch item failures.
func OnSQS[ID, R any](d *Deduplicator[ID, R], id func(events.SQSMessage) (ID, error), handle func(context.Context, events.SQSMessage) (R, error)) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		var response events.SQSEventResponse
		if err := wired(d, id != nil && handle != nil); err != nil {
			return response, err
		}
		failed := map[string]bool{}
		for _, message := range event.Records {
			group, inOrder := orderOf(message)
			if failed[group] || one(ctx, d, message, id, handle) != nil {
				failed[group] = inOrder
				response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: message.MessageId})
			}
		}
		return response, nil
	}
}

// orderOf is the group of a message whose queue keeps the order of groups. A
// standard queue keeps none, also where its messages have groups (for fairness).
func orderOf(message events.SQSMessage) (group string, inOrder bool) {
	if !strings.HasSuffix(message.EventSourceARN, ".fifo") {
		return "", false
	}
	return message.Attributes["MessageGroupId"], true
}

// MessageID is the id of a message of SQS. Two sendings of the same thing have
// two: take an id of the message's own where its sender repeats itself.
func MessageID(message events.SQSMessage) (string, error) { return message.MessageId, nil }

// OnDynamoDB is a handler of a table's stream: each record runs once by its id,
// such as [EventID], in order; from the first that fails on they come again.
// The event source mapping must report batch item failures.
func OnDynamoDB[ID, R any](d *Deduplicator[ID, R], id func(events.DynamoDBEventRecord) (ID, error), handle func(context.Context, events.DynamoDBEventRecord) (R, error)) func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
	return func(ctx context.Context, event events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
		var response events.DynamoDBEventResponse
		if err := wired(d, id != nil && handle != nil); err != nil {
			return response, err
		}
		if done, err := Each(ctx, d, event.Records, id, handle); err != nil {
			response.BatchItemFailures = []events.DynamoDBBatchItemFailure{{ItemIdentifier: event.Records[done].Change.SequenceNumber}}
		}
		return response, nil
	}
}

// EventID is the id of a record of a table's stream.
func EventID(record events.DynamoDBEventRecord) (string, error) { return record.EventID, nil }

// OnKinesis is [OnDynamoDB] for a Kinesis stream.
func OnKinesis[ID, R any](d *Deduplicator[ID, R], id func(events.KinesisEventRecord) (ID, error), handle func(context.Context, events.KinesisEventRecord) (R, error)) func(context.Context, events.KinesisEvent) (events.KinesisEventResponse, error) {
	return func(ctx context.Context, event events.KinesisEvent) (events.KinesisEventResponse, error) {
		var response events.KinesisEventResponse
		if err := wired(d, id != nil && handle != nil); err != nil {
			return response, err
		}
		if done, err := Each(ctx, d, event.Records, id, handle); err != nil {
			response.BatchItemFailures = []events.KinesisBatchItemFailure{{ItemIdentifier: event.Records[done].Kinesis.SequenceNumber}}
		}
		return response, nil
	}
}
