// Package origin refuses what another web site has a browser ask of a server on this machine.
// [Protect] stands in front of the whole server: requests of programs, and of the server's own
// pages, pass.
package origin

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
)

// Loopback are the names of this machine to itself.
var Loopback = []string{"127.0.0.1", "localhost", "::1"}

// Protect has a handler asked only by names that are the server's own, without ports, or by any if
// no name is given: another site could reach it by a name that it points here, and would then be
// the same origin to a browser. It refuses what changes something from another origin, and what
// another site loads, such as a picture. A link of another site may lead here. The answer is 421
// for a name, 403 else.
func Protect(names []string, next http.Handler) http.Handler {
	var own []string
	for _, name := range names {
		if name = strings.ToLower(name); !slices.Contains(own, name) {
			own = append(own, name)
		}
	}
	cross := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := nameIn(r.Host)
		switch err := cross.Check(r); {
		case len(own) > 0 && !slices.Contains(own, host):
			says := "the request names the host %q: it must name one of %s"
			says = fmt.Sprintf(says, host, strings.Join(own, ", "))
			http.Error(w, says, http.StatusMisdirectedRequest)
		case err != nil:
			http.Error(w, err.Error(), http.StatusForbidden)
		case loaded(r):
			http.Error(w, "another site may lead here, and not load anything", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// nameIn is the name in a Host header, which may have a port.
func nameIn(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.Trim(strings.ToLower(host), "[]")
}

// loaded reports whether another site has the browser load something, such as a live screen as a
// picture, which would have the API asked for as long as that site is open. Browsers say so
// (https://www.w3.org/TR/fetch-metadata/).
func loaded(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return false
	}
	navigates := r.Header.Get("Sec-Fetch-Mode") == "navigate"
	return !navigates || r.Header.Get("Sec-Fetch-Dest") != "document"
}
