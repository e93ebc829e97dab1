package httpsink

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/egress"
	"github.com/streamsort/streamsort/internal/secret"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// Kind is an endpoint that takes POST requests.
var Kind = kind.Kind{
	Name: "http", Read: read,
	Example: "arn:aws:secretsmanager:us-east-1:000000000000:secret:orders-Ab12Cd", Action: "secretsmanager:GetSecretValue",
}

const (
	// defaultTimeout is how long a request may take where nothing else is said, minTimeout and maxTimeout are
	// what may be said.
	defaultTimeout, minTimeout, maxTimeout = 10 * time.Second, time.Second, time.Minute
	// inline is how long an endpoint may keep others waiting that are delivered to beside it.
	inline = time.Second
	// defaultBytes is how many bytes a body has at most where nothing else is said, minBytes and maxBytes are what
	// may be said.
	defaultBytes, minBytes, maxBytes = 1 << 20, 1 << 10, 6 << 20
	// maxHeaders is how many headers are added at most, and maxHeader how many bytes each of them has.
	maxHeaders, maxHeader = 10, 1024
)

// The schemes of signatures.
const (
	standard = "standard"
	hmacOnly = "hmac"
	bearer   = "bearer"
)

// settings are what a configuration says of an endpoint.
type settings struct {
	// url is nil where each queue has an endpoint of its own.
	url     *url.URL
	each    bool
	batch   bool
	events  bool
	sign    sign
	timeout time.Duration
	bytes   int
	ports   []int
	headers []header
}

// sign is how requests are signed; the zero value is not at all.
type sign struct {
	scheme string
	secret secret.Reference
	// header has the signature of the scheme hmac, behind prefix.
	header, prefix string
}

// header is one that each request has.
type header struct{ name, value string }

var headerName = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// Defaults sets what a reader of single messages has where nothing else is said: a batch of one, so that a
// message which was taken does not come again for another one's sake. Where each queue has an endpoint of its own, none of
// them says anything of another.
func (s settings) Defaults(r *handoff.Reader) {
	if r.Apart = s.each; s.each {
		r.Inline = inline
	}
	if !s.batch && r.MaxMessages == 0 {
		r.MaxMessages = 1
	}
}

// read reads the members of a configuration.
//
//	url       where requests go to
//	endpoints true in its place: each queue has an endpoint of its own, which has its secrets too
//	mode      single, a request a message, or batch, one a batch; single
//	format    cloudevents where each message is sent as one, and a batch as one of them
//	sign      how they are signed: scheme is standard, hmac or bearer, secret the ARN of its secrets;
//	          of hmac, header has the signature, behind prefix
//	timeout   how long a request may take, 1s to 1m; 10s
//	maxBytes  bounds a request's body, 1,024 to 6 MiB; 1 MiB
//	ports     those that url may have; 443
//	headers   up to ten that each request has
func read(members []strictjson.Member) (kind.Settings, error) {
	s := settings{timeout: defaultTimeout, bytes: defaultBytes}
	for _, m := range members {
		if err := s.member(m); err != nil {
			return nil, fmt.Errorf("%s%w", m.Name, err)
		}
	}
	switch {
	case s.url == nil && !s.each:
		return nil, errors.New("url is missing: it must be like https://example.com/hooks; or endpoints must be true")
	case s.url != nil && s.each:
		return nil, errors.New("endpoints is true beside url; write one of them")
	case s.each && s.sign.scheme != "":
		return nil, errors.New("sign is set beside endpoints, each of which has secrets of its own")
	}
	return s, nil
}

// member reads one member. Its error goes on behind the member's name.
func (s *settings) member(m strictjson.Member) (err error) {
	switch m.Name {
	case "url":
		var text string
		if text, err = strictjson.Text(m.Value); err == nil {
			s.url, err = egress.ParseURL(text)
		}
	case "endpoints":
		if s.each = string(m.Value) == "true"; !s.each {
			err = errors.New("must be true, or left out")
		}
	case "mode":
		var text string
		if text, err = strictjson.Text(m.Value); err == nil && text != "single" && text != "batch" {
			err = errors.New("must be single or batch")
		}
		s.batch = text == "batch"
	case "format":
		s.events, err = kind.ReadFormat(m.Value)
	case "timeout":
		var text string
		if text, err = strictjson.Text(m.Value); err == nil {
			if s.timeout, err = time.ParseDuration(text); err != nil || s.timeout < minTimeout || s.timeout > maxTimeout {
				err = fmt.Errorf("must be a duration from %s to %s", minTimeout, maxTimeout)
			}
		}
	case "maxBytes":
		if s.bytes, err = strictjson.Positive(m.Value); err == nil && (s.bytes < minBytes || s.bytes > maxBytes) {
			err = fmt.Errorf("is %d: it must be from %d to %d", s.bytes, minBytes, maxBytes)
		}
	case "ports":
		s.ports, err = readPorts(m.Value)
	case "sign":
		return inner(m.Value, s.sign.member, s.sign.check)
	case "headers":
		return inner(m.Value, s.addHeader, s.checkHeaders)
	default:
		err = errors.New("is not known: there are kind, url, endpoints, mode, sign, timeout, maxBytes, ports, headers and format")
	}
	if err != nil {
		return fmt.Errorf(" %w", err)
	}
	return nil
}

// inner reads the members of a member, and checks what belongs together.
func inner(raw json.RawMessage, read func(strictjson.Member) error, check func() error) error {
	members, err := strictjson.Members(raw)
	if err != nil {
		return fmt.Errorf(" %w", err)
	}
	for _, m := range members {
		if err := read(m); err != nil {
			return fmt.Errorf(".%s %w", kind.Bounded(m.Name), err)
		}
	}
	if err := check(); err != nil {
		return fmt.Errorf(".%w", err)
	}
	return nil
}

func readPorts(raw json.RawMessage) ([]int, error) {
	must := fmt.Errorf("must be a list of 1 to %d ports, each from 1 to %d", egress.MaxPorts, math.MaxUint16)
	elements, err := strictjson.Elements(raw, egress.MaxPorts)
	if err != nil || len(elements) == 0 {
		return nil, must
	}
	ports := make([]int, len(elements))
	for i, element := range elements {
		if ports[i], err = strictjson.Positive(element); err != nil || ports[i] > math.MaxUint16 {
			return nil, must
		}
	}
	return ports, nil
}

// member reads a member of what says how requests are signed.
func (s *sign) member(m strictjson.Member) error {
	text, err := strictjson.Text(m.Value)
	if err != nil {
		return err
	}
	switch m.Name {
	case "scheme":
		if s.scheme = text; text != standard && text != hmacOnly && text != bearer {
			return errors.New("must be standard, hmac or bearer")
		}
	case "secret":
		s.secret, err = secret.ParseReference(text)
		return err
	case "header":
		if s.header = text; !headerName.MatchString(text) || reserved(text) {
			return errors.New("must be the name of a header that no request has otherwise: 1 to 64 letters, digits and hyphens")
		}
	case "prefix":
		if s.prefix = text; len(text) > 64 || !visible(text) {
			return errors.New("must be at most 64 visible characters of ASCII")
		}
	default:
		return errors.New("is not known: there are scheme, secret, header and prefix")
	}
	return nil
}

func (s *sign) check() error {
	switch {
	case s.scheme == "":
		return errors.New("scheme is missing: it must be standard, hmac or bearer")
	case s.secret == secret.Reference{}:
		return errors.New("secret is missing: it must be the ARN of a secret or of a parameter")
	case s.scheme == hmacOnly && s.header == "":
		return errors.New("header is missing: it has the signature of the scheme hmac")
	case s.scheme != hmacOnly && s.header+s.prefix != "":
		return errors.New("header and prefix are for the scheme hmac")
	}
	return nil
}

func (s *settings) addHeader(m strictjson.Member) error {
	value, err := strictjson.Text(m.Value)
	switch {
	case err != nil:
		return err
	case !headerName.MatchString(m.Name) || reserved(m.Name):
		return errors.New("is no header that may be added: 1 to 64 letters, digits and hyphens, and none that requests have otherwise")
	case len(value) > maxHeader || !visible(value):
		return fmt.Errorf("must be at most %d visible characters of ASCII, and spaces between them", maxHeader)
	case len(s.headers) == maxHeaders:
		return fmt.Errorf("is one too many: there may be %d", maxHeaders)
	}
	s.headers = append(s.headers, header{m.Name, value})
	return nil
}

// checkHeaders reports one that would say the same as the signature.
func (s *settings) checkHeaders() error {
	seen := map[string]bool{}
	for _, h := range s.headers {
		name := strings.ToLower(h.name)
		if seen[name] {
			return fmt.Errorf("%s stands there twice", h.name)
		}
		seen[name] = true
	}
	return nil
}

// visible reports whether a text may be a header's value as it is.
func visible(text string) bool {
	for _, c := range []byte(text) {
		if c < ' ' || c >= 0x7F {
			return false
		}
	}
	return text == strings.TrimSpace(text)
}

// reserved reports whether requests, or the connection, have a header of that name otherwise.
func reserved(name string) bool {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "webhook-") || strings.HasPrefix(name, ownPrefix) || strings.HasPrefix(name, "proxy-") {
		return true
	}
	switch name {
	case "host", "content-length", "content-type", "connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "user-agent", "authorization", "expect":
		return true
	}
	return false
}
