package ministack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Name is what the server is called; the rest is the account's root, where it asks who calls.
const (
	Name        = "MiniStack"
	Region      = "us-east-1"
	Account     = "000000000000"
	AccessKeyID = "test"
	SecretKey   = "test"
)

// Request makes a request of a service as the account's root, and returns what it answers. An
// answer that is no success is an error with the answer's text.
func (s *Server) Request(ctx context.Context, service, method, path string,
	body []byte) ([]byte, error) {
	return s.send(ctx, service, method, path, http.Header{"Content-Type": {"application/json"}}, body)
}

// send is Request with a header of the caller's.
func (s *Server) send(ctx context.Context, service, method, path string, header http.Header,
	body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.Endpoint+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256(body)
	sum := hex.EncodeToString(hash[:])
	request.Header = header
	request.Header.Set("X-Amz-Content-Sha256", sum)
	keys := aws.Credentials{AccessKeyID: AccessKeyID, SecretAccessKey: SecretKey}
	if err := v4.NewSigner().SignHTTP(ctx, keys, request, sum, service, Region,
		time.Now()); err != nil {
		return nil, err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 != 2 {
		return nil, refused(response.Status, text)
	}
	return text, nil
}

// RefusedError is an answer that is no success.
type RefusedError struct {
	// Status is that of HTTP, Text the answer.
	Status, Text string
	// Type is what a service whose protocol is JSON calls the error.
	Type string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("MiniStack answered %s: %s", e.Status, e.Text)
}

func refused(status string, text []byte) *RefusedError {
	var said struct {
		Type string `json:"__type"`
	}
	_ = json.Unmarshal(text, &said) // other protocols have no such type
	return &RefusedError{Status: status, Text: string(text),
		Type: said.Type[strings.LastIndex(said.Type, "#")+1:]}
}

// NoResource reports whether a call failed because what it names is not there.
func NoResource(err error) bool {
	var refused *RefusedError
	return errors.As(err, &refused) && refused.Type == "ResourceNotFoundException"
}

// JSON makes a call of a service whose protocol is JSON: target is its X-Amz-Target, such as
// "Logs_20140328.FilterLogEvents".
func (s *Server) JSON(ctx context.Context, service, target string, input, output any) error {
	body, err := json.Marshal(input)
	if err != nil {
		return err
	}
	header := http.Header{"Content-Type": {"application/x-amz-json-1.1"}, "X-Amz-Target": {target}}
	text, err := s.send(ctx, service, http.MethodPost, "", header, body)
	if err != nil {
		return fmt.Errorf("%s: %w", target, err)
	}
	return json.Unmarshal(text, output)
}
