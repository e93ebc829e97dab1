package eventsource

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
)

type item = map[string]types.AttributeValue

func s(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }

// everyType is an item with all types of attributes.
func everyType() item {
	return item{
		"s":    s("a < b & ü"),
		"n":    &types.AttributeValueMemberN{Value: "12345678901234567890123456789012345678"},
		"b":    &types.AttributeValueMemberB{Value: []byte{0, 1, 2, 65}},
		"bool": &types.AttributeValueMemberBOOL{Value: false},
		"null": &types.AttributeValueMemberNULL{Value: true},
		"ss":   &types.AttributeValueMemberSS{Value: []string{"x", "y"}},
		"ns":   &types.AttributeValueMemberNS{Value: []string{"1", "2.5"}},
		"bs":   &types.AttributeValueMemberBS{Value: [][]byte{{1}, {2}}},
		"l": &types.AttributeValueMemberL{Value: []types.AttributeValue{s("e"),
			&types.AttributeValueMemberL{}}},
		"m": &types.AttributeValueMemberM{Value: item{"S": s("deep"),
			"e": &types.AttributeValueMemberM{Value: item{}}}},
	}
}

func modified(old, new item) types.Record {
	return types.Record{
		AwsRegion: aws.String("ddblocal"), EventID: aws.String("e1"),
		EventName:   types.OperationTypeModify,
		EventSource: aws.String("aws:dynamodb"), EventVersion: aws.String("1.1"),
		Dynamodb: &types.StreamRecord{
			ApproximateCreationDateTime: aws.Time(time.Unix(1479499740, 0)),
			Keys:                        item{"id": s("k"), "seq": &types.AttributeValueMemberN{Value: "7"}},
			NewImage:                    new, OldImage: old,
			SequenceNumber: aws.String("4421584500000000017450439091"),
			SizeBytes:      aws.Int64(59), StreamViewType: types.StreamViewTypeNewAndOldImages,
		},
	}
}

// eventJSON is what a function gets for a record.
func eventJSON(t *testing.T, r types.Record) string {
	t.Helper()
	event := check.Get(eventOf(r, "arn:stream"))
	rec := check.Get(newRecord(event, r.Dynamodb.ApproximateCreationDateTime))
	return string(rec.json)
}

func TestEventShape(t *testing.T) {
	got := eventJSON(t, modified(item{"id": s("k")}, everyType()))
	const want = `{
		"eventID": "e1", "eventName": "MODIFY", "eventVersion": "1.1", "eventSource": "aws:dynamodb", "awsRegion": "us-east-1",
		"dynamodb": {
			"ApproximateCreationDateTime": 1479499740,
			"Keys": {"id": {"S": "k"}, "seq": {"N": "7"}},
			"NewImage": {
				"s": {"S": "a < b & ü"}, "n": {"N": "12345678901234567890123456789012345678"}, "b": {"B": "AAECQQ=="}, "bool": {"BOOL": false},
				"null": {"NULL": true}, "ss": {"SS": ["x", "y"]}, "ns": {"NS": ["1", "2.5"]}, "bs": {"BS": ["AQ==", "Ag=="]},
				"l": {"L": [{"S": "e"}, {"L": []}]}, "m": {"M": {"S": {"S": "deep"}, "e": {"M": {}}}}
			},
			"OldImage": {"id": {"S": "k"}},
			"SequenceNumber": "4421584500000000017450439091", "SizeBytes": 59, "StreamViewType": "NEW_AND_OLD_IMAGES"
		},
		"eventSourceARN": "arn:stream"
	}`
	check.Is(t, cmp.Diff(decoded(t, want), decoded(t, got)), "")
	check.That(t, !strings.Contains(got, `\u003c`), "< is escaped")
	check.That(t, strings.Contains(got, `"ApproximateCreationDateTime":1479499740,`), "%s", got)
}

func TestEventLeavesOutWhatTheViewDoesNotShow(t *testing.T) {
	r := modified(nil, nil)
	r.Dynamodb.StreamViewType = types.StreamViewTypeKeysOnly
	got := decoded(t, eventJSON(t, r))
	change := got["dynamodb"].(map[string]any)
	check.That(t, change["NewImage"] == nil && change["OldImage"] == nil && got["userIdentity"] == nil,
		"event = %v", got)
}

// DynamoDB Local's TTL deletes have an unknown name and no identity.
func TestEventOfLocalTTLDelete(t *testing.T) {
	r := modified(everyType(), nil)
	r.EventName = unknownToSDK
	got := decoded(t, eventJSON(t, r))
	want := map[string]any{"type": "Service", "principalId": "dynamodb.amazonaws.com"}
	diff := cmp.Diff(want, got["userIdentity"])
	check.That(t, diff == "" && got["eventName"] == "REMOVE", "%v %s", got["eventName"], diff)
}

func TestEventRefused(t *testing.T) {
	tests := []struct {
		name   string
		change func(*types.Record)
		want   string
	}{
		{"no dynamodb part", func(r *types.Record) { r.Dynamodb = nil }, "no dynamodb part"},
		{"no sequence number", func(r *types.Record) { r.Dynamodb.SequenceNumber = nil }, "no sequence number"},
		{"no keys", func(r *types.Record) { r.Dynamodb.Keys = nil }, "no keys"},
		{"no name", func(r *types.Record) { r.EventName = "" }, "unknown event name"},
		{"unknown name", func(r *types.Record) { r.EventName = "UPSERT" }, `"UPSERT"`},
		{"nil attribute", func(r *types.Record) { r.Dynamodb.NewImage = item{"a": nil} }, "NewImage.a: attribute of the unknown type"},
		{"unknown attribute inside", func(r *types.Record) {
			r.Dynamodb.OldImage = item{
				"a": &types.AttributeValueMemberL{Value: []types.AttributeValue{s("x"),
					&types.UnknownUnionMember{Tag: "Q"}}},
			}
		}, "OldImage.a: [1]: attribute of the unknown type"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := modified(nil, nil)
			test.change(&r)
			check.Says(t, check.Err(eventOf(r, "arn:stream")), test.want)
		})
	}
}

func TestLaneIsChosenByTheWholeKey(t *testing.T) {
	lane := func(keys item) uint64 {
		r := modified(nil, nil)
		r.Dynamodb.Keys = keys
		event := check.Get(eventOf(r, "arn:stream"))
		rec := check.Get(newRecord(event, nil))
		return rec.lane
	}
	n := func(v string) types.AttributeValue { return &types.AttributeValueMemberN{Value: v} }
	base := lane(item{"q": s("1"), "seq": n("1")})
	check.Is(t, lane(item{"seq": n("1"), "q": s("1")}), base)
	for _, other := range []item{{"q": s("1"), "seq": n("2")}, {"q": s("2"), "seq": n("1")},
		{"q": n("1"), "seq": n("1")}} {
		check.That(t, lane(other) != base, "key %v has the lane of another", other)
	}
}

func TestChangesNothing(t *testing.T) {
	reordered := everyType()
	reordered["ss"] = &types.AttributeValueMemberSS{Value: []string{"y", "x"}}
	reordered["ns"] = &types.AttributeValueMemberNS{Value: []string{"2.5", "1"}}
	reordered["bs"] = &types.AttributeValueMemberBS{Value: [][]byte{{2}, {1}}}
	with := func(name string, v types.AttributeValue) item {
		i := everyType()
		i[name] = v
		return i
	}
	tests := []struct {
		name     string
		old, new item
		event    types.OperationType
		want     bool
	}{
		{"the same", everyType(), everyType(), types.OperationTypeModify, true},
		{"sets in another order", everyType(), reordered, types.OperationTypeModify, true},
		{"another value", everyType(), with("s", s("other")), types.OperationTypeModify, false},
		{"another element", everyType(), with("ss", &types.AttributeValueMemberSS{Value: []string{"x", "z"}}), types.OperationTypeModify, false},
		{"deep inside", everyType(), with("m", &types.AttributeValueMemberM{Value: item{"S": s("x"), "e": &types.AttributeValueMemberM{}}}), types.OperationTypeModify, false},
		{
			"list in another order", with("l", &types.AttributeValueMemberL{Value: []types.AttributeValue{s("a"), s("b")}}),
			with("l", &types.AttributeValueMemberL{Value: []types.AttributeValue{s("b"), s("a")}}), types.OperationTypeModify, false,
		},
		{"old image not shown", nil, everyType(), types.OperationTypeModify, false},
		{"new image not shown", everyType(), nil, types.OperationTypeModify, false},
		{"an insert", everyType(), everyType(), types.OperationTypeInsert, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := modified(test.old, test.new)
			r.EventName = test.event
			event, err := eventOf(r, "")
			check.Is(t, err == nil && changesNothing(event), test.want, err)
		})
	}
}

// numbered makes records with these sequence numbers, as dynoxide counts them.
func numbered(first, last int) (records []*record) {
	for n := first; n <= last; n++ {
		records = append(records, &record{sequence: strconv.Itoa(n), json: []byte("{}")})
	}
	return records
}

func TestFirstFailed(t *testing.T) {
	records := numbered(8, 11)
	tests := []struct {
		name, response string
		want           int
		wantErr        string
	}{
		{name: "no response", response: ``, want: 4},
		{name: "blanks", response: " \n", want: 4},
		{name: "null response", response: `null`, want: 4},
		{name: "empty response", response: `{}`, want: 4},
		{name: "empty string", response: `""`, want: 4},
		{name: "empty list at the top", response: `[]`, want: 4},
		{name: "null list", response: `{"batchItemFailures": null}`, want: 4},
		{name: "other letters", response: `{"BatchItemFailures": [{"itemIdentifier": "9"}]}`, want: 4},

		{name: "first", response: `{"batchItemFailures": [{"itemIdentifier": "8"}]}`, want: 0},
		{name: "last", response: ` {"batchItemFailures": [{"itemIdentifier": "11"}]} `, want: 3},
		{name: "lowest by value, not by text", response: `{"batchItemFailures": [{"itemIdentifier": "10"}, {"itemIdentifier": "9"}, {"itemIdentifier": "11"}]}`, want: 1},

		{name: "empty identifier", response: `{"batchItemFailures": [{"itemIdentifier": ""}]}`, wantErr: "[0]: itemIdentifier must be a string"},
		{name: "null identifier", response: `{"batchItemFailures": [{"itemIdentifier": null}]}`, wantErr: "[0]: itemIdentifier must be a string"},
		{name: "key in other letters", response: `{"batchItemFailures": [{"ItemIdentifier": "9"}]}`, wantErr: "[0]: itemIdentifier must be a string"},
		{name: "number", response: `{"batchItemFailures": [{"itemIdentifier": 9}]}`, wantErr: "[0]: itemIdentifier must be a string"},
		{name: "unknown", response: `{"batchItemFailures": [{"itemIdentifier": "12"}]}`, wantErr: "not a sequence number of the batch"},
		{name: "same value, other text", response: `{"batchItemFailures": [{"itemIdentifier": "09"}]}`, wantErr: "not a sequence number of the batch"},
		{name: "one of two is bad", response: `{"batchItemFailures": [{"itemIdentifier": "10"}, {"itemIdentifier": ""}]}`, wantErr: "batchItemFailures[1]"},
		{name: "null element", response: `{"batchItemFailures": [null]}`, wantErr: "[0]: itemIdentifier must be a string"},
		{name: "string element", response: `{"batchItemFailures": ["9"]}`, wantErr: "not a list of objects"},
		{name: "a word", response: `"done"`, wantErr: "not an object"},
		{name: "cut off", response: `{"batchItemFailures": [`, wantErr: "not an object"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := firstFailed([]byte(test.response), records)
			check.Need(t, (test.wantErr != "" || err == nil) && (test.wantErr == "" || err != nil &&
				strings.Contains(err.Error(), test.wantErr)), "error = %v, want %q", err, test.wantErr)
			check.Is(t, got, test.want)
		})
	}
}
