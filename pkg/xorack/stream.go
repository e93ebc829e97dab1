package xorack

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/aws/aws-lambda-go/events"

	"github.com/streamsort/streamsort/internal/stream"
	"github.com/streamsort/streamsort/pkg/table"
)

var errNoImage = errors.New(
	"has no new image: the chains' stream must show NEW_IMAGE or NEW_AND_OLD_IMAGES")

// chainOf is the chain as a record of the table's stream shows it; the zero Chain for the record of
// a deletion.
func chainOf(raw json.RawMessage) (Chain, error) {
	record, err := stream.Read(raw)
	if err != nil || record.Removed() {
		return Chain{}, err
	}
	image, err := record.New()
	if err != nil {
		return Chain{}, err
	}
	if !image.Exists() {
		return Chain{}, record.In(errNoImage)
	}
	c, err := decodeChain(image)
	if err != nil {
		return Chain{}, record.In(err)
	}
	return c, nil
}

// OnEndsOptions are what a handler of the chains' stream reports. A nil OnEndsOptions means nothing
// is reported.
type OnEndsOptions struct {
	// Finished is called with each chain that this call sealed; it may be nil.
	Finished func(Chain)
	// Failed is called with the reason why a record failed; it may be nil.
	Failed func(error)
}

// OnEnds returns the handler for the stream of the chains' table: it finishes every chain that a
// record shows as ended ([Acker.Finish]).
//
// A record that fails does not hold back the others of the batch; the batch is repeated from the
// first failed one on, which does no harm. The event source mapping must have
// ReportBatchItemFailures on. It need see only records of chains that are due and have ended; in
// its filter, either of
//
//	{"dynamodb": {"NewImage": {"due": {"N": [{"exists": true}]}, "st": {"S": [{"exists": true}]}}}}
//	{"dynamodb": {"NewImage": {"due": {"N": [{"exists": true}]}, "created": {"N": [{"exists": true}]}, "n": {"N": ["0"]}}}}
//
// The filter leaves out a chain of stamps that is acked and whose stamper died before it recorded
// that: the sweep finds it.
func OnEnds(
	a *Acker, announce Announce, options *OnEndsOptions,
) func(context.Context, table.StreamEvent) (events.DynamoDBEventResponse, error) {
	if options == nil {
		options = &OnEndsOptions{}
	}
	return func(ctx context.Context, event table.StreamEvent) (events.DynamoDBEventResponse, error) {
		errs := make([]error, len(event.Records))
		ended := make([]Chain, len(event.Records))
		a.forEach(len(event.Records), func(i int) {
			c, err := chainOf(event.Records[i])
			if err != nil {
				errs[i] = err
				return
			}
			sealed, err := a.Finish(ctx, c, announce)
			if errs[i] = err; sealed {
				ended[i] = c
			}
		})
		failed := -1
		for i, err := range errs {
			switch {
			case err != nil:
				if options.Failed != nil {
					options.Failed(err)
				}
				if failed < 0 {
					failed = i
				}
			case ended[i].Exists() && options.Finished != nil:
				options.Finished(ended[i])
			}
		}
		if failed < 0 {
			return events.DynamoDBEventResponse{}, nil
		}
		return stream.FailedAt(event.Records[failed], errs[failed])
	}
}
