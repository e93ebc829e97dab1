package egress_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/egress"
)

// TestURLs: what is no plain URL is refused before anything is asked.
func TestURLs(t *testing.T) {
	for text, want := range map[string]string{
		"https://example.com/hooks?a=b": "", "https://example.com": "",
		"https://xn--bcher-kva.example:8443/": "", "https://93.184.216.34/": "",
		"https://[2606:2800:220:1::1]:443/x": "", "http://example.com/": "",

		"": "1 to 2048 bytes",
		"https://example.com/" + strings.Repeat("x", 2048): "1 to 2048 bytes",
		"ftp://example.com/": "must be like", "//example.com/": "must be like",
		"https:example.com": "must be like", "file:///etc/passwd": "must be like",
		"https:///x": "has no host", "https://": "has no host",
		"https://bücher.example/": "Punycode", "https://a b/": "a space",
		"https://good.com\\@127.1/": "a backslash", "https://good.com\n.evil/": "a space",
		"https://good.com@127.0.0.1/": "a user", "https://good.com:x@10.0.0.1/": "a user",
		"https://good.com#@127.0.0.1/": "a fragment", "https://good.com/#": "a fragment",
		"https://good.com./": "no dot may end it", "https://localhost./": "no dot may end it",
		"https://a..b/": "is no name", "https://%6c%6fcalhost/": "is no URL",
		"https://2130706433/": "ends in a number", "https://0x7f000001/": "ends in a number",
		"https://0x7f.0.0.1/": "ends in a number", "https://127.0.0.0x1/": "ends in a number",
		"https://0177.0.0.1/": "ends in a number", "https://127.1/": "ends in a number",
		"https://127.0.1/": "ends in a number", "https://0/": "ends in a number",
		"https://017700000001/": "ends in a number", "https://127.0.0.1.1/": "ends in a number",
		"https://256.0.0.1/": "ends in a number", "https://example.com.0x10/": "ends in a number",
		"https://[::ffff:127.0.0.1]/":     "written as an IPv6 one",
		"https://[::ffff:7f00:1]/":        "written as an IPv6 one",
		"https://[0:0:0:0:0:ffff:a00:1]/": "written as an IPv6 one",
		"https://[fe80::1%25eth0]/":       "with a zone", "https://[::1/": "is no URL",
		"https://example.com:/":  "a colon without a port",
		"https://example.com:0/": "must be from 1", "https://example.com:0443/": "must be from 1",
		"https://example.com:65536/": "must be from 1", "https://example.com:443:80/": "is no",
	} {
		u, err := egress.ParseURL(text)
		check.That(t, want == "" && err == nil && u.String() == text || want != "" && err != nil &&
			strings.Contains(err.Error(), want), "%.80q: %v, %v; want %s", text, u, err, want)
	}
}

// forbidden are addresses that no request may go to.
var forbidden = []string{
	"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.254",
	"169.254.169.254", "169.254.170.2", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1",
	"198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
	"::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:93.184.216.34", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
	"64:ff9b:1::1", "100::1", "2001::1", "2001:0:7f00:1::", "2001:db8::1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "3fff::1",
	"fc00::1", "fd00:ec2::254", "fd12:3456::1", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "ff0e::1", "4000::1", "5f00::1",
}

var public = []string{
	"1.1.1.1", "9.255.255.255", "11.0.0.0", "93.184.216.34", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1",
	"169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0", "223.255.255.255",
	"2606:2800:220:1::1", "2a00:1450::1", "2001:4860:4860::8888", "2001:200::1",
}

func TestPublic(t *testing.T) {
	for want, all := range map[bool][]string{true: public, false: forbidden} {
		for _, text := range all {
			check.Is(t, egress.Public(netip.MustParseAddr(text)), want, text)
		}
	}
	check.That(t, !egress.Public(netip.Addr{}), "no address is a public one")
}

func TestAllow(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "127.0.0.0/8": "", "10.1.0.0/16, fd12:3456::/32": "",
		"10.1.0.0": "no prefix", "10.1.0.1/16": "no prefix", "x": "no prefix", ",": "no prefix", "::ffff:10.0.0.0/104": "no prefix",
		"0.0.0.0/0": "is never allowed", "169.254.169.254/32": "is never allowed", "169.0.0.0/8": "is never allowed",
		"::/0": "is never allowed", "fd00::/8": "is never allowed", "fe80::/64": "is never allowed",
		strings.Repeat("10.0.0.0/8,", 20) + "10.0.0.0/8": "at most 20",
	} {
		got, err := egress.ParseAllow(text)
		check.That(t, (err == nil) == (want == "") && (err == nil || got == nil &&
			strings.Contains(err.Error(), want)), "%.60q: %v, %v; want %s", text, got, err, want)
	}
}

// host is a server on this machine, and what it was asked.
type host struct {
	*httptest.Server
	port  int
	asked int
}

func newHost(t *testing.T, answer http.HandlerFunc) *host {
	h := &host{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.asked++
		answer(w, r)
	}))
	t.Cleanup(h.Close)
	u := check.Get(url.Parse(h.URL))
	h.port = check.Get(strconv.Atoi(u.Port()))
	return h
}

func ok(http.ResponseWriter, *http.Request) {}

// answers is a resolver whose answers are these, one after the other, the last one again and again.
func answers(t *testing.T, all ...string) egress.Lookup {
	return func(context.Context, string, string) ([]netip.Addr, error) {
		text := all[0]
		if len(all) > 1 {
			all = all[1:]
		}
		var found []netip.Addr
		for _, a := range strings.Fields(text) {
			found = append(found, netip.MustParseAddr(a))
		}
		t.Logf("the name has %v", found)
		return found, nil
	}
}

// get asks a URL of the rules' transport, with a proxy in the environment that nobody may ask.
func get(t *testing.T, rules egress.Rules, lookup egress.Lookup, text string) (int, error) {
	t.Helper()
	client := http.Client{Transport: egress.NewTransport(rules, lookup),
		CheckRedirect: egress.NoRedirect}
	// What is dialled by mistake most likely does not answer; what is dialled rightly is here.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r := check.Get(http.NewRequestWithContext(ctx, http.MethodPost, text, strings.NewReader("x")))
	answer, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

func isForbidden(err error) bool {
	var f *egress.ForbiddenError
	return errors.As(err, &f)
}

// TestForbiddenAddresses: no forbidden address is dialled, however a host comes to have it.
func TestForbiddenAddresses(t *testing.T) {
	h := newHost(t, ok)
	rules := egress.Rules{Ports: []int{443, 80, h.port}}
	for _, a := range forbidden {
		for _, all := range []string{a, "93.184.216.34 " + a, a + " 93.184.216.34"} {
			if strings.HasPrefix(a, "::ffff:93.") {
				continue // a resolver's way to write 93.184.216.34
			}
			_, err := get(t, rules, answers(t, all), "https://rebind.example:"+strconv.Itoa(h.port))
			check.Need(t, isForbidden(err), "a name that has %s: %v", all, err)
		}
		literal := a
		if strings.Contains(a, ":") {
			literal = "[" + strings.ReplaceAll(a, "%", "%25") + "]"
		}
		u, err := egress.ParseURL("https://" + literal + "/")
		check.That(t, err != nil || isForbidden(rules.Check(u)), "%s may be asked", literal)
		_, err = get(t, rules, nil, "https://"+literal+":"+strconv.Itoa(h.port))
		check.That(t, isForbidden(err), "%s: %v", literal, err)
	}
	for _, name := range []string{"localhost", "LOCALHOST", "x.localhost"} {
		_, err := get(t, rules, answers(t, "127.0.0.1"), "https://"+name+":"+strconv.Itoa(h.port))
		check.That(t, isForbidden(err), "%s: %v", name, err)
	}
	check.That(t, h.asked == 0, "%d requests came", h.asked)
}

// TestWhatIsSaidOfAName: who chose the name sees the error, and learns no address of a network of
// ours from it.
func TestWhatIsSaidOfAName(t *testing.T) {
	_, err := get(t, egress.Rules{}, answers(t, "10.1.2.3"), "https://db.inner.example/")
	check.Says(t, err, "not a public one")
	check.That(t, isForbidden(err) && !strings.Contains(err.Error(), "10.1.2.3"), "%v", err)
}

// TestANameThatChangesItsAnswer: each connection goes to an address of the answer that was looked
// at, and another answer is looked at anew.
func TestANameThatChangesItsAnswer(t *testing.T) {
	h := newHost(t, ok)
	h.Config.SetKeepAlivesEnabled(false)
	loopback := netip.MustParsePrefix("127.0.0.1/32")
	rules := egress.Rules{Ports: []int{h.port}, Allow: []netip.Prefix{loopback}}
	// It is asked for its addresses once a connection: a second answer is never dialled unseen.
	lookup := answers(t, "127.0.0.1", "127.0.0.2", "169.254.169.254",
		"127.0.0.1 169.254.169.254", "127.0.0.1")
	client := http.Client{Transport: egress.NewTransport(rules, lookup)}
	var got []bool
	for range 5 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			"http://rebind.example:"+strconv.Itoa(h.port), nil)
		check.OK(t, err)
		answer, err := client.Do(r)
		if err == nil {
			_ = answer.Body.Close()
		} else if !isForbidden(err) {
			t.Error(err)
		}
		got = append(got, err == nil)
	}
	check.Is(t, [5]bool(got), [5]bool{true, false, false, false, true})
	check.Is(t, h.asked, 2)
}

// TestTLSOrAllowed: without TLS only what is allowed is asked, and metadata services never are.
func TestTLSOrAllowed(t *testing.T) {
	h := newHost(t, ok)
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	at := ":" + strconv.Itoa(h.port)
	for text, allowed := range map[string]bool{
		"http://127.0.0.1" + at: true, "http://name.example" + at: true, "http://localhost" + at: true,
		"http://127.0.0.1:1": false, "http://127.0.0.1": false, "http://93.184.216.34" + at: false, "http://10.0.0.1" + at: false,
		"http://169.254.169.254" + at: false, "http://[::1]" + at: false,
	} {
		status, err := get(t, egress.Rules{Ports: []int{h.port}, Allow: loopback},
			answers(t, "127.0.0.1"), text)
		check.That(t, (!allowed || err == nil && status == 200) && (allowed || isForbidden(err)),
			"%s: %d, %v", text, status, err)
	}
	_, err := get(t, egress.Rules{Ports: []int{h.port}}, nil, h.URL)
	check.That(t, isForbidden(err), "nothing is allowed: %v", err)
	everything := egress.Rules{Ports: []int{h.port},
		Allow: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}}
	_, err = get(t, everything, nil, "http://169.254.169.254"+at)
	check.That(t, isForbidden(err), "everything is allowed, and so are metadata services: %v", err)
}

// TestDenied: what the owner denies is never asked, public or allowed, as an address or by a name.
func TestDenied(t *testing.T) {
	h := newHost(t, ok)
	at := ":" + strconv.Itoa(h.port)
	deny := check.Get(egress.ParseDeny("2600:1f18:1::/48, 127.0.0.0/30,93.184.216.0/24"))
	rules := egress.Rules{Ports: []int{h.port},
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Deny: deny}
	for text, name := range map[string]string{
		"https://[2600:1f18:1::5]" + at: "", "https://93.184.216.34" + at: "", "http://127.0.0.1" + at: "",
		"https://inner.example" + at: "2600:1f18:1::5", "http://one.example" + at: "127.0.0.5 127.0.0.1", "https://other.example" + at: "::ffff:93.184.216.34",
	} {
		_, err := get(t, rules, answers(t, name), text)
		check.That(t, isForbidden(err), "%s: %v", text, err)
	}
	for _, text := range []string{"https://[2600:1f18:2::5]" + at, "https://1.1.1.1" + at,
		"http://127.0.0.4" + at} {
		u, err := egress.ParseURL(text)
		if err == nil {
			err = rules.Check(u)
		}
		check.That(t, err == nil, "what is beside it: %v", err)
	}
	check.That(t, h.asked == 0, "%d requests came", h.asked)
	_, err := egress.ParseDeny("10.0.0.1/8")
	check.That(t, err != nil && strings.Contains(err.Error(), "no prefix"), "%v", err)
}

// TestRedirects are answers, and nobody goes there.
func TestRedirects(t *testing.T) {
	var h *host
	h = newHost(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:"+strconv.Itoa(h.port)+"/inner",
			http.StatusTemporaryRedirect)
	})
	status, err := get(t, egress.Rules{Ports: []int{h.port},
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, nil, h.URL)
	check.That(t, err == nil && status == http.StatusTemporaryRedirect && h.asked == 1,
		"%d, %v, %d requests", status, err, h.asked)
}

// TestNoProxy: what the environment says is not asked.
func TestNoProxy(t *testing.T) {
	h, proxy := newHost(t, ok), newHost(t, ok)
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("HTTPS_PROXY", proxy.URL)
	rules := egress.Rules{Ports: []int{h.port},
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	status, err := get(t, rules, answers(t, "127.0.0.1"), "http://name.example:"+strconv.Itoa(h.port))
	check.That(t, err == nil && status == 200, "%d, %v", status, err)
	check.That(t, proxy.asked == 0, "the proxy was asked")
}

// TestCertificates: who answers at the address must be who the name says.
func TestCertificates(t *testing.T) {
	h := httptest.NewTLSServer(http.HandlerFunc(ok))
	defer h.Close()
	u := check.Get(url.Parse(h.URL))
	number, err := strconv.Atoi(u.Port())
	check.OK(t, err)
	rules := egress.Rules{Ports: []int{number},
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	_, err = get(t, rules, answers(t, "127.0.0.1"), "https://name.example:"+u.Port())
	var bad *tls.CertificateVerificationError
	check.That(t, errors.As(err, &bad), "a host with another's certificate: %v", err)
}

func FuzzParseURL(f *testing.F) {
	for _, seed := range []string{"https://example.com/", "https://[::1]:80/", "http://a@b/",
		"https://0x7f.1", "https://%00"} {
		f.Add(seed)
	}
	rules := egress.Rules{}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := egress.ParseURL(text)
		if err != nil || rules.Check(u) != nil {
			return
		}
		a, err := netip.ParseAddr(u.Hostname())
		check.That(t, err != nil || egress.Public(a), "%q is taken, and has the address %s", text, a)
	})
}
