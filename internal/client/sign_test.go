package client

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// nowhere takes away all that says who we are on AWS.
func nowhere(t *testing.T) {
	t.Helper()
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_PROFILE": "",
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI": "", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "", "AWS_WEB_IDENTITY_TOKEN_FILE": "",
	} {
		t.Setenv(name, value)
	}
}

func withKeys(t *testing.T) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
}

// authorization is the header of a request that the client makes.
func authorization(t *testing.T, c *Client) (string, error) {
	t.Helper()
	request := httptest.NewRequest("POST", c.base+"/messages", nil)
	err := c.authorize(t.Context(), request, []byte("body"))
	return request.Header.Get("Authorization"), err
}

func TestURLs(t *testing.T) {
	for _, url := range []string{"", "127.0.0.1:80", "ftp://x", "http://"} {
		_, err := New(url)
		_, signed := Open(Access{URL: url, Sign: true, Region: "eu-west-1"})
		check.That(t, err != nil && signed != nil, "%q: no error", url)
	}
}

// TestWhatIsSigned: for which service and region, by the host's name, by what is given and by the
// configuration.
func TestWhatIsSigned(t *testing.T) {
	nowhere(t)
	withKeys(t)
	for _, c := range []struct {
		base, configured string
		sign             bool
		region, scope    string // no scope: not signed
	}{
		{"https://abc.execute-api.eu-west-1.amazonaws.com", "", false, "", "/eu-west-1/execute-api/"},
		{"https://abc.execute-api.eu-west-1.amazonaws.com", "us-east-1", false, "", "/eu-west-1/execute-api/"},
		{"https://abc.lambda-url.eu-west-1.on.aws", "", false, "", "/eu-west-1/lambda/"},
		{"https://abc.execute-api.cn-north-1.amazonaws.com.cn", "", false, "", "/cn-north-1/execute-api/"},
		{"https://vpce-1.execute-api.eu-west-1.vpce.amazonaws.com", "", false, "", "/eu-west-1/execute-api/"},
		{"http://abc.execute-api.localhost:4566", "us-east-1", false, "", "/us-east-1/execute-api/"},
		{"https://api.example.com", "eu-west-1", false, "", ""},
		{"https://example.com", "eu-west-1", false, "", ""},
		{"http://127.0.0.1:3000", "eu-west-1", false, "", ""},
		{"http://api.example.com", "eu-west-1", false, "", ""},
		{"https://api.example.com", "eu-west-1", true, "", "/eu-west-1/execute-api/"},
		{"https://api.example.com", "eu-west-1", true, "eu-west-2", "/eu-west-2/execute-api/"},
		{"https://abc.execute-api.eu-west-1.amazonaws.com", "", true, "eu-west-2", "/eu-west-2/execute-api/"},
		{"https://abc.lambda-url.eu-west-1.on.aws", "", true, "", "/eu-west-1/lambda/"},
		{"http://127.0.0.1:3000", "eu-west-1", true, "", "/eu-west-1/execute-api/"},
		{"http://[::1]:3000", "eu-west-1", true, "", "/eu-west-1/execute-api/"},
		{"http://localhost:3000", "eu-west-1", true, "", "/eu-west-1/execute-api/"},
	} {
		t.Setenv("AWS_REGION", c.configured)
		client := check.Get(Open(Access{URL: c.base, Sign: c.sign, Region: c.region}))
		got := check.Get(authorization(t, client))
		check.That(t, (got != "") == (c.scope != "") && strings.Contains(got, c.scope),
			"%s, configured for %q: authorization %q, want one with %q", c.base, c.configured, got, c.scope)
	}
}

// TestNothingIsSignedOverPlainHTTP, and no token is sent, but to this machine.
func TestNothingIsSignedOverPlainHTTP(t *testing.T) {
	nowhere(t)
	withKeys(t)
	token := func(context.Context) (string, error) { return "t", nil }
	check.OK(t, check.Err(Open(Access{URL: "http://localhost:3000", Token: token})))
	for _, base := range []string{"http://api.example.com", "http://10.0.0.1:3000",
		"http://localhost.example.com", "http://notlocalhost"} {
		_, err := Open(Access{URL: base, Sign: true, Region: "eu-west-1"})
		check.Says(t, err, "use https", base)
		check.Says(t, check.Err(Open(Access{URL: base, Token: token})), "would have a token", base)
	}
	check.Says(t, check.Err(New("http://abc.execute-api.eu-west-1.amazonaws.com")), "use https")
}

// TestWhatIsMissingIsSaid: the region at once, credentials with the first request.
func TestWhatIsMissingIsSaid(t *testing.T) {
	nowhere(t)
	check.Says(t, check.Err(Open(Access{URL: "https://api.example.com", Sign: true})), "AWS_REGION")
	c := check.Get(New("https://abc.execute-api.eu-west-1.amazonaws.com"))
	err := c.Call(t.Context(), "GET", "/queues", nil, nil, nil)
	check.Is(t, check.As[*NoCredentialsError](t, err).Host, "abc.execute-api.eu-west-1.amazonaws.com")
	check.Says(t, err, "AWS_PROFILE")
	t.Setenv("AWS_PROFILE", "nobody")
	check.Says(t, check.Err(Open(Access{URL: "https://api.example.com", Sign: true,
		Region: "eu-west-1"})), "nobody")
}

// TestRefusedAnonymously: a gateway's refusal does not tell that nothing was signed.
func TestRefusedAnonymously(t *testing.T) {
	token := func(context.Context) (string, error) { return "a.b.c", nil }
	const gateway = `{"message":"Forbidden"}`
	const function = `{"code":"no-tenant","detail":"the token has no tenant"}`
	for _, c := range []struct {
		status int
		answer string
		token  func(context.Context) (string, error)
		hinted bool
	}{
		{401, gateway, nil, true}, {403, gateway, nil, true}, {404, gateway, nil, false},
		{403, function, nil, false}, {403, gateway, token, false},
	} {
		client, _ := serve(t, says(c.status, c.answer))
		client.token = c.token
		err := client.Call(t.Context(), "GET", "/queues", nil, nil, nil)
		check.That(t, err != nil && strings.Contains(err.Error(), "was not signed") == c.hinted,
			"%+v: %v", c, err)
	}
}

// TestNoRedirect: what was made for one address goes to no other one.
func TestNoRedirect(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		t.Error("the redirect was followed")
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(other.Close)
	for _, status := range []int{301, 302, 307, 308} {
		c, _ := serve(t, func(w http.ResponseWriter) {
			w.Header().Set("Location", other.URL)
			w.WriteHeader(status)
		})
		err := c.Call(t.Context(), "POST", "/messages", nil, []byte("{}"), nil)
		check.Is(t, check.As[*Problem](t, err).Status, status)
	}
}
