package sink

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sink/kind"
)

const (
	functionARN = "arn:aws:lambda:us-east-1:000000000000:function:orders"
	queueARN    = "arn:aws:sqs:us-east-1:000000000000:orders.fifo"
	topicARN    = "arn:aws:sns:us-east-1:000000000000:orders.fifo"
	busARN      = "arn:aws:events:us-east-1:000000000000:event-bus/orders"
)

func TestConfig(t *testing.T) {
	for _, raw := range []string{
		`{"kind":"lambda","arn":"` + functionARN + `:live"}`,
		`{"kind":"sqs","arn":"` + queueARN + `","maxBytes":2048}`,
		`{"kind":"sns","arn":"` + topicARN + `","maxBytes":1048576}`,
		`{"kind":"eventbridge","arn":"` + busARN + `","maxEntries":1}`,
		`{"kind":"s3","arn":"arn:aws:s3:::orders-archive"}`,
		`{"kind":"s3"}`, // the CDK makes a bucket
		`{"arn":"arn:aws-cn:sqs:cn-north-1:123456789012:a-b_c.fifo","kind":"sqs"}`,
	} {
		var got Config
		err := json.Unmarshal([]byte(raw), &got)
		check.That(t, err == nil && !got.IsZero(), "%s: %+v, %v", raw, got, err)
	}
}

// exampleOf is a configuration, but for its kind and the ARN.
func exampleOf(name string) string {
	if name == "http" {
		return `{"kind":%q,"url":"https://example.com/","sign":{"scheme":"standard","secret":%q}}`
	}
	return `{"kind":%q,"arn":%q}`
}

// Each kind's example is one of its own, and of no other kind.
func TestExamples(t *testing.T) {
	for _, of := range kinds {
		for _, other := range kinds {
			var c Config
			err := json.Unmarshal(fmt.Appendf(nil, exampleOf(other.Name), other.Name, of.Example), &c)
			check.Is(t, of.Name == other.Name, (err == nil), of.Example, other.Name, err)
		}
		check.That(t, of.Action != "", "%s: nothing is allowed", of.Name)
	}
}

func TestConfigErrors(t *testing.T) {
	for raw, want := range map[string]string{
		`[]`:                         "must be a JSON object",
		`{}`:                         "kind is missing",
		`{"arn":"x"}`:                "kind is missing",
		`{"kind":"kafka","arn":"x"}`: `kind "kafka" is not known: it must be lambda, sqs, sns, eventbridge, http or s3`,
		`{"kind":"Lambda"}`:          `kind "Lambda" is not known`,
		`{"kind":"sns","arn":"` + topicARN + `","format":"cloudevents"}`:       "format is set: sns has one format",
		`{"kind":"lambda","arn":"` + functionARN + `","format":"cloudevents"}`: "format is set: lambda has one format",
		`{"kind":"sqs","arn":"` + queueARN + `","format":"xml"}`:               `format must be cloudevents: it is "xml"`,
		`{"kind":7}`:                                                           "kind must be a string",
		`{"Kind":"sqs"}`:                                                       "kind is missing",
		`{"kind":"sqs","url":"x"}`:                                             "url is not known",
		`{"kind":"sqs","kind":"sns"}`:                                          `the member "kind" twice`,
		`{"kind":"sqs"}`:                                                       "arn is missing: it must be like arn:aws:sqs:",
		`{"kind":"sqs","arn":"orders.fifo"}`:                                   "is no ARN",
		`{"kind":"s3","arn":"` + queueARN + `"}`:                               "is the ARN of no bucket: it must be like arn:aws:s3:::BUCKET",
		`{"kind":"s3","arn":"arn:aws:s3:::Orders"}`:                            "is the ARN of no bucket",
		`{"kind":"s3","arn":"arn:aws:s3:::orders/folder"}`:                     "is the ARN of no bucket",
		`{"kind":"s3","arn":"arn:aws:s3:eu-west-1::orders"}`:                   "is the ARN of no bucket",
		`{"kind":"s3","bucket":"orders"}`:                                      "bucket is not known",
		`{"kind":"sqs","arn":"` + topicARN + `"}`:                              `is of the service "sns"`,
		`{"kind":"sqs","arn":"arn:aws:sqs:::q.fifo"}`:                          "has no partition, region or account",
		`{"kind":"sqs","arn":"arn:aws-mars:sqs:mars-1:0:a.fifo"}`:              `partition "aws-mars"`,
		`{"kind":"sqs","arn":"arn:aws:sqs:us-east-1:0:orders"}`:                "is not of a FIFO one",
		`{"kind":"sqs","arn":"arn:aws:sqs:us-east-1:0:.fifo"}`:                 "names something else",
		`{"kind":"sns","arn":"` + topicARN + `:0b5e-subscription"}`:            "is not of a FIFO one",
		`{"kind":"sns","arn":"arn:aws:sns:us-east-1:0:orders"}`:                "is not of a FIFO one",
		`{"kind":"lambda","arn":"arn:aws:lambda:us-east-1:0:layer:x"}`:         "names something else",
		`{"kind":"eventbridge","arn":"arn:aws:events:us-east-1:0:rule/x"}`:     "names something else",
		`{"kind":"eventbridge","arn":"arn:aws:events:us-east-1:0:event-bus/"}`: "names something else",
		`{"kind":"sqs","arn":"` + queueARN + `","maxBytes":1023}`:              "maxBytes is 1023: for sqs it must be from 1024 to 1048576",
		`{"kind":"sqs","arn":"` + queueARN + `","maxBytes":"many"}`:            "maxBytes must be a positive integer",
		`{"kind":"sqs","arn":"` + queueARN + `","maxBytes":0}`:                 "maxBytes must be a positive integer",
		`{"kind":"sns","arn":"` + topicARN + `","maxEntries":11}`:              "maxEntries is 11: it must be from 1 to 10",
		`{"kind":"lambda","arn":"` + functionARN + `","maxEntries":1}`:         "maxEntries is set",
		`{"kind":"lambda","arn":"` + functionARN + `","maxBytes":99999999}`:    "from 1024 to 6291456",
		`{"kind":"lambda","arn":"` + strings.Repeat("x", 3000) + `"}`:          "…\" is no ARN",
		`{"kind":"eventbridge","arn":"` + busARN + `","maxBytes":1048576}`:     "from 1024 to 1000000",
		`{"kind":"eventbridge","arn":"` + busARN + `","maxEntries":1.5}`:       "maxEntries must be a positive integer",
		`{"kind":"eventbridge","arn":"` + busARN + `","maxEntries":null}`:      "maxEntries must be a positive integer",
	} {
		var got Config
		text := fmt.Sprint(json.Unmarshal([]byte(raw), &got))
		check.Has(t, text, want)
		check.That(t, got.IsZero(), "%.200s: set the value", raw)
		check.That(t, len(text) <= 1500, "%.200s: an error of %d bytes", raw, len(text))
	}
}

func TestNewErrors(t *testing.T) {
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_SQS", "AWS_REGION",
		"AWS_DEFAULT_REGION"} {
		t.Setenv(name, "")
	}
	check.Has(t, fmt.Sprint(check.Err(New(Config{}, kind.Options{}))), "kind is missing")
	sqs := set{Kind: "sqs", ARN: queueARN}.config(t)
	check.Has(t, fmt.Sprint(check.Err(New(sqs, kind.Options{}))), "AWS_REGION")
}
