package dynamo

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

// Item is an item, a key or an image as the SDK has it.
type Item = map[string]types.AttributeValue
