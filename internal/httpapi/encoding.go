package httpapi

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/streamsort/streamsort/pkg/invalid"
)

// unpack takes the body's Content-Encoding away, within MaxBody bytes.
func (r *Request) unpack() error {
	given := r.Headers["content-encoding"]
	switch strings.ToLower(strings.TrimSpace(given)) {
	case "", "identity":
		return nil
	case "gzip", "x-gzip":
	default:
		p := refuses(http.StatusUnsupportedMediaType, "encoding",
			"The body has an encoding that is not taken", FieldError{Field: "content-encoding",
				Code: invalid.Unknown, Detail: fmt.Sprintf("is %.40q: it must be gzip, or missing", given)})
		p.AcceptEncoding = "gzip"
		return p
	}
	body, err := gunzip(r.Body)
	switch {
	case err != nil:
		return invalid.New(invalid.Malformed, RequestBody,
			"is not gzip, and its Content-Encoding says so: "+err.Error())
	case len(body) > MaxBody:
		return tooLarge()
	}
	r.Body, r.Packed = body, r.Body
	return nil
}

// gunzip unpacks one byte more than MaxBody at most.
func gunzip(packed []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(reader, MaxBody+1))
}

func tooLarge() *Problem {
	return refuses(http.StatusRequestEntityTooLarge, "too-large", "The request is too large",
		FieldError{Field: RequestBody, Code: invalid.TooLarge,
			Detail: fmt.Sprintf("has more than %d bytes", MaxBody)})
}
