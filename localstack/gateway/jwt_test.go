package gateway

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/localstack/gateway/gatewaytest"
	"github.com/streamsort/streamsort/localstack/template"
)

const testIssuer = "https://tokens.example/pool"

type claims = map[string]any

// TestVerify holds tokens to what API Gateway's documentation says of them.
func TestVerify(t *testing.T) {
	issuer := gatewaytest.NewIssuer(t)
	keys := NewKeys(map[string]string{testIssuer: listen(t, issuer)})
	good := func(more claims) claims {
		all := claims{"iss": testIssuer, "aud": "shop", "org": "acme"}
		for name, value := range more {
			if all[name] = value; value == nil {
				delete(all, name)
			}
		}
		return all
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	check.OK(t, err)
	now := time.Now()
	head, body, _ := strings.Cut(issuer.Sign(good(nil)), ".")
	_, signature, _ := strings.Cut(body, ".")
	tampered := head + "." +
		base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"`+testIssuer+
			`","aud":"shop","org":"globex","exp":9999999999}`)) + "." + signature
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"key-1"}`)) + "." +
		strings.Split(body, ".")[0] + "."
	for name, c := range map[string]struct {
		token  string
		scopes []string
		want   string // of the error; empty: let in
	}{
		"good":                 {issuer.Sign(good(nil)), nil, ""},
		"with Bearer":          {"Bearer " + issuer.Sign(good(nil)), nil, ""},
		"one of the audiences": {issuer.Sign(good(claims{"aud": []string{"x", "desk"}})), nil, ""},
		"client_id":            {issuer.Sign(good(claims{"aud": nil, "client_id": "shop"})), nil, ""},
		"a scope":              {issuer.Sign(good(claims{"scope": "a put"})), []string{"put", "b"}, ""},
		"scopes of a list":     {issuer.Sign(good(claims{"scp": []string{"put"}})), []string{"put"}, ""},

		"no token":              {"AWS4-HMAC-SHA256 Credential=AKID/x", nil, "no token"},
		"not signed":            {none, nil, "no token"},
		"signed by a secret":    {issuer.SignAs(jose.HS256, []byte("0123456789abcdef0123456789abcdef"), good(nil)), nil, "no token"},
		"signed by another":     {issuer.SignAs(jose.RS256, other, good(nil)), nil, "cryptographic"},
		"altered":               {tampered, nil, "cryptographic"},
		"of another issuer":     {issuer.Sign(good(claims{"iss": testIssuer + "/"})), nil, "the issuer is"},
		"for another audience":  {issuer.Sign(good(claims{"aud": "books"})), nil, "the audience is"},
		"for none":              {issuer.Sign(good(claims{"aud": nil})), nil, "the audience is"},
		"aud before client_id":  {issuer.Sign(good(claims{"aud": "books", "client_id": "shop"})), nil, "the audience is"},
		"over":                  {issuer.Sign(good(claims{"exp": now.Add(-time.Second).Unix()})), nil, "exp is"},
		"without an end":        {issuer.Sign(good(claims{"exp": "never"})), nil, "exp is"},
		"not yet":               {issuer.Sign(good(claims{"nbf": now.Add(time.Minute).Unix()})), nil, "nbf is"},
		"of tomorrow":           {issuer.Sign(good(claims{"iat": now.Add(time.Hour).Unix()})), nil, "iat is"},
		"without the scope":     {issuer.Sign(good(claims{"scope": "putt"})), []string{"put"}, "scopes"},
		"scope before scp":      {issuer.Sign(good(claims{"scope": "a", "scp": []string{"put"}})), []string{"put"}, "scopes"},
		"without a scope claim": {issuer.Sign(good(nil)), []string{"put"}, "scopes"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", c.token)
		verified, err := keys.verify(r,
			template.JWT{Issuer: testIssuer, Audience: []string{"shop", "desk"}, Scopes: c.scopes}, now)
		check.That(t, c.want != "" || err == nil && verified.Claims["org"] == "acme",
			"%s: %+v, %v", name, verified, err)
		check.That(t, c.want == "" || err != nil && strings.Contains(err.Error(), c.want),
			"%s: %+v, %v; want %q", name, verified, err, c.want)
	}
}

// A claim is a text, whatever it was.
func TestClaims(t *testing.T) {
	issuer := gatewaytest.NewIssuer(t)
	address := listen(t, issuer)
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Authorization", issuer.Sign(claims{
		"iss": address, "aud": "shop", "iat": 1, "exp": 9999999999, "n": 7, "list": []any{"a", "b", 1},
		"yes": true, "x": claims{"y": 1},
	}))
	// No address is given: the issuer tells where its keys are.
	verified, err := NewKeys(nil).verify(r,
		template.JWT{Issuer: address, Audience: []string{"shop"}}, time.Now())
	check.OK(t, err)
	want := map[string]string{
		"iss": address, "aud": "shop", "iat": "1", "exp": "9999999999", "n": "7", "list": "[a b 1]", "yes": "true", "x": `{"y":1}`,
	}
	check.Is(t, cmp.Diff(want, verified.Claims), "")
}

func listen(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}
