package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	// MaxURL is how many bytes a URL has at most.
	MaxURL = 2048
	// DefaultPort is the port that is allowed where no other is.
	DefaultPort = 443
)

// Rules say where requests may go to.
type Rules struct {
	// Ports are those of the hosts, 1 to 20; none means 443 alone.
	Ports []int
	// Allow are addresses that may be reached besides public ones, and without TLS.
	Allow []netip.Prefix
	// Deny are addresses that are never reached, whatever else they are: a network of one's own has
	// public ones too.
	Deny []netip.Prefix
}

// ForbiddenError is a host, or one of its addresses, that no request may go to.
type ForbiddenError struct {
	// Host is as the URL has it.
	Host string
	// Why is what is wrong with it.
	Why string
}

func (e *ForbiddenError) Error() string { return fmt.Sprintf("host %.255q %s", e.Host, e.Why) }

// ParseURL reads a URL: https or http, a host, and a path and a query where there are any. There is
// one way to write it: no user, no fragment, no zone, no other form of an address than the usual
// one. The error says what is wrong, after the word "url".
func ParseURL(text string) (*url.URL, error) {
	if text == "" || len(text) > MaxURL {
		return nil, fmt.Errorf("must have 1 to %d bytes", MaxURL)
	}
	for _, c := range []byte(text) {
		if c <= ' ' || c >= 0x7F || c == '\\' {
			return nil, errors.New("has a space, a backslash, or a character that is not ASCII: they must be percent-encoded, and a name of other letters in Punycode")
		}
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("is no URL such as https://example.com/hooks")
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || u.Opaque != "":
		return nil, errors.New("must be like https://example.com/hooks")
	case u.User != nil:
		return nil, errors.New("has a user before its host")
	case strings.Contains(text, "#"):
		return nil, errors.New("has a fragment")
	case u.Port() == "" && strings.HasSuffix(u.Host, ":"):
		return nil, errors.New("has a colon without a port")
	}
	if err := checkHost(u.Hostname()); err != nil {
		return nil, err
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 || strconv.Itoa(n) != p {
			return nil, fmt.Errorf("has the port %.20q: it must be from 1 to 65535", p)
		}
	}
	return u, nil
}

func checkHost(host string) error {
	if a, err := netip.ParseAddr(host); err == nil {
		if a.Zone() != "" || a.Is4In6() {
			return errors.New(
				"has an address with a zone, or an IPv4 address that is written as an IPv6 one")
		}
		return nil
	}
	if host == "" || len(host) > 253 {
		return errors.New("has no host, or one of more than 253 bytes")
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 ||
			strings.Trim(strings.ToLower(label), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return fmt.Errorf("has the host %.255q, which is no name: its parts must be 1 to 63 letters, digits and hyphens, and no dot may end it", host)
		}
	}
	// 2130706433, 0x7f.1 and 0177.0.0.1 are addresses for some resolvers.
	if last := strings.ToLower(labels[len(labels)-1]); strings.Trim(last, "0123456789") == "" ||
		strings.HasPrefix(last, "0x") {
		return fmt.Errorf("has the host %.255q, which ends in a number and is no address as addresses are written", host)
	}
	return nil
}

// Port is the port that a request to a URL goes to.
func Port(u *url.URL) int {
	if n, err := strconv.Atoi(u.Port()); err == nil {
		return n
	}
	if u.Scheme == "http" {
		return 80
	}
	return DefaultPort
}

// Check reports why no request may go to a URL, as far as that is known without asking for its
// name's addresses: a *ForbiddenError.
func (r Rules) Check(u *url.URL) error {
	host := u.Hostname()
	if !slices.Contains(r.ports(), Port(u)) {
		return &ForbiddenError{host,
			fmt.Sprintf("is asked for at port %d: the ports %v are allowed", Port(u), r.ports())}
	}
	if u.Scheme == "http" && len(r.Allow) == 0 {
		return &ForbiddenError{host, "is asked for without TLS: the URL must begin with https://"}
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return r.checkAddress(host, a, u.Scheme == "http")
	}
	if name := strings.ToLower(host); len(r.Allow) == 0 &&
		(name == "localhost" || strings.HasSuffix(name, ".localhost")) {
		return &ForbiddenError{host, "is this host itself"}
	}
	return nil
}

func (r Rules) ports() []int {
	if len(r.Ports) == 0 {
		return []int{DefaultPort}
	}
	return r.Ports
}

// checkAddress reports why an address of a host may not be dialled; plain says that it is without
// TLS.
func (r Rules) checkAddress(host string, a netip.Addr, plain bool) error {
	switch {
	case within(r.Allow, a) && !within(metadata, a) && !within(r.Deny, a):
		return nil
	case !Public(a) || within(r.Deny, a):
		// Which one it is stays unsaid: who chose the name may not be who may know the names of
		// this network.
		return &ForbiddenError{host, "has an address which is not a public one"}
	case plain:
		return &ForbiddenError{host, "has an address which may only be asked with TLS"}
	}
	return nil
}
