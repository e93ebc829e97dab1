package deduplambda

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"github.com/streamsort/streamsort/pkg/dedup"
)

// HTTPv2 wraps a handler of an HTTP API (payload version 2.0): a request with the header
// Idempotency-Key runs once for its method, path, authenticated caller and key, and a repeated one
// gets the remembered status, headers and body, with Idempotency-Replayed: true. One that comes
// while the first one runs waits as Options.Wait of the Deduplicator says: with [dedup.NoWait] it
// is answered at once.
//
// 400: no key. 409 with Retry-After: the first request is not answered yet. 409 without:
// quarantined. 422: the key was used with another query or body. 503: the table is not there at the
// moment, or the deadline is too near.
func HTTPv2(d *dedup.Deduplicator[string, Response],
	handle func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse,
		error), options *HTTPOptions) func(context.Context,
	events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	return func(ctx context.Context,
		event events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		if handle == nil {
			return events.APIGatewayV2HTTPResponse{}, missing("handler")
		}
		r := request{
			method: event.RequestContext.HTTP.Method, path: event.RawPath, query: event.RawQueryString,
			body: body(event.Body, event.IsBase64Encoded), headers: event.Headers,
			caller: callerV2(event.RequestContext.Authorizer, options),
		}
		response, err := serveHTTP(ctx, d, r, options, func(ctx context.Context) (Response, error) {
			made, err := handle(ctx, event)
			return Response{
				Status: made.StatusCode, Headers: made.Headers, Multi: made.MultiValueHeaders,
				Cookies: made.Cookies, Body: made.Body, Base64: made.IsBase64Encoded,
			}, err
		})
		return events.APIGatewayV2HTTPResponse{
			StatusCode: response.Status, Headers: response.Headers, MultiValueHeaders: response.Multi,
			Cookies: response.Cookies, Body: response.Body, IsBase64Encoded: response.Base64,
		}, err
	}
}

// HTTPv1 is [HTTPv2] for a REST API, and for payload version 1.0.
func HTTPv1(d *dedup.Deduplicator[string, Response],
	handle func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse,
		error), options *HTTPOptions) func(context.Context,
	events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
	return func(ctx context.Context,
		event events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		if handle == nil {
			return events.APIGatewayProxyResponse{}, missing("handler")
		}
		r := request{
			method: event.HTTPMethod, path: event.Path, query: queryV1(event),
			body: body(event.Body, event.IsBase64Encoded), headers: event.Headers,
			multi:  event.MultiValueHeaders,
			caller: callerV1(event.RequestContext, options),
		}
		response, err := serveHTTP(ctx, d, r, options, func(ctx context.Context) (Response, error) {
			made, err := handle(ctx, event)
			return Response{
				Status: made.StatusCode, Headers: made.Headers, Multi: made.MultiValueHeaders,
				Body: made.Body, Base64: made.IsBase64Encoded,
			}, err
		})
		return events.APIGatewayProxyResponse{
			StatusCode: response.Status, Headers: response.Headers, MultiValueHeaders: response.Multi,
			Body: response.Body, IsBase64Encoded: response.Base64,
		}, err
	}
}

// FunctionURL is [HTTPv2] for a function URL.
func FunctionURL(d *dedup.Deduplicator[string, Response],
	handle func(context.Context, events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse,
		error), options *HTTPOptions) func(context.Context,
	events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
	return func(ctx context.Context,
		event events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
		if handle == nil {
			return events.LambdaFunctionURLResponse{}, missing("handler")
		}
		r := request{
			method: event.RequestContext.HTTP.Method, path: event.RawPath, query: event.RawQueryString,
			body: body(event.Body, event.IsBase64Encoded), headers: event.Headers,
		}
		if a := event.RequestContext.Authorizer; a != nil && a.IAM != nil {
			r.caller = a.IAM.UserARN
		}
		response, err := serveHTTP(ctx, d, r, options, func(ctx context.Context) (Response, error) {
			made, err := handle(ctx, event)
			return Response{
				Status: made.StatusCode, Headers: made.Headers, Cookies: made.Cookies,
				Body: made.Body, Base64: made.IsBase64Encoded,
			}, err
		})
		return events.LambdaFunctionURLResponse{
			StatusCode: response.Status, Headers: response.Headers, Cookies: response.Cookies,
			Body: response.Body, IsBase64Encoded: response.Base64,
		}, err
	}
}

// callerV2 is who is authenticated: by IAM, by the issuer and subject of a token, or as a Lambda
// authorizer says.
func callerV2(a *events.APIGatewayV2HTTPRequestContextAuthorizerDescription,
	options *HTTPOptions) string {
	switch {
	case a == nil:
		return ""
	case a.IAM != nil:
		return a.IAM.UserARN
	case a.JWT != nil:
		return fmt.Sprintf("%q %q", a.JWT.Claims["iss"], a.JWT.Claims["sub"])
	}
	return options.authorized(a.Lambda)
}

func callerV1(c events.APIGatewayProxyRequestContext, options *HTTPOptions) string {
	if arn := c.Identity.UserArn; arn != "" {
		return arn
	}
	if claims, ok := c.Authorizer["claims"].(map[string]any); ok {
		return fmt.Sprintf("%q %q", fmt.Sprint(claims["iss"]), fmt.Sprint(claims["sub"]))
	}
	return options.authorized(c.Authorizer)
}

// body is what the client sent; a body that says that it is base64 and is not stays as it is.
func body(text string, inBase64 bool) string {
	if inBase64 {
		if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
			return string(decoded)
		}
	}
	return text
}

// queryV1 is the query in one order, with its values kept apart.
func queryV1(event events.APIGatewayProxyRequest) string {
	if len(event.MultiValueQueryStringParameters) > 0 {
		return fmt.Sprintf("%q", event.MultiValueQueryStringParameters) // sorted by name
	}
	return fmt.Sprintf("%q", event.QueryStringParameters)
}
