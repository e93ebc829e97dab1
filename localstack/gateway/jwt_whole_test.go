//go:build whole

package gateway

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/localstack/gateway/gatewaytest"
	"github.com/streamsort/streamsort/localstack/template"
)

func TestAPIWithTokens(t *testing.T) {
	issuer := gatewaytest.NewIssuer(t)
	token := func(scope string) string {
		return "Bearer " + issuer.Sign(claims{"iss": testIssuer, "aud": "shop", "org": "acme", "scope": scope})
	}
	url := listen(t, NewAPI(template.API{
		ID: "a1", Stages: []template.Stage{{Name: "$default"}},
		Routes: []template.Route{{
			Key: "GET /event", Method: "GET", Path: "/event", Function: "echo", Timeout: 20 * time.Second,
			JWT: &template.JWT{Issuer: testIssuer, Audience: []string{"shop"}, Scopes: []string{"read"}},
		}},
	}, functions(t), NewKeys(map[string]string{testIssuer: listen(t, issuer)}), func(string) {}))
	for _, c := range []struct {
		authorization string
		status        int
		want, header  string
	}{
		{token("read"), 200, `"authorizer":{"jwt":{"claims":{`, ""},
		{token("read"), 200, `"org":"acme"`, ""},
		{token("write"), 403, `"Forbidden"`, `error="insufficient_scope"`},
		{token("read")[:60], 401, `"Unauthorized"`, "Bearer"},
		{"", 401, `"Unauthorized"`, "Bearer"},
	} {
		r := check.Get(http.NewRequestWithContext(t.Context(), "GET", url+"/event", nil))
		r.Header.Set("Authorization", c.authorization)
		w := httptest.NewRecorder()
		response, err := http.DefaultClient.Do(r)
		check.OK(t, err)
		defer response.Body.Close()
		check.Get(w.Body.ReadFrom(response.Body))
		if response.StatusCode != c.status || !strings.Contains(w.Body.String(), c.want) || !strings.Contains(response.Header.Get("Www-Authenticate"), c.header) {
			t.Errorf("%.20s: %d %v %s", c.authorization, response.StatusCode, response.Header, w.Body)
		}
	}
}
