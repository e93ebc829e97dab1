package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/streamsort/streamsort/localstack/template"
)

// Keys are the public keys of those who issue tokens, fetched when the first token of a key comes.
// It may be used by any number of goroutines.
type Keys struct {
	at     map[string]string
	client *http.Client

	mu    sync.Mutex
	known map[string][]jose.JSONWebKey // by issuer
}

// NewKeys returns Keys. at says where the key sets (JWKS) of issuers are, by issuer; of one that is
// not in it, OpenID's discovery document says it.
func NewKeys(at map[string]string) *Keys {
	return &Keys{at: at, client: &http.Client{Timeout: 10 * time.Second},
		known: map[string][]jose.JSONWebKey{}}
}

// find is the key of this id, fetched if it is not known yet.
func (k *Keys) find(ctx context.Context, issuer, id string) (jose.JSONWebKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for range 2 {
		for _, key := range k.known[issuer] {
			if key.KeyID == id {
				return key, nil
			}
		}
		keys, err := k.fetch(ctx, issuer)
		if err != nil {
			return jose.JSONWebKey{}, fmt.Errorf("the keys of %s: %w", issuer, err)
		}
		k.known[issuer] = keys
	}
	return jose.JSONWebKey{}, fmt.Errorf("%s has no key %q", issuer, id)
}

func (k *Keys) fetch(ctx context.Context, issuer string) ([]jose.JSONWebKey, error) {
	address := k.at[issuer]
	if address == "" {
		var discovered struct {
			JWKS string `json:"jwks_uri"`
		}
		if err := k.get(ctx, strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration",
			&discovered); err != nil {
			return nil, err
		}
		address = discovered.JWKS
	}
	var set jose.JSONWebKeySet
	err := k.get(ctx, address, &set)
	return set.Keys, err
}

func (k *Keys) get(ctx context.Context, address string, out any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := k.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", address, response.Status)
	}
	return json.NewDecoder(http.MaxBytesReader(nil, response.Body, 1<<20)).Decode(out)
}

// jwt is what a function gets of a token.
type jwt struct {
	Claims map[string]string `json:"claims"`
	Scopes []string          `json:"scopes"`
}

// errScope: the token is good, and lets nobody use this route.
var errScope = errors.New("the token has none of the route's scopes")

// verify reads a request's token as the JWT authoriser of an HTTP API does ("Control access to HTTP
// APIs with JWT authorizers", API Gateway Developer Guide): signed with RSA by a key of the issuer,
// for one of the audiences, in its time, with one of the scopes where there are any.
func (k *Keys) verify(r *http.Request, want template.JWT, now time.Time) (*jwt, error) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	signed, err := jose.ParseSigned(token,
		[]jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512})
	if err != nil || len(signed.Signatures) != 1 {
		return nil, fmt.Errorf("no token: %w", err)
	}
	key, err := k.find(r.Context(), want.Issuer, signed.Signatures[0].Header.KeyID)
	if err != nil {
		return nil, err
	}
	payload, err := signed.Verify(key)
	if err != nil {
		return nil, err
	}
	claims := map[string]any{}
	decoder := json.NewDecoder(strings.NewReader(string(payload)))
	decoder.UseNumber()
	if err := decoder.Decode(&claims); err != nil {
		return nil, err
	}
	if err := checkClaims(claims, want, now); err != nil {
		return nil, err
	}
	scopes := words(cmp.Or(claims["scope"], claims["scp"]))
	verified := &jwt{Claims: map[string]string{}}
	if len(want.Scopes) > 0 {
		if !anyOf(want.Scopes, scopes) {
			return nil, errScope
		}
		verified.Scopes = scopes
	}
	for name, value := range claims {
		verified.Claims[name] = claimText(value)
	}
	return verified, nil
}

// anyOf reports whether one of the texts is among others.
func anyOf(texts, others []string) bool {
	return slices.ContainsFunc(texts, func(s string) bool { return slices.Contains(others, s) })
}

// checkClaims looks at the claims that every token must have.
func checkClaims(claims map[string]any, want template.JWT, now time.Time) error {
	if claims["iss"] != want.Issuer {
		return fmt.Errorf("the issuer is %v, and not %s", claims["iss"], want.Issuer)
	}
	audience := cmp.Or(claims["aud"], claims["client_id"])
	if !anyOf(words(audience), want.Audience) {
		return fmt.Errorf("the audience is %v, and none of %v", audience, want.Audience)
	}
	at := float64(now.UnixMilli()) / 1000
	for name, good := range map[string]func(float64) bool{
		"exp": func(exp float64) bool { return exp > at },
		"nbf": func(nbf float64) bool { return nbf <= at },
		"iat": func(iat float64) bool { return iat <= at+1 }, // clocks round
	} {
		number, ok := claims[name].(json.Number)
		if !ok && claims[name] == nil && name != "exp" {
			continue
		}
		seconds, err := number.Float64()
		if err != nil || !good(seconds) {
			return fmt.Errorf("the token is out of its time: %s is %v", name, claims[name])
		}
	}
	return nil
}

// words are a claim's texts: of a list, or of a text with blanks between.
func words(claim any) []string {
	switch claim := claim.(type) {
	case string:
		return strings.Fields(claim)
	case []any:
		var out []string
		for _, one := range claim {
			if text, ok := one.(string); ok {
				out = append(out, text)
			}
		}
		return out
	}
	return nil
}

// claimText is a claim as API Gateway writes it: always a text, a list in brackets with blanks
// between.
func claimText(claim any) string {
	switch claim := claim.(type) {
	case string:
		return claim
	case []any:
		texts := make([]string, len(claim))
		for i := range claim {
			texts[i] = claimText(claim[i])
		}
		return "[" + strings.Join(texts, " ") + "]"
	}
	raw, _ := json.Marshal(claim)
	return string(raw)
}

// admit lets a request in: verified is what the function gets of its token.
func (a *api) admit(w http.ResponseWriter, r *http.Request,
	route template.Route) (verified *jwt, ok bool) {
	if route.JWT == nil {
		return nil, true
	}
	verified, err := a.keys.verify(r, *route.JWT, time.Now())
	switch {
	case errors.Is(err, errScope):
		w.Header().Set("Www-Authenticate", `Bearer scope="`+strings.Join(route.JWT.Scopes, " ")+
			`" error="insufficient_scope"`)
		problem(w, http.StatusForbidden, "Forbidden")
	case err != nil:
		// The token itself is nobody's to read.
		a.warn(route.Key + ": refused: " + err.Error())
		w.Header().Set("Www-Authenticate", "Bearer")
		problem(w, http.StatusUnauthorized, "Unauthorized")
	}
	return verified, err == nil
}
