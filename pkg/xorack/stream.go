package xorack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dynamo"
)

// StreamEvent is what Lambda hands to a function behind a DynamoDB stream.
// Records are decoded one by one, so that a record that cannot be read fails
// alone.
type StreamEvent struct {
	Records []json.RawMessage `json:"Records"`
}

// streamRecord is the part of a record that is read here.
type streamRecord struct {
	EventName string `json:"eventName"`
	Change    struct {
		SequenceNumber string          `json:"SequenceNumber"`
		NewImage       json.RawMessage `json:"NewImage"`
	} `json:"dynamodb"`
}

var errNoImage = errors.New("has no new image: the chains' stream must show NEW_IMAGE or NEW_AND_OLD_IMAGES")

// ChainOf is the chain as a record of the table's stream shows it; the zero
// Chain for the record of a deletion.
func ChainOf(raw json.RawMessage, names Names) (Chain, error) {
	var record streamRecord
	if err := json.Unmarshal(raw, &record); err != nil {
		return Chain{}, fmt.Errorf("stream record: %w", err)
	}
	if record.EventName == "REMOVE" {
		return Chain{}, nil
	}
	inRecord := func(err error) error {
		return fmt.Errorf("stream record %s: %w", record.Change.SequenceNumber, err)
	}
	if len(record.Change.NewImage) == 0 || string(record.Change.NewImage) == "null" {
		return Chain{}, inRecord(errNoImage)
	}
	image, err := attributevalue.UnmarshalMapJSON(record.Change.NewImage)
	if err != nil {
		return Chain{}, inRecord(err)
	}
	c, err := decodeChain(dynamo.FromSDK(image), ddb.Path(names.withDefaults().TagKey))
	if err != nil {
		return Chain{}, inRecord(err)
	}
	return c, nil
}

// OnEndsOptions are what a handler of the chains' stream tells of its work. A nil
// OnEndsOptions means nobody is told.
type OnEndsOptions struct {
	// Finished is told of each chain that this call sealed; nil means nobody.
	Finished func(Chain)
	// Failed is told why a record failed; nil means nobody.
	Failed func(error)
}

// OnEnds returns the handler for the stream of the chains' table: it finishes
// every chain that a record shows as ended ([Acker.Finish]).
//
// A record that fails keeps no other of the batch back; the batch is repeated
// from the first of them on, which does no harm. The event source mapping must
// have ReportBatchItemFailures on. It need see only records of chains that are
// due and have ended; in its filter, either of
//
//	{"dynamodb": {"NewImage": {"due": {"N": [{"exists": true}]}, "st": {"S": [{"exists": true}]}}}}
//	{"dynamodb": {"NewImage": {"due": {"N": [{"exists": true}]}, "created": {"N": [{"exists": true}]}, "n": {"N": ["0"]}}}}
//
// What that leaves out, a chain of stamps that is acked and whose stamper died
// before it said so, the sweep finds.
func OnEnds(a *Acker, names Names, announce Announce, options *OnEndsOptions) func(context.Context, StreamEvent) (events.DynamoDBEventResponse, error) {
	if options == nil {
		options = &OnEndsOptions{}
	}
	return func(ctx context.Context, event StreamEvent) (events.DynamoDBEventResponse, error) {
		errs := make([]error, len(event.Records))
		ended := make([]Chain, len(event.Records))
		a.forEach(len(event.Records), func(i int) {
			c, err := ChainOf(event.Records[i], names)
			if err != nil {
				errs[i] = err
				return
			}
			sealed, err := a.Finish(ctx, c, announce)
			if errs[i] = err; sealed {
				ended[i] = c
			}
		})
		var response events.DynamoDBEventResponse
		for i, err := range errs {
			if err == nil {
				if ended[i].Exists() && options.Finished != nil {
					options.Finished(ended[i])
				}
				continue
			}
			if options.Failed != nil {
				options.Failed(err)
			}
			if len(response.BatchItemFailures) > 0 {
				continue
			}
			var record streamRecord
			// What can be read of a broken record is enough to name it.
			_ = json.Unmarshal(event.Records[i], &record)
			if record.Change.SequenceNumber == "" {
				return events.DynamoDBEventResponse{}, fmt.Errorf("record without a sequence number: %w", err)
			}
			response.BatchItemFailures = []events.DynamoDBBatchItemFailure{{ItemIdentifier: record.Change.SequenceNumber}}
		}
		return response, nil
	}
}
