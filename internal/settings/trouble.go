package settings

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/trouble"
)

// Trouble makes the store of who is in trouble, on the table STREAMSORT_TROUBLE_TABLE; nil where
// that is not set.
func (s Settings) Trouble(client *dynamodb.Client) *trouble.Store {
	if s.Consumers.Trouble == "" {
		return nil
	}
	return trouble.NewStore(dynamo.NewEngine(client), trouble.Definition(s.Consumers.Trouble))
}
