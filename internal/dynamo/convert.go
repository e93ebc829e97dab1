package dynamo

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/streamsort/streamsort/internal/ddb"
)

type attributes = map[string]types.AttributeValue

// FromSDK is an item, a key or an image of the SDK's as the tables' code reads it: none for an
// empty one. Values of types that no item of this project has are there, and cannot be read.
func FromSDK(it map[string]types.AttributeValue) ddb.Item { return fieldsFromSDK(it).Item() }

func fieldsFromSDK(it map[string]types.AttributeValue) ddb.Fields {
	fields := make(ddb.Fields, len(it))
	for name, value := range it {
		fields[ddb.Path(name)] = valueFromSDK(value)
	}
	return fields
}

// each converts them all.
func each[From, To any](all []From, convert func(From) To) []To {
	converted := make([]To, len(all))
	for i, one := range all {
		converted[i] = convert(one)
	}
	return converted
}

func valueFromSDK(value types.AttributeValue) ddb.Value {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return ddb.Text(v.Value)
	case *types.AttributeValueMemberN:
		return ddb.ParseNumber(v.Value)
	case *types.AttributeValueMemberB:
		return ddb.Blob(v.Value)
	case *types.AttributeValueMemberBOOL:
		return ddb.Bool(v.Value)
	case *types.AttributeValueMemberBS:
		return ddb.Blobs(v.Value...)
	case *types.AttributeValueMemberL:
		return ddb.ListOf(each(v.Value, valueFromSDK)...)
	case *types.AttributeValueMemberM:
		return ddb.MapOf(fieldsFromSDK(v.Value))
	}
	return ddb.Unreadable()
}

// ToSDK is an item, a key or an image as the SDK has it.
func ToSDK(it ddb.Item) map[string]types.AttributeValue {
	converted := make(attributes, it.Len())
	for name, value := range it.All() {
		converted[name] = valueToSDK(value)
	}
	return converted
}

// valueToSDK renders a value; nil, which the SDK refuses, for one that cannot be written.
func valueToSDK(v ddb.Value) types.AttributeValue {
	switch v.Kind() {
	case ddb.String:
		return &types.AttributeValueMemberS{Value: v.Str()}
	case ddb.Number:
		return &types.AttributeValueMemberN{Value: v.Decimal()}
	case ddb.Binary:
		return &types.AttributeValueMemberB{Value: v.Bytes()}
	case ddb.Boolean:
		return &types.AttributeValueMemberBOOL{Value: v.True()}
	case ddb.BinarySet:
		return &types.AttributeValueMemberBS{Value: v.Members()}
	case ddb.List:
		return &types.AttributeValueMemberL{Value: each(v.Elements(), valueToSDK)}
	case ddb.Map:
		return &types.AttributeValueMemberM{Value: ToSDK(v.Fields())}
	}
	return nil
}
