package eventsource

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// answering is a network that answers every request with one body.
type answering []byte

func (a answering) Do(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:       io.NopCloser(bytes.NewReader(a)),
	}, nil
}

// FuzzRecord feeds any answer of GetRecords, read by the SDK as a server's would be: each record is
// dropped with an error, or becomes an element of an event.
func FuzzRecord(f *testing.F) {
	for _, body := range []string{
		`{"Records":[{"eventID":"1","eventName":"INSERT","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"dynoxide","dynamodb":{"ApproximateCreationDateTime":1795225853,"Keys":{"k":{"S":"a"}},"NewImage":{"k":{"S":"a"},"n":{"N":"1.5"},"l":{"L":[{"NULL":true},{"M":{}}]},"bs":{"BS":["AQ=="]}},"SequenceNumber":"1","SizeBytes":30,"StreamViewType":"NEW_AND_OLD_IMAGES"}}],"NextShardIterator":"x"}`,
		`{"Records":[{"eventName":"MODIFY","dynamodb":{"ApproximateCreationDateTime":1.7e300,"Keys":{"k":{"B":"AQ=="}},"NewImage":{"k":{"SS":["b","a"]}},"OldImage":{"k":{"SS":["a","b"]}},"SequenceNumber":"000000000000000000002"}}]}`,
		`{"Records":[{"eventName":"UNKNOWN_TO_SDK_VERSION","dynamodb":{"Keys":{"k":{"S":"` + "\xff" + `"}},"SequenceNumber":"3"},"userIdentity":{}}]}`,
		`{"Records":[{"dynamodb":{"Keys":{"k":{"Q":1}},"NewImage":{"k":null}}},{},{"dynamodb":null}]}`,
		`{}`, ``,
	} {
		f.Add([]byte(body))
	}
	filter, err := compilePattern(`{"dynamodb": {"NewImage": {"k": {"S": [{"prefix": "a"}, {"exists": false}]}}}}`)
	check.OK(f, err)
	f.Fuzz(func(t *testing.T, body []byte) {
		client := dynamodbstreams.New(dynamodbstreams.Options{
			Region: "us-east-1", BaseEndpoint: aws.String("http://localhost"), HTTPClient: answering(body),
			Credentials: aws.AnonymousCredentials{}, Retryer: aws.NopRetryer{},
		})
		out, err := client.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: aws.String("x")})
		if err != nil {
			return
		}
		b := &batch{}
		for _, r := range out.Records {
			event, err := eventOf(r, "arn:stream")
			if err != nil {
				check.That(t, err.Error() != "", "error without a text")
				continue
			}
			filter.matches(event)
			rec, err := newRecord(event, r.Dynamodb.ApproximateCreationDateTime)
			check.Need(t, err == nil, "record %v was converted but not written: %v", event, err)
			b.records = append(b.records, rec)
		}
		var event struct{ Records []received }
		if err := json.Unmarshal(b.payload(), &event); err != nil || len(event.Records) != len(b.records) {
			t.Errorf("%d records became %s: %v", len(b.records), b.payload(), err)
		}
	})
}
