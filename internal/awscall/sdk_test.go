package awscall_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/dev/check"
)

const (
	arn   = "arn:aws:lambda:eu-west-1:123456789012:function:ends:$LATEST"
	topic = "arn:aws:sns:eu-west-1:123456789012:people.fifo"
	odd   = "a b&c=d+é<>\u2028\n\"/%"
	taken = `{"Entries":[{"EventId":"1"}],"Successful":[{"Id":"0"}]}`
)

// sent is what of a request a service looks at.
type sent struct {
	URL     string
	Headers map[string]string
	Body    any
}

// catch is a transport that notes one request and answers it.
func catch(into *sent) http.RoundTripper {
	return transport(func(r *http.Request) (*http.Response, error) {
		var raw []byte
		if r.Body != nil {
			var err error
			if raw, err = io.ReadAll(r.Body); err != nil {
				return nil, err
			}
		}
		*into = sent{URL: r.Method + " " + r.URL.Scheme + "://" + r.URL.Host + r.URL.EscapedPath(),
			Headers: map[string]string{}}
		for _, name := range []string{"Content-Type", "X-Amz-Target", "X-Amz-Invocation-Type",
			"X-Amz-Security-Token", "X-Amzn-Trace-Id"} {
			into.Headers[name] = r.Header.Get(name)
		}
		// The scope: date, region, service. The signed headers are not the same: the SDK signs
		// numbers that it gives its tries.
		scope := regexp.MustCompile(`Credential=\S+,`).FindString(r.Header.Get("Authorization"))
		into.Headers["Authorization"] = scope
		body := `<Response/>`
		var err error
		isS3 := strings.Contains(r.URL.Host, "s3.")
		switch contentType := r.Header.Get("Content-Type"); {
		case isS3:
			query := r.URL.Query()
			query.Del("x-id") // the SDK's name of the action
			into.URL += "?" + query.Encode()
			if r.Header.Get("X-Amz-Content-Sha256") == "" { // the SDK leaves out some bodies over TLS
				return nil, errors.New("no hash of the content")
			}
			into.Body = string(raw)
		case contentType == "application/x-www-form-urlencoded":
			into.Body, err = url.ParseQuery(string(raw))
		case contentType == "application/octet-stream":
			into.Body = string(raw)
		default:
			body = taken
			err = json.Unmarshal(raw, &into.Body)
		}
		return &http.Response{StatusCode: 200, Header: http.Header{}, Request: r,
			Body: io.NopCloser(strings.NewReader(body))}, err
	})
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func environment(t *testing.T) {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "token",
		"AWS_ENDPOINT_URL": "", "AWS_LAMBDA_FUNCTION_NAME": "sweep", "_X_AMZN_TRACE_ID": "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1",
	} {
		t.Setenv(name, value)
	}
}

// Each request is, to the service, that of the SDK's own client.
func TestLikeTheSDK(t *testing.T) {
	environment(t)
	var got, want sent
	caught := &http.Client{Transport: catch(&want)}
	keys := credentials.NewStaticCredentialsProvider("id", "secret", "token")
	client := func(service awscall.Service, region string) *awscall.Client {
		return check.Get(awscall.New(service, awscall.Options{Region: region, Transport: catch(&got)}))
	}
	text := func(value string) *string { return &value }
	bucket := func(name, region string) *awscall.Bucket {
		return check.Get(awscall.NewBucket(name, awscall.Options{Region: region, Transport: catch(&got)}))
	}
	sdks3 := func(region string) *s3.Client {
		return s3.New(s3.Options{
			Region: region, Credentials: keys, HTTPClient: caught,
			RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
			ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
		})
	}
	for name, c := range map[string]struct {
		ours func(context.Context) error
		sdks func(context.Context) error
	}{
		"Invoke": {
			func(ctx context.Context) error {
				return check.Err(client(awscall.Lambda, "").Invoke(ctx, arn, awscall.Event, []byte(odd)))
			},
			func(ctx context.Context) error {
				return check.Err(lambda.New(lambda.Options{Region: "eu-west-1", Credentials: keys,
					HTTPClient: caught}).Invoke(ctx, &lambda.InvokeInput{
					FunctionName: text(arn), InvocationType: lambdatypes.InvocationTypeEvent, Payload: []byte(odd),
				}))
			},
		},
		"PutEvents in China": {
			func(ctx context.Context) error {
				return check.Err(client(awscall.EventBridge, "cn-north-1").PutEvents(ctx,
					[]awscall.PutEvent{{EventBusName: "people", Source: "s", DetailType: "d", Detail: odd}}))
			},
			func(ctx context.Context) error {
				return check.Err(eventbridge.New(eventbridge.Options{Region: "cn-north-1", Credentials: keys,
					HTTPClient: caught}).PutEvents(ctx, &eventbridge.PutEventsInput{
					Entries: []eventtypes.PutEventsRequestEntry{{EventBusName: text("people"), Source: text("s"),
						DetailType: text("d"), Detail: text(odd)}},
				}))
			},
		},
		"SendMessageBatch": {
			func(ctx context.Context) error {
				return check.Err(client(awscall.SQS, "us-gov-west-1").SendBatch(ctx, "https://q.fifo",
					[]awscall.Entry{{
						ID: "0", Body: odd, Group: "g", DeduplicationID: "d",
						Attributes: map[string]awscall.Attribute{"s": {DataType: "String", StringValue: odd}, "b": {DataType: "Binary", BinaryValue: []byte("\x00\xff")}},
					}}))
			},
			func(ctx context.Context) error {
				return check.Err(sqs.New(sqs.Options{Region: "us-gov-west-1", Credentials: keys,
					HTTPClient:                       caught,
					DisableMessageChecksumValidation: true}).SendMessageBatch(ctx, &sqs.SendMessageBatchInput{
					QueueUrl: text("https://q.fifo"), Entries: []sqstypes.SendMessageBatchRequestEntry{{
						Id: text("0"), MessageBody: text(odd), MessageGroupId: text("g"), MessageDeduplicationId: text("d"),
						MessageAttributes: map[string]sqstypes.MessageAttributeValue{
							"s": {DataType: text("String"), StringValue: text(odd)}, "b": {DataType: text("Binary"), BinaryValue: []byte("\x00\xff")},
						},
					}},
				}))
			},
		},
		"PublishBatch": {
			func(ctx context.Context) error {
				return check.Err(client(awscall.SNS, "").PublishBatch(ctx, topic, []awscall.Entry{
					{ID: "0", Body: odd, Group: "g", DeduplicationID: "d", Attributes: map[string]awscall.Attribute{"b": {DataType: "Binary", BinaryValue: []byte("\x00\xff")}}},
					{ID: "1", Body: "2", Group: "g", DeduplicationID: "e"},
				}))
			},
			func(ctx context.Context) error {
				return check.Err(sns.New(sns.Options{Region: "eu-west-1", Credentials: keys,
					HTTPClient: caught}).
					PublishBatch(ctx, &sns.PublishBatchInput{
						TopicArn: text(topic), PublishBatchRequestEntries: []snstypes.PublishBatchRequestEntry{
							{
								Id: text("0"), Message: text(odd), MessageGroupId: text("g"), MessageDeduplicationId: text("d"),
								MessageAttributes: map[string]snstypes.MessageAttributeValue{"b": {DataType: text("Binary"), BinaryValue: []byte("\x00\xff")}},
							},
							{Id: text("1"), Message: text("2"), MessageGroupId: text("g"), MessageDeduplicationId: text("e")},
						},
					}))
			},
		},
		"Put an object": {
			func(ctx context.Context) error {
				return bucket("orders", "").Put(ctx, "a/b c!2F@+=~é", "text/plain", []byte(odd))
			},
			func(ctx context.Context) error {
				return check.Err(sdks3("eu-west-1").PutObject(ctx, &s3.PutObjectInput{
					Bucket: text("orders"), Key: text("a/b c!2F@+=~é"), ContentType: text("text/plain"),
					Body: strings.NewReader(odd),
				}))
			},
		},
		"Get an object of a bucket with dots in China": {
			func(ctx context.Context) error {
				return check.Err(bucket("a.orders", "cn-north-1").Get(ctx, "a/b", 100))
			},
			func(ctx context.Context) error {
				return check.Err(sdks3("cn-north-1").GetObject(ctx,
					&s3.GetObjectInput{Bucket: text("a.orders"), Key: text("a/b")}))
			},
		},
		"List objects": {
			func(ctx context.Context) error {
				_, _, err := bucket("orders", "").List(ctx, "a b/", "a b/c+")
				return err
			},
			func(ctx context.Context) error {
				return check.Err(sdks3("eu-west-1").ListObjectsV2(ctx,
					&s3.ListObjectsV2Input{Bucket: text("orders"), Prefix: text("a b/"),
						StartAfter: text("a b/c+")}))
			},
		},
		"Delete an object": {
			func(ctx context.Context) error { return bucket("orders", "").Delete(ctx, "a/b") },
			func(ctx context.Context) error {
				return check.Err(sdks3("eu-west-1").DeleteObject(ctx,
					&s3.DeleteObjectInput{Bucket: text("orders"), Key: text("a/b")}))
			},
		},
		"Publish": {
			func(ctx context.Context) error {
				return client(awscall.SNS, "").Publish(ctx, topic, "subject", odd,
					map[string]awscall.Attribute{"kind": {DataType: "String", StringValue: odd}})
			},
			func(ctx context.Context) error {
				return check.Err(sns.New(sns.Options{Region: "eu-west-1", Credentials: keys,
					HTTPClient: caught}).
					Publish(ctx, &sns.PublishInput{
						TopicArn: text(topic), Subject: text("subject"), Message: text(odd),
						MessageAttributes: map[string]snstypes.MessageAttributeValue{
							"kind": {DataType: text("String"), StringValue: text(odd)},
						},
					}))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.sdks(t.Context()); err != nil {
				t.Log("the SDK says:", err)
			}
			err := c.ours(t.Context())
			check.That(t, err == nil, "%v", err)
			check.Need(t, want.URL != "" && strings.Contains(want.Headers["Authorization"], "id/"),
				"the SDK sent %+v", want)
			diff := cmp.Diff(want, got)
			check.That(t, diff == "", "(- the SDK's, + ours)\n%s", diff)
		})
	}
}

// Every region that a user may have is where the SDK looks for it.
func TestRegionsLikeTheSDK(t *testing.T) {
	environment(t)
	for _, region := range []string{
		"us-east-1", "eu-central-2", "ap-southeast-7", "mx-central-1", "il-central-1", "me-south-1", "af-south-1", "cn-northwest-1",
		"us-gov-east-1", "eusc-de-east-1", "us-iso-east-1", "us-isob-east-1", "us-isof-south-1", "eu-isoe-west-1",
	} {
		var want sent
		_, _ = lambda.New(lambda.Options{Region: region, Credentials: aws.AnonymousCredentials{},
			HTTPClient: &http.Client{Transport: catch(&want)}}).
			Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String("f"), Payload: []byte("1")})
		c := check.Get(awscall.New(awscall.Lambda, awscall.Options{Region: region}))
		got := "POST " + c.Endpoint() + "/2015-03-31/functions/f/invocations"
		check.That(t, got == want.URL, "%s: %s, the SDK has %s", region, got, want.URL)
	}
}

func TestTheSignatureIsOfTheBody(t *testing.T) {
	environment(t)
	signatures := map[string]bool{}
	c, err := awscall.New(awscall.Lambda,
		awscall.Options{Transport: transport(func(r *http.Request) (*http.Response, error) {
			signed := r.Header.Get("Authorization")
			signatures[signed[strings.Index(signed, "Signature="):]] = true
			if !strings.Contains(signed, "SignedHeaders=content-length;content-type;host;x-amz-date;x-amz-invocation-type;x-amz-security-token,") {
				t.Errorf("signed %s", signed)
			}
			return &http.Response{StatusCode: 200, Header: http.Header{}, Request: r,
				Body: io.NopCloser(bytes.NewReader(nil))}, nil
		})})
	check.OK(t, err)
	for _, body := range []string{"1", "2"} {
		check.Get(c.Invoke(t.Context(), arn, awscall.Event, []byte(body)))
	}
	check.That(t, len(signatures) == 2, "%d signatures of two bodies", len(signatures))
}
