package producer_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/producer"
)

// TestTransports: who asks is said as each says it; a token that cannot be had, and a 401, are waited out.
func TestTransports(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "AKID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_REGION", "eu-central-1")
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		if strings.HasSuffix(r.Header.Get("Authorization"), " old") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"status":200,"results":[{"status":200,"outcome":"advanced"}]}`))
	}))
	defer server.Close()
	tokens := []string{"", "old", "new"}
	token := func(context.Context) (string, error) {
		now := tokens[0]
		tokens = tokens[1:]
		if now == "" {
			return "", errors.New("the issuer is away")
		}
		return now, nil
	}
	for want, make := range map[string]func() (producer.Transport, error){
		"":                                 func() (producer.Transport, error) { return producer.HTTP(server.URL) },
		"AWS4-HMAC-SHA256 Credential=AKID": func() (producer.Transport, error) { return producer.Signed(server.URL, "") },
		"Bearer new":                       func() (producer.Transport, error) { return producer.WithToken(server.URL, token) },
	} {
		transport := check.Get(make())
		got = nil
		p := newProducer(t, transport, &producer.Options{MinBackOff: time.Millisecond})
		if o := outcomes(t, send(t, p, numbered("a", 1))); o != "advanced" || !strings.HasPrefix(got[len(got)-1], want) || want == "" && got[0] != "" {
			t.Errorf("%s by %q, want %q", o, got, want)
		}
	}
	for name, make := range map[string]func() (producer.Transport, error){
		"no URL":        func() (producer.Transport, error) { return producer.HTTP("somewhere") },
		"plain, signed": func() (producer.Transport, error) { return producer.Signed("http://example.com", "") },
		"no function":   func() (producer.Transport, error) { return producer.Invoke("", "") },
	} {
		transport, err := make()
		check.That(t, err != nil && transport == nil, "%s: %v, %v", name, transport, err)
	}
}
