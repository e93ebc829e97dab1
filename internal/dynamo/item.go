package dynamo

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Item is an item, a key or an image as the SDK has it.
type Item = map[string]types.AttributeValue

// Text is a string as the SDK has it.
func Text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// Number is an integer as the SDK has it.
func Number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
