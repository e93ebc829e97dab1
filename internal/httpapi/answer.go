package httpapi

import (
	"encoding/json"
	"maps"
	"strconv"

	"github.com/streamsort/streamsort/internal/strictjson"
)

// response is what API Gateway and function URLs take, in both versions.
type response struct {
	StatusCode      int               `json:"statusCode"`
	Headers         map[string]string `json:"headers"`
	Body            string            `json:"body"`
	IsBase64Encoded bool              `json:"isBase64Encoded"`
}

// Text is an answer that is no document, with headers of its own.
type Text struct {
	Text    string
	Headers map[string]string
}

// Answer writes a document, which must have a member "status" of the same value, or a [Text], in
// the shape that the request came in.
func (r *Request) Answer(status int, document any) (json.RawMessage, error) {
	if text, is := document.(Text); is {
		// What a sender sent must not become a page.
		headers := map[string]string{"content-type": "text/plain; charset=utf-8",
			"x-content-type-options": "nosniff"}
		maps.Copy(headers, text.Headers)
		return strictjson.Marshal(response{StatusCode: status, Headers: headers, Body: text.Text})
	}
	return r.write(status, map[string]string{"content-type": "application/json"}, document)
}

// Problem writes a problem document in the shape that the request came in.
func (r *Request) Problem(p *Problem) (json.RawMessage, error) {
	headers := map[string]string{"content-type": "application/problem+json"}
	if p.RetryAfter > 0 {
		headers["retry-after"] = strconv.Itoa(p.RetryAfter)
	}
	if p.Allow != "" {
		headers["allow"] = p.Allow
	}
	if p.AcceptEncoding != "" {
		headers["accept-encoding"] = p.AcceptEncoding
	}
	return r.write(p.Status, headers, p.document())
}

func (r *Request) write(status int, headers map[string]string,
	document any) (json.RawMessage, error) {
	body, err := strictjson.Marshal(document)
	if err != nil || r.shape == direct {
		return body, err
	}
	return strictjson.Marshal(response{StatusCode: status, Headers: headers, Body: string(body)})
}
