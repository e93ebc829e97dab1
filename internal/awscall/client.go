package awscall

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/streamsort/streamsort/internal/awsenv"
	"github.com/streamsort/streamsort/internal/pause"
)

// Service is a service, by the name that its hosts begin with and that requests to it are signed
// for.
type Service string

const (
	Lambda      Service = "lambda"
	SQS         Service = "sqs"
	SNS         Service = "sns"
	EventBridge Service = "events"
	S3          Service = "s3"

	SecretsManager Service = "secretsmanager"
	SystemsManager Service = "ssm"
)

// variable is the service's name in AWS_ENDPOINT_URL_….
func (s Service) variable() string {
	switch s {
	case EventBridge:
		return "EVENTBRIDGE"
	case SecretsManager:
		return "SECRETS_MANAGER"
	}
	return strings.ToUpper(string(s))
}

// Options are what New can do without.
type Options struct {
	// Region is where the service is; empty means the environment's.
	Region string
	// Transport makes the requests; nil means http.DefaultTransport.
	Transport http.RoundTripper
	// Timeout bounds one try of a request; 0 means that only the context does.
	Timeout time.Duration
	// Retryer says what is tried again; nil means the SDK's standard one.
	Retryer aws.RetryerV2
	// Untraced leaves the trace out of requests: what they cause is no part of a circle of
	// functions, as with a stream between them.
	Untraced bool
	// Chain is where we are and who, for what is no function; nil means the environment's. An
	// endpoint of the environment counts all the same.
	Chain *awsenv.Settings
}

// Client calls one service in one region. It may be used by any number of goroutines.
type Client struct {
	service     Service
	endpoint    string // without a slash at its end
	region      string
	credentials aws.CredentialsProvider
	http        *http.Client
	retryer     aws.RetryerV2
	signer      *v4.Signer
	untraced    bool
}

// New returns a client of a service. Where it is and who we are there is read from the environment,
// as package awsenv does. It makes no request.
func New(service Service, o Options) (*Client, error) {
	env, err := awsenv.Read(service.variable(), "")
	if o.Chain != nil {
		env.Region, env.Credentials, err = o.Chain.Region, o.Chain.Credentials, nil
	}
	if err != nil {
		return nil, err
	}
	c := &Client{
		service: service, region: env.Region, credentials: env.Credentials,
		signer: v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = service == S3 }),
		http:   &http.Client{Transport: o.Transport, Timeout: o.Timeout}, retryer: o.Retryer,
		untraced: o.Untraced,
	}
	if o.Region != "" {
		c.region = o.Region
	}
	_, domain := Partition(c.region)
	c.endpoint = "https://" + string(service) + "." + c.region + "." + domain
	if env.Endpoint != nil {
		c.endpoint = strings.TrimSuffix(*env.Endpoint, "/")
	}
	if c.retryer == nil {
		c.retryer = retry.NewStandard()
	}
	return c, nil
}

// Endpoint is the service's address, without a slash at its end.
func (c *Client) Endpoint() string { return c.endpoint }

// request is a POST, where no method is given.
type request struct {
	method string
	path   string // begins with a slash; encoded as it is sent
	header map[string]string
	body   []byte
	// words reads an error's code and message from an answer that is no JSON; nil where all are.
	words func(body []byte) (code, message string)
	// most is how many bytes the answer may have; maxResponse where it is 0.
	most int64
}

// response is an answer whose status is below 300.
type response struct {
	status int
	header http.Header
	body   []byte
}

// do makes a request, and makes it again where the retryer says so.
func (c *Client) do(ctx context.Context, r request) (*response, error) {
	release, err := c.retryer.GetAttemptToken(ctx)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		answer, err := c.try(ctx, r)
		_ = release(err)
		if err == nil {
			return answer, nil
		}
		if ctx.Err() != nil || attempt >= c.retryer.MaxAttempts() || !c.retryer.IsErrorRetryable(err) {
			return nil, err
		}
		again, refused := c.retryer.GetRetryToken(ctx, err)
		if refused != nil {
			return nil, err // too much has failed of late to try again
		}
		release = again
		delay, refused := c.retryer.RetryDelay(attempt, err)
		if refused != nil || pause.For(ctx, delay) != nil {
			return nil, err
		}
	}
}

// maxResponse is more than any answer has: Lambda's are 6 MB at most.
const maxResponse = 8 << 20

// try makes a request once. An answer of 300 and more is an [*Error].
func (c *Client) try(ctx context.Context, r request) (*response, error) {
	out, err := http.NewRequestWithContext(ctx, cmp.Or(r.method, http.MethodPost), c.endpoint+r.path,
		bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	out.Header.Set("User-Agent", "streamsort")
	// By the trace, Lambda finds functions that call each other in circles. It is in the
	// environment alone, and the runtime puts another there for each invocation: so it is read for
	// each request, and cannot be one of the options.
	if trace := os.Getenv("_X_AMZN_TRACE_ID"); trace != "" && !c.untraced &&
		os.Getenv("AWS_LAMBDA_FUNCTION_NAME") != "" {
		out.Header.Set("X-Amzn-Trace-Id", trace)
	}
	for name, value := range r.header {
		out.Header.Set(name, value)
	}
	keys, err := c.credentials.Retrieve(ctx)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(r.body)
	digest := hex.EncodeToString(sum[:])
	if c.service == S3 {
		out.Header.Set("X-Amz-Content-Sha256", digest)
	}
	if err := c.signer.SignHTTP(ctx, keys, out, digest, string(c.service), c.region,
		time.Now().UTC()); err != nil {
		return nil, err
	}
	in, err := c.http.Do(out)
	if err != nil {
		return nil, &smithyhttp.RequestSendError{Err: err}
	}
	defer func() { _ = in.Body.Close() }()
	most := cmp.Or(r.most, maxResponse)
	body, err := io.ReadAll(io.LimitReader(in.Body, most+1))
	switch {
	case err != nil:
		return nil, &smithyhttp.RequestSendError{Err: err}
	case int64(len(body)) > most:
		return nil, fmt.Errorf("the answer has more than %d bytes", most)
	case in.StatusCode >= http.StatusMultipleChoices:
		return nil, newError(in.StatusCode, in.Header, body, r.words)
	}
	return &response{in.StatusCode, in.Header, body}, nil
}

// Partition is the part of AWS that a region is in, as ARNs name it, and what the names of its
// hosts end with.
func Partition(region string) (name, domain string) {
	for _, p := range []struct{ prefix, name, domain string }{
		{"cn-", "aws-cn", "amazonaws.com.cn"},
		{"us-gov-", "aws-us-gov", "amazonaws.com"},
		{"eusc-", "aws-eusc", "amazonaws.eu"},
		{"us-iso-", "aws-iso", "c2s.ic.gov"},
		{"us-isob-", "aws-iso-b", "sc2s.sgov.gov"},
		{"us-isof-", "aws-iso-f", "csp.hci.ic.gov"},
		{"eu-isoe-", "aws-iso-e", "cloud.adc-e.uk"},
	} {
		if strings.HasPrefix(region, p.prefix) {
			return p.name, p.domain
		}
	}
	return "aws", "amazonaws.com"
}

// Error is an answer of AWS that is no success. The retryer reads it by its methods.
type Error struct {
	// Status is HTTP's.
	Status int
	// Code and Message are the service's words; empty where it had none. They are cut at 512 bytes.
	Code, Message string
}

func (e *Error) Error() string {
	return strings.TrimRight(fmt.Sprintf("status %d: %s: %s", e.Status, e.Code, e.Message), ": ")
}

// HTTPStatusCode is the status.
func (e *Error) HTTPStatusCode() int { return e.Status }

// ErrorCode is the code.
func (e *Error) ErrorCode() string { return e.Code }

// newError reads an answer as JSON, and by words, where that is not nil. A code may have a
// namespace before a '#', and an address behind a ':'.
func newError(status int, header http.Header, body []byte,
	words func([]byte) (code, message string)) *Error {
	var said struct {
		Type    string `json:"__type"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	// What is neither has no words: the status stands for it.
	_ = json.Unmarshal(body, &said)
	if words != nil && said.Message == "" {
		said.Code, said.Message = words(body)
	}
	code := cmp.Or(header.Get("X-Amzn-Errortype"), said.Type, said.Code)
	code, _, _ = strings.Cut(code[strings.LastIndex(code, "#")+1:], ":")
	return &Error{Status: status, Code: bounded(code), Message: bounded(said.Message)}
}

// maxText bounds what is kept of a service's own words, in bytes.
const maxText = 512

func bounded(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxText)], "") }
