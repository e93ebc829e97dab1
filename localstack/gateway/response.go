package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
	var headers map[string]any
	var body string
	var encoded bool
	for name, into := range map[string]any{"headers": &headers, "cookies": &r.cookies, "body": &body,
		"isBase64Encoded": &encoded} {
		if fields[name] == nil {
			continue
		}
		if err := json.Unmarshal(fields[name], into); err != nil {
			return reply{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := r.setHeaders(headers); err != nil {
		return reply{}, err
	}
	r.body = []byte(body)
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
	return reply{status: http.StatusOK,
		header: http.Header{"Content-Type": {"application/json"}}, body: body}
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

func (r *reply) setHeaders(values map[string]any) error {
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
	maps.Copy(w.Header(), r.header)
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
