package webhook

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
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/streamsort/streamsort/internal/awsenv"
	"github.com/streamsort/streamsort/internal/dynamo"
)

// Store fetches secrets from Secrets Manager and Systems Manager. Each is one
// call of one operation: it is made and signed here, by the SDK's signer, as the
// clients of the two services would make the function half as large again.
type Store struct {
	client *http.Client
	signer *v4.Signer
	// secrets and parameters are how the two services are reached.
	secrets, parameters awsenv.Settings
}

// Bounds of a fetch: it must leave time to store the message.
const (
	fetchTimeout = 3 * time.Second
	// maxValue bounds an answer: a secret has 64 KB at most.
	maxValue = 1 << 20
	attempts = 2
)

// NewStore returns the Store of the environment: the keys as Lambda gives them,
// AWS_ENDPOINT_URL_SECRETS_MANAGER, AWS_ENDPOINT_URL_SSM or AWS_ENDPOINT_URL where
// one is set. The error names the variable that is missing. It makes no request.
func NewStore() (*Store, error) {
	s := &Store{
		client: &http.Client{
			Transport: dynamo.Transport(), Timeout: fetchTimeout,
			// A signed request goes where it was meant to go, or nowhere.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		signer: v4.NewSigner(),
	}
	var err error
	if s.secrets, err = awsenv.Read("SECRETS_MANAGER", ""); err != nil {
		return nil, err
	}
	s.parameters, err = awsenv.Read("SSM", "")
	return s, err
}

// Fetch is the value of a secret. A call that was not answered, or with an error
// of the other side, is made once more. The error holds nothing of the value.
func (s *Store) Fetch(ctx context.Context, of Reference) (string, error) {
	for attempt := 1; ; attempt++ {
		text, again, err := s.fetchOnce(ctx, of)
		if err == nil || !again || attempt == attempts || ctx.Err() != nil {
			return text, err
		}
	}
}

func (s *Store) fetchOnce(ctx context.Context, of Reference) (text string, again bool, err error) {
	request, err := s.request(ctx, of)
	if err != nil {
		return "", false, err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return "", true, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxValue))
	if err != nil {
		return "", true, err
	}
	if response.StatusCode != http.StatusOK {
		return "", response.StatusCode >= http.StatusInternalServerError, refused(response.StatusCode, answer)
	}
	var value struct {
		SecretString *string
		Parameter    struct{ Value *string }
	}
	if err := json.Unmarshal(answer, &value); err != nil {
		return "", false, errors.New("the answer is not JSON") // err might quote it
	}
	for _, text := range []*string{value.SecretString, value.Parameter.Value} {
		if text != nil {
			return *text, false, nil
		}
	}
	return "", false, errors.New("has no text: a secret of bytes is not taken")
}

// request is the signed call of GetSecretValue or GetParameter.
func (s *Store) request(ctx context.Context, of Reference) (*http.Request, error) {
	settings, target := s.secrets, "secretsmanager.GetSecretValue"
	input := map[string]any{"SecretId": of.String()}
	if of.IsParameter() {
		settings, target = s.parameters, "AmazonSSM.GetParameter"
		input = map[string]any{"Name": of.String(), "WithDecryption": true}
	}
	body, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}
	address := "https://" + of.host()
	if settings.Endpoint != nil {
		address = *settings.Endpoint
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.1")
	request.Header.Set("X-Amz-Target", target)
	var keys aws.Credentials
	if keys, err = settings.Credentials.Retrieve(ctx); err != nil {
		return nil, err
	}
	hash := sha256.Sum256(body)
	err = s.signer.SignHTTP(ctx, keys, request, hex.EncodeToString(hash[:]), of.service(), of.region(), time.Now())
	return request, err
}

var exception = regexp.MustCompile(`[A-Za-z]+$`)

// refused says in few words what an answer that is no success says.
func refused(status int, answer []byte) error {
	var said struct {
		Type string `json:"__type"`
	}
	_ = json.Unmarshal(answer, &said) // one that is no JSON has no type
	return fmt.Errorf("the store answers %d %s", status, exception.FindString(said.Type))
}
