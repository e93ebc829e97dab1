package producer_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/pkg/invalid"
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
		transport, err := make()
		if err != nil {
			t.Fatal(err)
		}
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
		if transport, err := make(); err == nil || transport != nil {
			t.Errorf("%s: %v, %v", name, transport, err)
		}
	}
}

// TestMessageAsJSON: a document is read as POST /messages takes it.
func TestMessageAsJSON(t *testing.T) {
	for text, want := range map[string]producer.Message{
		`{"queue":"q","seq":"9007199254740993","id":"i","body":{"a": 1},"attributes":{"k":"v"}}`: {
			Queue: "q", Seq: new(int64(1<<53 + 1)), ID: "i", Body: []byte(`{"a": 1}`), Attributes: map[string]string{"k": "v"},
		},
		`{"queue":"q","key":["a",1],"keyType":"text,number","prev":"p","id":"i","bodyBase64":"AP8="}`: {
			Queue: "q", Key: []byte(`["a",1]`), KeyType: "text,number", Prev: "p", ID: "i", Body: []byte{0, 255}, ContentType: "application/octet-stream",
		},
	} {
		var got producer.Message
		if err := json.Unmarshal([]byte(text), &got); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%s: %v\n%s", text, err, cmp.Diff(want, got))
		}
	}
	var wrong *invalid.Error
	if err := json.Unmarshal([]byte(`{"queue":"q","bdy":1}`), &producer.Message{}); !errors.As(err, &wrong) {
		t.Error(err)
	}
}
