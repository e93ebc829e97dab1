package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// reply is what the client gets.
type reply struct {
	status  int
	header  http.Header
	cookies []string
	body    []byte
}

// newReply reads what a function answered in payload format 2.0. An answer without a statusCode is
// the body itself, sent as JSON with status 200 ("Lambda function response for format 2.0", API
// Gateway Developer Guide). contentType is what an answer with a statusCode has where it names
// none.
func newReply(payload []byte, contentType string) (reply, error) {
	if !json.Valid(payload) {
		return reply{}, errors.New("the function's answer is not JSON")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(payload, &fields); err != nil || fields["statusCode"] == nil {
		return inferred(payload), nil
	}
	status, err := statusCode(fields["statusCode"])
	if err != nil {
		return reply{}, err
	}
	r := reply{status: status, header: http.Header{"Content-Type": {contentType}}}
	if err := r.readHeaders(fields["headers"]); err != nil {
		return reply{}, err
	}
	if err := optional(fields["cookies"], &r.cookies); err != nil {
		return reply{}, fmt.Errorf("cookies: %w", err)
	}
	var body string
	if err := optional(fields["body"], &body); err != nil {
		return reply{}, fmt.Errorf("body: %w", err)
	}
	r.body = []byte(body)
	var encoded bool
	if err := optional(fields["isBase64Encoded"], &encoded); err != nil {
		return reply{}, fmt.Errorf("isBase64Encoded: %w", err)
	}
	if encoded {
		if r.body, err = base64.StdEncoding.DecodeString(body); err != nil {
			return reply{}, fmt.Errorf("body: %w", err)
		}
	}
	return r, nil
}

// inferred is an answer that is the body: a string's text, else its JSON.
func inferred(payload []byte) reply {
	body := payload
	var text string
	if json.Unmarshal(payload, &text) == nil && bytes.HasPrefix(payload, []byte(`"`)) {
		body = []byte(text)
	}
	return reply{status: http.StatusOK, header: http.Header{"Content-Type": {"application/json"}},
		body: body}
}

func optional(raw json.RawMessage, into any) error {
	if raw == nil {
		return nil
	}
	return json.Unmarshal(raw, into)
}

// statusCode takes a number, or a number in a string.
func statusCode(raw json.RawMessage) (int, error) {
	status, err := strconv.Atoi(string(bytes.Trim(raw, `"`)))
	if err != nil || status < 200 || status > 599 {
		return 0, fmt.Errorf("statusCode must be from 200 to 599, not %s", raw)
	}
	return status, nil
}

// The server sets these itself.
var ownHeaders = map[string]bool{"Connection": true, "Content-Length": true,
	"Transfer-Encoding": true}

func (r *reply) readHeaders(raw json.RawMessage) error {
	var values map[string]any
	if err := optional(raw, &values); err != nil {
		return fmt.Errorf("headers: %w", err)
	}
	for name, value := range values {
		switch value.(type) {
		case string, bool, float64:
			if name = http.CanonicalHeaderKey(name); !ownHeaders[name] {
				r.header.Set(name, fmt.Sprint(value))
			}
		default:
			return fmt.Errorf("headers: %s must be a string", name)
		}
	}
	return nil
}

func (r reply) write(w http.ResponseWriter) {
	for name, values := range r.header {
		w.Header()[name] = values
	}
	for _, cookie := range r.cookies {
		w.Header().Add("Set-Cookie", cookie)
	}
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body)
}

// problem is an answer of the front door itself.
func problem(w http.ResponseWriter, status int, message string) {
	body, _ := json.Marshal(map[string]string{"message": message})
	reply{status: status, header: http.Header{"Content-Type": {"application/json"}},
		body: body}.write(w)
}
