package origin_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/origin"
)

// TestProtect: programs and the server's own pages pass; what another site has a browser ask does
// not.
func TestProtect(t *testing.T) {
	names := append([]string{"Box"}, origin.Loopback...)
	protected := origin.Protect(names, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	type headers = map[string]string
	fetch := func(site, mode, dest string) headers {
		return headers{"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}
	}
	local, evil := "http://localhost:3000", "https://evil.example"
	for name, c := range map[string]struct {
		method, host string
		headers      headers
		want         int
	}{
		"a program":                     {"POST", "127.0.0.1:3000", nil, 200},
		"a program, by a name":          {"POST", "LOCALHOST", nil, 200},
		"a program, by IPv6":            {"POST", "[::1]:3000", nil, 200},
		"a name that is given":          {"GET", "box:3000", nil, 200},
		"a name that is pointed here":   {"GET", "evil.example:3000", nil, 421},
		"the server's own page":         {"POST", "localhost:3000", headers{"Origin": local, "Sec-Fetch-Site": "same-origin"}, 200},
		"a form of another site":        {"POST", "localhost:3000", headers{"Origin": evil, "Content-Type": "text/plain"}, 403},
		"one of a browser that says so": {"POST", "localhost:3000", fetch("cross-site", "navigate", "document"), 403},
		"another port's":                {"PUT", "localhost:3000", headers{"Origin": "http://localhost:8080"}, 403},
		"a picture of another site":     {"GET", "localhost:3000", fetch("cross-site", "no-cors", "image"), 403},
		"a script of another port":      {"GET", "localhost:3000", fetch("same-site", "no-cors", "script"), 403},
		"a frame of another site":       {"GET", "localhost:3000", fetch("cross-site", "navigate", "iframe"), 403},
		"a link of another site":        {"GET", "localhost:3000", fetch("cross-site", "navigate", "document"), 200},
		"an address that is typed":      {"GET", "localhost:3000", fetch("none", "navigate", "document"), 200},
		"the page itself":               {"GET", "localhost:3000", fetch("same-origin", "cors", "empty"), 200},
	} {
		t.Run(name, func(t *testing.T) {
			request := httptest.NewRequest(c.method, "/", nil)
			request.Host = c.host
			for name, value := range c.headers {
				request.Header.Set(name, value)
			}
			answer := httptest.NewRecorder()
			protected.ServeHTTP(answer, request)
			check.Is(t, answer.Code, c.want, answer.Body)
		})
	}
}
