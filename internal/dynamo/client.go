// Package dynamo is the one place that knows how to reach DynamoDB: it builds the client from the
// environment ([New]), says in few words what went wrong ([Translate]), and
// makes tables from their definitions ([CreateTable]). Package streams has the client of the
// streams' API, which no function calls: Lambda reads the streams.
//
// It stores nothing and decides nothing: what a failed condition means is the business of the
// package that made the request.
package dynamo

import (
	"cmp"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/awsenv"
)

// Options are the parts of a client that have defaults. A nil Options means all of them.
type Options struct {
	// Endpoint overrides the environment's.
	Endpoint string
	// AWS overrides all that is read from the environment; Endpoint too.
	AWS *awsenv.Settings
	// Transport overrides the network, for a meter or for faults.
	Transport http.RoundTripper
	// MaxAttempts is how often the SDK makes a request at most, 3 where it is 0.
	MaxAttempts int
}

// HTTPClient keeps enough connections open for a group put's parallel writes: net/http keeps two,
// and every further one would pay for a handshake. The time-outs are those of a small request: one
// that hangs is repeated within the call that asked for it.
func HTTPClient(transport http.RoundTripper) *http.Client {
	if transport == nil {
		transport = Transport()
	}
	return &http.Client{Transport: plainBody{transport}, Timeout: 10 * time.Second}
}

// plainBody gives the network request bodies that can only be read. The SDK closes a body when its
// response begins, and the WriteTo of a closed body answers io.EOF, which net/http takes for a
// failure if it is just then looking whether there is more of the body than was announced: it
// closes the connection while the response is being read.
type plainBody struct{ next http.RoundTripper }

func (p plainBody) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		plain := *r
		plain.Body = struct{ io.ReadCloser }{r.Body}
		r = &plain
	}
	return p.next.RoundTrip(r)
}

// Transport is the network as the clients use it.
func Transport() *http.Transport {
	dialer := &net.Dialer{Timeout: 2 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		DialContext:           dialer.DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          256,
		MaxIdleConnsPerHost:   256,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   3 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

// New returns a DynamoDB client for the environment: AWS_REGION and the keys as Lambda gives them,
// AWS_ENDPOINT_URL_DYNAMODB or AWS_ENDPOINT_URL where one is set. The error names the variable that
// is missing. It makes no request.
func New(options *Options) (*dynamodb.Client, error) {
	if options == nil {
		options = &Options{}
	}
	s, err := awsenv.Read("DYNAMODB", options.Endpoint)
	if options.AWS != nil {
		s, err = *options.AWS, nil
	}
	if err != nil {
		return nil, err
	}
	return dynamodb.New(dynamodb.Options{
		Region:       s.Region,
		Credentials:  s.Credentials,
		BaseEndpoint: s.Endpoint,
		HTTPClient:   HTTPClient(options.Transport),
		// The SDK's own, with its back-off: it repeats a write whose response was lost, which every
		// write here is made for.
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts = cmp.Or(options.MaxAttempts, retry.DefaultMaxAttempts)
		}),
	}), nil
}
