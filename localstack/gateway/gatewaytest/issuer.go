// Package gatewaytest is an issuer of tokens for tests of APIs with a JWT authoriser: it signs what
// it is asked to ([Issuer.Sign]), and answers for its keys (it is an http.Handler of a JWKS, and of
// OpenID's discovery document).
package gatewaytest

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// Issuer signs tokens with a key of its own.
type Issuer struct {
	t   testing.TB
	key *rsa.PrivateKey
}

// KeyID is the id of an issuer's key.
const KeyID = "key-1"

// NewIssuer returns an Issuer with a new key.
func NewIssuer(t testing.TB) *Issuer {
	t.Helper()
	key := check.Get(rsa.GenerateKey(rand.Reader, 2048))
	return &Issuer{t, key}
}

// ServeHTTP answers with the public key, or with where it is.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	document := any(
		jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &i.key.PublicKey, KeyID: KeyID,
			Algorithm: string(jose.RS256), Use: "sig"}}})
	if strings.HasSuffix(r.URL.Path, "/.well-known/openid-configuration") {
		document = map[string]string{"jwks_uri": "http://" + r.Host + "/keys"}
	}
	check.OK(i.t, json.NewEncoder(w).Encode(document))
}

// Sign is a token with these claims, which hold an hour from now where they say nothing else.
func (i *Issuer) Sign(claims map[string]any) string {
	return i.SignAs(jose.RS256, i.key, claims)
}

// SignAs is Sign with another algorithm and key.
func (i *Issuer) SignAs(algorithm jose.SignatureAlgorithm, key any, claims map[string]any) string {
	i.t.Helper()
	now := time.Now()
	all := map[string]any{"iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	maps.Copy(all, claims)
	payload := check.Get(json.Marshal(all))
	signer := check.Get(jose.NewSigner(jose.SigningKey{Algorithm: algorithm,
		Key: jose.JSONWebKey{Key: key, KeyID: KeyID}}, nil))
	signed := check.Get(signer.Sign(payload))
	token := check.Get(signed.CompactSerialize())
	return token
}
