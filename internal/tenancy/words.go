package tenancy

import (
	"net/netip"
	"regexp"
	"strings"
)

// address is whatever may be an address, with a port or without.
var address = regexp.MustCompile(`\[?[0-9A-Fa-f]*[.:][0-9A-Fa-f.:]+(%[0-9A-Za-z]+)?\]?(:[0-9]+)?`)

// Words are an error's words as the caller may read them: a tenant reads no address, since the
// error of a connection, or of a resolver, has those of the function's network.
func (s Scope) Words(text string) string {
	if s.tenant == "" {
		return text
	}
	return address.ReplaceAllStringFunc(text, func(found string) string {
		for may := found; ; may = may[:len(may)-1] { // what ends the sentence may be behind it
			_, err := netip.ParseAddrPort(may)
			if err != nil {
				_, err = netip.ParseAddr(strings.Trim(may, "[]"))
			}
			if err == nil {
				return "(an address)" + found[len(may):]
			}
			if !strings.HasSuffix(may, ".") && !strings.HasSuffix(may, ":") {
				return found
			}
		}
	})
}
