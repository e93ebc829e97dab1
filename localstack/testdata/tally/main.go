// Tally is a Lambda function behind a table's stream. It logs the id of each record, and fails on
// one that is called poison.
package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
)

func handle(_ context.Context, event events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
	for _, record := range event.Records {
		if record.Change.Keys["id"].String() == "poison" {
			return events.DynamoDBEventResponse{}, errors.New("poison")
		}
	}
	for _, record := range event.Records {
		fmt.Println(record.EventName, record.Change.Keys["id"].String())
	}
	return events.DynamoDBEventResponse{}, nil
}

func main() { lambda.Start(handle) }
