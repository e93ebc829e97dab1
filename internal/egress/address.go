package egress

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// special are the addresses that are no public host's, and global is what IPv6 has of others.
//
//   - https://www.iana.org/assignments/iana-ipv4-special-registry
//   - https://www.iana.org/assignments/iana-ipv6-special-registry
//   - https://www.iana.org/assignments/ipv6-address-space
var (
	special = prefixes(
		"0.0.0.0/8",       // this network, and what is not specified
		"10.0.0.0/8",      // private
		"100.64.0.0/10",   // shared by a carrier's customers
		"127.0.0.0/8",     // loopback: a function's own runtime is there
		"169.254.0.0/16",  // link-local: metadata services and keys are there
		"172.16.0.0/12",   // private
		"192.0.0.0/24",    // of protocols
		"192.0.2.0/24",    // documentation
		"192.88.99.0/24",  // relays of 6to4
		"192.168.0.0/16",  // private
		"198.18.0.0/15",   // benchmarks
		"198.51.100.0/24", // documentation
		"203.0.113.0/24",  // documentation
		"224.0.0.0/4",     // multicast
		"240.0.0.0/4",     // reserved, and broadcast
		"2001::/23",       // of protocols: Teredo, which holds an IPv4 address, is among them
		"2001:db8::/32",   // documentation
		"2002::/16",       // 6to4, which holds an IPv4 address
		"3fff::/20",       // documentation
	)
	// Loopback, link-local, unique local (the metadata service has fd00:ec2::254), multicast,
	// IPv4-mapped and NAT64 (64:ff9b::/96) are outside of it.
	global = netip.MustParsePrefix("2000::/3")
	// metadata is what nobody may allow.
	metadata = prefixes("169.254.0.0/16", "fe80::/10", "fd00:ec2::/32")
)

func prefixes(all ...string) []netip.Prefix {
	parsed := make([]netip.Prefix, len(all))
	for i, text := range all {
		parsed[i] = netip.MustParsePrefix(text)
	}
	return parsed
}

func within(all []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(all, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Public reports whether an address is one that a host anywhere may have. An IPv4 address that is
// written as an IPv6 one is not.
func Public(a netip.Addr) bool {
	return a.IsValid() && a.Zone() == "" && (a.Is4() || global.Contains(a)) && !within(special, a)
}

// The environment variables of the addresses that the stack's owner allows, and of those that are
// never asked: see [ParseAllow] and [ParseDeny].
const (
	AllowVariable = "STREAMSORT_HTTP_ALLOW"
	DenyVariable  = "STREAMSORT_HTTP_DENY"
)

// FromEnvironment reads what the stack's owner allows and denies. The error begins with the
// variable's name.
func FromEnvironment() (r Rules, err error) {
	if r.Allow, err = ParseAllow(os.Getenv(AllowVariable)); err != nil {
		return r, fmt.Errorf("%s %w", AllowVariable, err)
	}
	if r.Deny, err = ParseDeny(os.Getenv(DenyVariable)); err != nil {
		return r, fmt.Errorf("%s %w", DenyVariable, err)
	}
	return r, nil
}

const maxPrefixes = 20

// ParseAllow reads the addresses that the stack's owner allows besides public ones: prefixes as
// [ParseDeny] reads them. The error says too which one is of a metadata service.
func ParseAllow(text string) ([]netip.Prefix, error) {
	all, err := ParseDeny(text)
	for _, p := range all {
		for _, never := range metadata {
			if p.Overlaps(never) {
				return nil,
					fmt.Errorf("has %s: %s is where metadata services are, and is never allowed", p, never)
			}
		}
	}
	return all, err
}

// ParseDeny reads the addresses that are never asked: prefixes such as 10.1.0.0/16, with commas
// between; nothing for none. The error says which one is not a prefix.
func ParseDeny(text string) (all []netip.Prefix, err error) {
	if text == "" {
		return nil, nil
	}
	parts := strings.Split(text, ",")
	if len(parts) > maxPrefixes {
		return nil, fmt.Errorf("has %d prefixes: at most %d are taken", len(parts), maxPrefixes)
	}
	for _, part := range parts {
		p, err := netip.ParsePrefix(strings.TrimSpace(part))
		if err != nil || p != p.Masked() || p.Addr().Is4In6() {
			return nil, fmt.Errorf("has %.50q, which is no prefix such as 10.1.0.0/16", part)
		}
		all = append(all, p)
	}
	return all, nil
}
