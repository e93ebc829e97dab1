package webhook_test

import (
	"context"
	"encoding/base64"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/secret"
)

// whsec is a secret as senders of Standard Webhooks give it out.
func whsec(key string) string { return "whsec_" + base64.StdEncoding.EncodeToString([]byte(key)) }

// TestStandardWebhooks: what the standard's own library signs is taken, and what it refuses is refused.
func TestStandardWebhooks(t *testing.T) {
	s := source(t, `"preset":"standard"`)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	now := time.Now().Truncate(time.Second)
	text := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.IntN(256))
		}
		return string(b)
	}
	taken := 0
	for range 500 {
		key, body := text(24+random.IntN(41)), []byte(text(random.IntN(100)))
		hook := check.Get(standard.NewWebhook(whsec(key)))
		id, at := "msg_"+base64.RawURLEncoding.EncodeToString([]byte(text(12))), now.Add(time.Duration(random.IntN(400)-200)*time.Second)
		signature := check.Get(hook.Sign(id, at, body))
		rolled := check.Get(hook.Sign(id, at, append(body, 'x')))
		headers := http.Header{}
		headers.Set("webhook-id", id)
		headers.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
		headers.Set("webhook-signature", []string{signature, rolled + " v1a,AAAA " + signature, rolled, signature + "A", "v2" + signature[2:], ""}[random.IntN(6)])
		if random.IntN(8) == 0 {
			headers.Set("webhook-id", id+"x")
		}
		if random.IntN(8) == 0 {
			headers.Set("webhook-timestamp", strconv.FormatInt(at.Unix()+1, 10))
		}
		flat := map[string]string{}
		for name := range headers {
			flat[strings.ToLower(name)] = headers.Get(name)
		}
		claim, why := s.Signature.Read(flat, now)
		got := why == "" && made(t, claim, [][]byte{[]byte(whsec(key))}, body)
		if want := hook.Verify(body, headers) == nil; got != want {
			t.Fatalf("%v: %v (%s), and the standard's library says %v", headers, got, why, want)
		}
		if got {
			taken++
		}
	}
	check.That(t, taken >= 100, "%d of 500 are good", taken)
}

// TestStandardSecrets are written as the standard has them; what is wrong with one is said, and not
// what is in it.
func TestStandardSecrets(t *testing.T) {
	s := source(t, `"preset":"standard"`)
	at := time.Unix(1_614_265_330, 0)
	claim, why := s.Signature.Read(map[string]string{
		"webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330",
		"webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
	}, at)
	if why != "" {
		t.Fatal(why)
	}
	for value, want := range map[string]string{
		"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw":                                  "",
		"v1,whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n":                             "",
		"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw":                                        "",
		"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS":                                   "secret 1 of 1 is not whsec_ and 16 bytes or more in base64",
		`["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw","a secret as others have it"]`: "secret 2 of 2 is not whsec_",
		"whsec_c2hvcnQga2V5":                                                      "secret 1 of 1 is not whsec_ and 16 bytes",
	} {
		secrets := secret.NewCache(func(context.Context, secret.Reference) (string, error) { return value, nil }, func() time.Time { return at })
		why, err := claim.Check(t.Context(), secrets, s.Secret, []byte(`{"test": 2432232314}`))
		good := why == ""
		switch {
		case want == "" && (err != nil || !good):
			t.Errorf("%s: %v, %v; want that it made it", value, good, err)
		case want != "" && (good || err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "MfKQ")):
			t.Errorf("%s: %v, %v; want %s", value, good, err, want)
		}
	}
}
