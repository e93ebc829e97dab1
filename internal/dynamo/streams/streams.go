// Package streams makes clients of DynamoDB Streams, for what reads streams itself: the local stack
// and the command line.
package streams

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/streamsort/streamsort/internal/awsenv"
	"github.com/streamsort/streamsort/internal/dynamo"
)

// New returns a client for an endpoint, or for the environment's where it is empty, as [dynamo.New]
// does. It makes no request.
func New(endpoint string) (*dynamodbstreams.Client, error) {
	s, err := awsenv.Read("DYNAMODB", endpoint)
	if err != nil {
		return nil, err
	}
	return dynamodbstreams.New(dynamodbstreams.Options{
		Region:       s.Region,
		Credentials:  s.Credentials,
		BaseEndpoint: s.Endpoint,
		HTTPClient:   dynamo.HTTPClient(nil),
	}), nil
}
