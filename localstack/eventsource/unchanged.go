package eventsource

import (
	"maps"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// changesNothing recognises a record that AWS would not have written: "If you perform a PutItem or
// UpdateItem operation that does not change any data in an item, DynamoDB Streams does not write a
// stream record for that operation" ("Change data capture for DynamoDB Streams", Streams.html).
// dynoxide writes one. It can be recognised only where the stream shows both images.
func changesNothing(r types.Record) bool {
	d := r.Dynamodb
	return d != nil && r.EventName == types.OperationTypeModify &&
		d.NewImage != nil && d.OldImage != nil && sameItem(d.NewImage, d.OldImage)
}

func sameItem(a, b map[string]types.AttributeValue) bool {
	return maps.EqualFunc(a, b, sameAttribute)
}

// sameAttribute compares two values; the order inside a set does not count.
func sameAttribute(a, b types.AttributeValue) bool {
	switch a := a.(type) {
	case *types.AttributeValueMemberSS:
		b, ok := b.(*types.AttributeValueMemberSS)
		return ok && sameSet(a.Value, b.Value)
	case *types.AttributeValueMemberNS:
		b, ok := b.(*types.AttributeValueMemberNS)
		return ok && sameSet(a.Value, b.Value)
	case *types.AttributeValueMemberBS:
		b, ok := b.(*types.AttributeValueMemberBS)
		return ok && sameSet(texts(a.Value), texts(b.Value))
	case *types.AttributeValueMemberL:
		b, ok := b.(*types.AttributeValueMemberL)
		return ok && slices.EqualFunc(a.Value, b.Value, sameAttribute)
	case *types.AttributeValueMemberM:
		b, ok := b.(*types.AttributeValueMemberM)
		return ok && sameItem(a.Value, b.Value)
	default:
		return reflect.DeepEqual(a, b)
	}
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func texts(list [][]byte) []string {
	out := make([]string, len(list))
	for i, b := range list {
		out[i] = string(b)
	}
	return out
}
