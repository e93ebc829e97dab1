package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// Lookup resolves a name, as [net.Resolver.LookupNetIP] does.
type Lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)

const (
	// dialTimeout bounds one try of a connection, and handshakeTimeout what TLS takes on it.
	dialTimeout, handshakeTimeout = 5 * time.Second, 5 * time.Second
	// maxTried is how many addresses of a name are tried at most.
	maxTried = 4
	// maxHeaders is how many bytes of headers an answer has at most.
	maxHeaders = 64 << 10
)

// NewTransport returns a transport whose connections keep to the rules. lookup resolves names; nil
// means as the host does.
func NewTransport(rules Rules, lookup Lookup) http.RoundTripper {
	if lookup == nil {
		lookup = net.DefaultResolver.LookupNetIP
	}
	of := func(plain bool) *http.Transport {
		d := &dialer{rules: rules, lookup: lookup, plain: plain}
		return &http.Transport{
			DialContext: d.dial, ForceAttemptHTTP2: true, DisableCompression: true,
			TLSHandshakeTimeout: handshakeTimeout, MaxResponseHeaderBytes: maxHeaders,
			MaxIdleConns: 200, MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute,
		}
	}
	return transport{rules, of(false), of(true)}
}

// NoRedirect is the CheckRedirect of a client that follows none: it answers with the redirect
// itself.
func NoRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// transport has connections with TLS, and such without, which may go to fewer addresses.
type transport struct {
	rules         Rules
	secure, plain *http.Transport
}

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	err := t.rules.Check(r.URL)
	switch {
	case err != nil:
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	case r.URL.Scheme == "http":
		return t.plain.RoundTrip(r)
	}
	return t.secure.RoundTrip(r)
}

type dialer struct {
	rules  Rules
	lookup Lookup
	plain  bool
}

func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, err
	}
	all, err := d.addresses(ctx, host)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, a := range all[:min(len(all), maxTried)] {
		to := &net.Dialer{Timeout: dialTimeout}
		conn, err := to.DialContext(ctx, network, netip.AddrPortFrom(a, uint16(number)).String())
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// addresses are those of a host, each of which may be dialled, those of IPv4 first: a function
// outside of a network of one's own has no other way out.
func (d *dialer) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	var all []netip.Addr
	if a, err := netip.ParseAddr(host); err == nil {
		all = []netip.Addr{a}
	} else {
		found, err := d.lookup(ctx, "ip", host)
		if err != nil {
			return nil, err
		}
		for _, a := range found {
			all = append(all, a.Unmap()) // the resolver writes IPv4 addresses so
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("host %.255q has no address", host)
	}
	for _, a := range all {
		if err := d.rules.checkAddress(host, a, d.plain); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(all, func(a, b netip.Addr) int {
		return cmp.Compare(a.BitLen(), b.BitLen())
	})
	return all, nil
}
