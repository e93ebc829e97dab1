package producer

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/awschain"
	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Transport makes a request once; the producer repeats. Any number of goroutines call it.
type Transport interface {
	// Put brings the API a put of several messages, {"messages":[…]}, and returns what is answered,
	// whatever the status. The error is that of a request without an answer: the messages may be
	// stored then. The body is not changed any more.
	Put(ctx context.Context, body []byte) (Answer, error)
}

// Answer is what came back.
type Answer struct {
	Status int
	Body   []byte
	// RetryAfter is how long the answer asks to wait.
	RetryAfter time.Duration
	// opaque: a failure that says nothing of the messages, some of which may be stored.
	opaque bool
}

// HTTP is the API at a URL, such as http://127.0.0.1:3000 or
// https://ID.execute-api.REGION.amazonaws.com, or a function URL. Requests to AWS's own names are
// signed for IAM with the credentials of the standard chain, which are fetched anew when they run
// out.
func HTTP(base string) (Transport, error) { return overHTTP(client.New(base)) }

// Signed is [HTTP] for an API at a custom domain, which its name does not tell: its requests are
// signed for a region, or for that of the configuration where it is empty.
func Signed(base, region string) (Transport, error) {
	return overHTTP(client.Open(client.Access{URL: base, Sign: true, Region: region}))
}

// WithToken is the tenants' API at a URL. token is called for every request, for a JWT that is good
// for some seconds at least.
func WithToken(base string, token func(context.Context) (string, error)) (Transport, error) {
	return overHTTP(client.Open(client.Access{URL: base, Token: token}))
}

type api struct{ client *client.Client }

func overHTTP(c *client.Client, err error) (Transport, error) {
	if err != nil {
		return nil, err
	}
	return api{c}, nil
}

func (t api) Put(ctx context.Context, body []byte) (Answer, error) {
	a, err := t.client.Once(ctx, http.MethodPost, "/messages", nil, body)
	return Answer{Status: a.Status, Body: a.Body, RetryAfter: a.RetryAfter}, err
}

// Invoke is the function enqueue by a direct invoke, with the credentials of the standard chain.
// function is its ARN or name with an alias: enqueue:put, which is all that the caller must be
// allowed to call, or enqueue:live. By the alias put, messages that may pass later are an error of
// the function that does not say which they are, so that the producer looks for them with smaller
// and smaller requests: where queues have a maxAhead, take live. An empty region is that of the
// ARN, or of the configuration. AWS_ENDPOINT_URL_LAMBDA counts.
func Invoke(function, region string) (Transport, error) {
	if function == "" {
		return nil, invalid.New(invalid.Missing, "function",
			"is missing: it must be a name or an ARN, with an alias")
	}
	chain, err := awschain.Read()
	if err != nil {
		return nil, err
	}
	if region == "" {
		parsed, _ := arn.Parse(function)
		region = parsed.Region // empty where the function has but a name
	}
	lambda, err := awscall.New(awscall.Lambda,
		awscall.Options{Region: region, Retryer: aws.NopRetryer{}, Chain: &chain})
	if err != nil {
		return nil, err
	}
	return invoke{lambda, function}, nil
}

type invoke struct {
	lambda   *awscall.Client
	function string
}

// asPut tells a function without the alias put that the document is a put, and no event.
var asPut = base64.StdEncoding.EncodeToString([]byte(`{"custom":{"operation":"put"}}`))

func (t invoke) Put(ctx context.Context, body []byte) (Answer, error) {
	called, err := t.lambda.InvokeWith(ctx, t.function, awscall.RequestResponse, asPut, body)
	if err != nil {
		return Answer{}, err
	}
	if called.FunctionError != "" {
		var failure struct{ ErrorMessage string }
		_ = json.Unmarshal(called.Payload, &failure)
		detail, err := json.Marshal(map[string]string{"detail": failure.ErrorMessage})
		return Answer{Status: http.StatusBadGateway, Body: detail, opaque: true}, err
	}
	var status struct{ Status int }
	if err := json.Unmarshal(called.Payload, &status); err != nil {
		return Answer{}, err
	}
	return Answer{Status: status.Status, Body: called.Payload}, nil
}
