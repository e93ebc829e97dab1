package secret_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/secret"
)

// TestFetch: what is asked of the stores, and what is made of their answers. The calls themselves
// are tried on servers in localstack.
func TestFetch(t *testing.T) {
	var answers []string // "status body", the last one again
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, r.Header.Get("X-Amz-Target")+" "+string(body))
		for _, part := range []string{"AWS4-HMAC-SHA256 Credential=key/", "/eu-west-1/", "SignedHeaders=",
			"x-amz-target"} {
			check.That(t, strings.Contains(r.Header.Get("Authorization"), part),
				"no %s in %s", part, r.Header.Get("Authorization"))
		}
		check.That(t, r.Header.Get("X-Amz-Security-Token") == "token", "no session token")
		answer := answers[0]
		if len(answers) > 1 {
			answers = answers[1:]
		}
		var status int
		_, rest, _ := strings.Cut(answer, " ")
		_, _ = fmt.Sscan(answer, &status)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, rest)
	}))
	defer server.Close()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "token", "AWS_REGION": "us-east-1",
		"AWS_ENDPOINT_URL_SECRETS_MANAGER": server.URL, "AWS_ENDPOINT_URL_SSM": server.URL,
	} {
		t.Setenv(name, value)
	}
	const secretARN = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:a-Ab12Cd"
	const parameter = "arn:aws:ssm:eu-west-1:123456789012:parameter/a"
	var all []secret.Reference
	for _, arn := range []string{secretARN, parameter} {
		all = append(all, check.Get(secret.ParseReference(arn)))
	}
	store := check.Get(secret.NewStore(all...))
	for name, test := range map[string]struct {
		arn, want string
		answers   []string
		calls     int
	}{
		"secret":          {secretARN, "value", []string{`200 {"SecretString":"value"}`}, 1},
		"parameter":       {parameter, "value", []string{`200 {"Parameter":{"Value":"value","Type":"SecureString"}}`}, 1},
		"bytes":           {secretARN, "error the answer has no text", []string{`200 {"SecretBinary":"AAAA"}`}, 1},
		"no JSON":         {secretARN, "error the answer has no text", []string{`200 canary`}, 1},
		"not allowed":     {secretARN, "error status 400: AccessDeniedException", []string{`400 {"__type":"com.amazon#AccessDeniedException","Message":"not for you"}`}, 1},
		"once more":       {secretARN, "value", []string{`500 `, `200 {"SecretString":"value"}`}, 2},
		"and not again":   {parameter, "error status 503", []string{`503 `}, 2},
		"an empty answer": {secretARN, "error the answer has no text", []string{`200 `}, 1},
	} {
		of := check.Get(secret.ParseReference(test.arn))
		asked, answers = nil, test.answers
		got, err := store.Fetch(t.Context(), of)
		if err != nil {
			got = "error " + err.Error()
		}
		if !strings.HasPrefix(got, test.want) || strings.Contains(got, "canary") ||
			len(asked) != test.calls {
			t.Errorf("%s: %s after %d calls, want %s after %d", name, got, len(asked), test.want, test.calls)
		}
		want := `secretsmanager.GetSecretValue {"SecretId":"` + secretARN + `"}`
		if test.arn == parameter {
			want = `AmazonSSM.GetParameter {"Name":"` + parameter + `","WithDecryption":true}`
		}
		check.That(t, asked[0] == want, "asked for %s, want %s", asked[0], want)
	}
	server.Close()
	_, err := store.Fetch(t.Context(), all[0])
	check.That(t, err != nil, "a store that is not there answers")
}

func TestNewStoreNamesWhatIsMissing(t *testing.T) {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL",
		"AWS_ENDPOINT_URL_SSM", "AWS_ENDPOINT_URL_SECRETS_MANAGER"} {
		t.Setenv(name, "")
	}
	of := check.Get(secret.ParseReference("arn:aws:ssm:eu-west-1:123456789012:parameter/a"))
	check.Says(t, check.Err(secret.NewStore(of)), "AWS_REGION")
}
