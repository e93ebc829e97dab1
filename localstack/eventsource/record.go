package eventsource

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/localstack/template"
)

// record is one stream record on its way to the function.
type record struct {
	sequence string
	at       time.Time // ApproximateCreationDateTime; zero where it is not given
	lane     uint64    // hash of the item's key
	json     []byte    // the record as the function gets it
	// delivered is set when the function has accepted it, so that a repetition is not counted as
	// another record.
	delivered bool
}

// unknownToSDK is what DynamoDB Local writes as the event name of an item that its TTL has deleted,
// without a user identity.
const unknownToSDK = "UNKNOWN_TO_SDK_VERSION"

// eventOf converts a stream record into the element of "Records" that Lambda gives to a function,
// as maps and lists: "Using AWS Lambda with Amazon DynamoDB" (with-ddb.html, "Example event") and
// "Record" and "StreamRecord" in the Amazon DynamoDB API Reference. Images that the stream's view
// does not have are left out. The servers for local work give the region a name of their own.
//
// An item that TTL has deleted carries the identity of DynamoDB itself: "DynamoDB Streams and Time
// to Live" (time-to-live-ttl-streams.html).
func eventOf(r types.Record, streamARN string) (map[string]any, error) {
	if r.Dynamodb == nil {
		return nil, errors.New("stream record has no dynamodb part")
	}
	name, identity := string(r.EventName), r.UserIdentity
	if name == unknownToSDK {
		name = string(types.OperationTypeRemove)
		identity = &types.Identity{Type: aws.String("Service"),
			PrincipalId: aws.String("dynamodb.amazonaws.com")}
	}
	if !slices.Contains(types.OperationType("").Values(), types.OperationType(name)) {
		return nil, fmt.Errorf("stream record has the unknown event name %q", name)
	}
	change, err := changeOf(r.Dynamodb)
	if err != nil {
		return nil, err
	}
	event := map[string]any{
		"eventID":        aws.ToString(r.EventID),
		"eventName":      name,
		"eventVersion":   aws.ToString(r.EventVersion),
		"eventSource":    "aws:dynamodb",
		"awsRegion":      template.Region,
		"dynamodb":       change,
		"eventSourceARN": streamARN,
	}
	if identity != nil {
		event["userIdentity"] = map[string]any{
			"type":        aws.ToString(identity.Type),
			"principalId": aws.ToString(identity.PrincipalId),
		}
	}
	return event, nil
}

// changeOf converts the "dynamodb" part of a record.
func changeOf(s *types.StreamRecord) (map[string]any, error) {
	if aws.ToString(s.SequenceNumber) == "" {
		return nil, errors.New("stream record has no sequence number")
	}
	if len(s.Keys) == 0 {
		return nil, fmt.Errorf("stream record %s has no keys", *s.SequenceNumber)
	}
	change := map[string]any{
		"SequenceNumber": *s.SequenceNumber,
		"StreamViewType": string(s.StreamViewType),
	}
	if s.SizeBytes != nil {
		change["SizeBytes"] = json.Number(strconv.FormatInt(*s.SizeBytes, 10))
	}
	if s.ApproximateCreationDateTime != nil {
		change["ApproximateCreationDateTime"] = epochSeconds(*s.ApproximateCreationDateTime)
	}
	for _, image := range []struct {
		name       string
		attributes map[string]types.AttributeValue
	}{{"Keys", s.Keys}, {"NewImage", s.NewImage}, {"OldImage", s.OldImage}} {
		if image.attributes == nil {
			continue
		}
		tree, err := attributes(image.attributes)
		if err != nil {
			return nil, fmt.Errorf("stream record %s: %s.%w", *s.SequenceNumber, image.name, err)
		}
		change[image.name] = tree
	}
	return change, nil
}

// epochSeconds writes a time as seconds since 1970, with a fraction only where there is one.
func epochSeconds(t time.Time) json.Number {
	return json.Number(strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', -1, 64))
}

// attributes converts an item into DynamoDB's JSON.
func attributes(item map[string]types.AttributeValue) (map[string]any, error) {
	tree := make(map[string]any, len(item))
	for name, value := range item {
		v, err := attribute(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		tree[name] = v
	}
	return tree, nil
}

// attribute converts a value into DynamoDB's JSON: one key, the type.
func attribute(value types.AttributeValue) (map[string]any, error) {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": v.Value}, nil
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}, nil
	case *types.AttributeValueMemberB:
		return map[string]any{"B": base64.StdEncoding.EncodeToString(v.Value)}, nil
	case *types.AttributeValueMemberBOOL:
		return map[string]any{"BOOL": v.Value}, nil
	case *types.AttributeValueMemberNULL:
		return map[string]any{"NULL": v.Value}, nil
	case *types.AttributeValueMemberSS:
		return map[string]any{"SS": set(v.Value)}, nil
	case *types.AttributeValueMemberNS:
		return map[string]any{"NS": set(v.Value)}, nil
	case *types.AttributeValueMemberBS:
		encoded := make([]string, len(v.Value))
		for i, b := range v.Value {
			encoded[i] = base64.StdEncoding.EncodeToString(b)
		}
		return map[string]any{"BS": set(encoded)}, nil
	case *types.AttributeValueMemberM:
		tree, err := attributes(v.Value)
		return map[string]any{"M": tree}, err
	case *types.AttributeValueMemberL:
		list := make([]any, len(v.Value))
		for i, element := range v.Value {
			e, err := attribute(element)
			if err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
			list[i] = e
		}
		return map[string]any{"L": list}, nil
	default:
		return nil, fmt.Errorf("attribute of the unknown type %T", value)
	}
}

// set is a set in one order: its own does not count.
func set(list []string) []any {
	out := make([]any, len(list))
	for i, s := range slices.Sorted(slices.Values(list)) {
		out[i] = s
	}
	return out
}

// changesNothing recognises an event that AWS would not have written: "If you perform a PutItem or
// UpdateItem operation that does not change any data in an item, DynamoDB Streams does not write a
// stream record for that operation" ("Change data capture for DynamoDB Streams", Streams.html).
// dynoxide writes one. It can be recognised only where the stream shows both images.
func changesNothing(event map[string]any) bool {
	change := event["dynamodb"].(map[string]any) // put there by changeOf
	return event["eventName"] == string(types.OperationTypeModify) && change["NewImage"] != nil &&
		reflect.DeepEqual(change["NewImage"], change["OldImage"])
}

// newRecord makes the record that goes into a lane. The lane is chosen by the whole primary key,
// partition and sort key, as Lambda keeps order "at the item level" (with-ddb.html, "Polling and
// batching streams").
func newRecord(event map[string]any, arrived *time.Time) (*record, error) {
	change := event["dynamodb"].(map[string]any) // put there by changeOf
	encoded, err := strictjson.Marshal(event)
	if err != nil {
		return nil, err
	}
	key, err := strictjson.Marshal(change["Keys"]) // maps are written with sorted names
	if err != nil {
		return nil, err
	}
	hash := fnv.New64a()
	hash.Write(key)
	return &record{
		sequence: change["SequenceNumber"].(string),
		at:       aws.ToTime(arrived),
		lane:     hash.Sum64(),
		json:     encoded,
	}, nil
}
