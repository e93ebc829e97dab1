package dynamo_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dev/faulty"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/dynamo/streams"
	"github.com/streamsort/streamsort/pkg/table"
)

type attributes = map[string]types.AttributeValue

func put(ctx context.Context, client *dynamodb.Client, name, value string) error {
	_, err := client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                           &name,
		Item:                                attributes{"p": &types.AttributeValueMemberS{Value: "x"}, "v": &types.AttributeValueMemberS{Value: value}},
		ConditionExpression:                 aws.String("attribute_not_exists(p)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	return err
}

func TestOnServers(t *testing.T) {
	ddbtest.EachServer(t, func(t *testing.T, kind ddbtest.Kind) {
		endpoint := ddbtest.Endpoint(t, kind)
		client := check.Get(dynamo.New(&dynamo.Options{Endpoint: endpoint, MaxAttempts: 1}))
		definition := table.Definition{
			Name: "errors" + ddbtest.Suffix(), Partition: table.Key{Name: "p", Type: table.String}, Stream: table.KeysOnly,
		}
		check.OK(t, table.Create(t.Context(), client, definition))
		check.OK(t, put(t.Context(), client, definition.Name, "first"))
		there, failed := dynamo.ConditionFailed(put(t.Context(), client, definition.Name, "second"))
		if v, ok := there["v"].(*types.AttributeValueMemberS); !failed || !ok || v.Value != "first" {
			t.Errorf("a put over another: failed %v, item %v", failed, there)
		}
		check.Fails(t, dynamo.Translate(t.Context(), put(t.Context(), client, definition.Name+"-other", "x")), ddb.ErrNoTable)
		large := dynamo.Translate(t.Context(), put(t.Context(), client, definition.Name, strings.Repeat("x", 401*1024)))
		check.That(t, errors.Is(large, ddb.ErrTooLarge), "an item over 400 KB: error %v", large)
		reader := check.Get(streams.New(endpoint))
		out, err := reader.ListStreams(t.Context(), nil)
		check.That(t, err == nil && len(out.Streams) != 0, "streams %+v, %v", out, err)
	})
}

func TestTranslate(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   error
	}{
		"throughput": {400, `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"}`, ddb.ErrThrottled},
		"throttling": {400, `{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException"}`, ddb.ErrThrottled},
		"account":    {400, `{"__type":"com.amazonaws.dynamodb.v20120810#RequestLimitExceeded"}`, ddb.ErrThrottled},
		"fault":      {500, `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError"}`, ddb.ErrUnavailable},
		"gateway":    {503, `<html>`, ddb.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/x-amz-json-1.0")
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer server.Close()
			client := check.Get(dynamo.New(&dynamo.Options{Endpoint: server.URL, MaxAttempts: 1}))
			check.Fails(t, dynamo.Translate(t.Context(), put(t.Context(), client, "any", "x")), c.want, c.want)
		})
	}
	client := check.Get(dynamo.New(&dynamo.Options{Endpoint: "http://127.0.0.1:1", MaxAttempts: 1}))
	check.Fails(t, dynamo.Translate(t.Context(), put(t.Context(), client, "any", "x")), ddb.ErrUnavailable)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := dynamo.Translate(ctx, put(ctx, client, "any", "x")); !errors.Is(err, context.Canceled) || errors.Is(err, ddb.ErrUnavailable) {
		t.Errorf("an ended context: error %v", err)
	}
	if err := timedOut(t, t.Context()); !errors.Is(err, ddb.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a time-out of the client: error %v", err)
	}
	ctx, cancel = context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	if err := timedOut(t, ctx); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ddb.ErrUnavailable) {
		t.Errorf("an ended context: error %v", err)
	}
	check.That(t, dynamo.Translate(t.Context(), nil) == nil, "nil became an error")
	_, failed := dynamo.ConditionFailed(nil)
	check.That(t, !failed, "nil is a failed condition")
}

// timedOut is the error of a put whose response comes too late for the client, or for
// the context.
func timedOut(t *testing.T, ctx context.Context) error {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	network := faulty.New(http.DefaultTransport)
	network.Fail(1, faulty.TimedOut)
	client := check.Get(dynamo.New(&dynamo.Options{Endpoint: server.URL, Transport: network, MaxAttempts: 1}))
	return dynamo.Translate(ctx, put(ctx, client, "any", "x"))
}

// closing closes a request's body before net/http has looked whether there is more of
// it than was announced, as the SDK may.
type closing struct {
	next http.RoundTripper
	err  error
}

func (c *closing) RoundTrip(r *http.Request) (*http.Response, error) {
	whole, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	_ = r.Body.Close()
	_, c.err = io.Copy(io.Discard, r.Body)
	again := *r
	again.Body = io.NopCloser(bytes.NewReader(whole))
	return c.next.RoundTrip(&again)
}

// TestClosedBodyIsAtItsEnd: what is left of a closed body is nothing, and no error, for
// which net/http closes the connection under the response that is being read.
func TestClosedBodyIsAtItsEnd(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_, _ = io.WriteString(w, `{"TableNames":[]}`)
	}))
	defer server.Close()
	network := &closing{next: dynamo.Transport()}
	client := check.Get(dynamo.New(&dynamo.Options{Endpoint: server.URL, Transport: network, MaxAttempts: 1}))
	if _, err := client.ListTables(t.Context(), &dynamodb.ListTablesInput{}); err != nil || network.err != nil {
		t.Errorf("a list of tables: %v; the rest of a closed body: %v", err, network.err)
	}
}
