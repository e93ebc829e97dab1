package httpsink

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/egress"
	"github.com/streamsort/streamsort/internal/secret"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Kind is an endpoint that takes POST requests.
var Kind = kind.Kind{
	Name: "http", Read: read,
	Example: "arn:aws:secretsmanager:us-east-1:000000000000:secret:orders-Ab12Cd",
	Action:  "secretsmanager:GetSecretValue",
}

const (
	// inline is how long an endpoint may keep others waiting that are delivered to beside it.
	inline = time.Second
	// maxHeader is how many bytes a header has that is added.
	maxHeader = 1024
)

const (
	standard = "standard"
	hmacOnly = "hmac"
	bearer   = "bearer"
)

type settings struct {
	Kind string `json:"kind"`
	// URL is where requests go to; its zero value where Endpoints is true: each queue has an
	// endpoint of its own then, which has its secrets too.
	URL       address `json:"url"`
	Endpoints bool    `json:"endpoints"`
	// Mode is single, a request a message, or batch, one a batch.
	Mode string `json:"mode" one:"single batch"`
	// Format is cloudevents where each message is sent as one, and a batch as one of them.
	Format   string            `json:"format" one:"cloudevents"`
	Sign     sign              `json:"sign"`
	Timeout  time.Duration     `json:"timeout" bounds:"1s..1m" default:"10s"`
	MaxBytes int               `json:"maxBytes" bounds:"1024..6291456" default:"1048576"`
	Ports    []int             `json:"ports" bounds:"1..20" each:"1..65535"`
	Headers  map[string]string `json:"headers" bounds:"0..10"`
	Given    strictjson.Given
}

type address struct{ *url.URL }

func (a *address) UnmarshalText(text []byte) (err error) {
	a.URL, err = egress.ParseURL(string(text))
	return err
}

// sign is how requests are signed; the zero value is not at all.
type sign struct {
	Scheme string           `json:"scheme" one:"standard hmac bearer" required:"true"`
	Secret secret.Reference `json:"secret" required:"true" like:"arn:aws:secretsmanager:eu-west-1:123456789012:secret:NAME-Ab12Cd"`
	// Header has the signature of the scheme hmac, behind Prefix.
	Header string `json:"header" bounds:"1.."`
	Prefix string `json:"prefix" bounds:"0..64"`
}

var headerName = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// Defaults sets what a reader of single messages has where nothing else is said: a batch of one, so
// that a message which was taken does not come again for another one's sake. Where each queue has
// an endpoint of its own, none of them says anything of another.
func (s settings) Defaults(r *delivery.Reader) error {
	if r.Apart = s.Endpoints; s.Endpoints {
		r.Inline = inline
	}
	if s.Mode != "batch" && r.MaxMessages == 0 {
		r.MaxMessages = 1
	}
	return nil
}

func read(raw json.RawMessage) (kind.Settings, error) {
	var s settings
	if err := strictjson.Decode(raw, &s); err != nil {
		return nil, err
	}
	return s, nil
}

// Check is called by the decoder.
func (s *settings) Check() error {
	switch {
	case s.Given["endpoints"] && !s.Endpoints:
		return invalid.New(invalid.Malformed, "endpoints", "must be true, or left out")
	case s.URL.URL == nil && !s.Endpoints:
		return invalid.New(invalid.Missing, "url",
			"is missing: it must be like https://example.com/hooks; or endpoints must be true")
	case s.URL.URL != nil && s.Endpoints:
		return invalid.New(invalid.Clash, "endpoints", "is true beside url; write one of them")
	case s.Endpoints && s.Sign.Scheme != "":
		return invalid.New(invalid.Clash, "sign",
			"is set beside endpoints, each of which has secrets of its own")
	}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		problem := ""
		switch value := s.Headers[name]; {
		case !headerName.MatchString(name) || reserved(name):
			problem = "is no header that may be added: 1 to 64 letters, digits and hyphens, and none that requests have otherwise"
		case len(value) > maxHeader || !visible(value):
			problem = fmt.Sprintf("must be at most %d visible characters of ASCII, and spaces between them",
				maxHeader)
		case seen[strings.ToLower(name)]:
			problem = "stands there twice, in letters of another case"
		}
		if seen[strings.ToLower(name)] = true; problem != "" {
			return strictjson.In("headers", strictjson.In(name, errors.New(problem)))
		}
	}
	return nil
}

// Check is called by the decoder.
func (s *sign) Check() error {
	switch {
	case s.Scheme == hmacOnly && s.Header == "":
		return invalid.New(invalid.Missing, "header",
			"is missing: it has the signature of the scheme hmac")
	case s.Scheme != hmacOnly && s.Header+s.Prefix != "":
		return invalid.New(invalid.Misplaced, "header", "and prefix are for the scheme hmac")
	case s.Header != "" && (!headerName.MatchString(s.Header) || reserved(s.Header)):
		return invalid.New(invalid.Malformed, "header",
			"must be the name of a header that no request has otherwise: 1 to 64 letters, digits "+
				"and hyphens")
	case !visible(s.Prefix):
		return invalid.New(invalid.Malformed, "prefix", "must be at most 64 visible characters of ASCII")
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
	if strings.HasPrefix(name, "webhook-") || strings.HasPrefix(name, ownPrefix) ||
		strings.HasPrefix(name, "proxy-") {
		return true
	}
	switch name {
	case "host", "content-length", "content-type", "connection", "keep-alive", "transfer-encoding",
		"te", "trailer", "upgrade", "user-agent", "authorization", "expect":
		return true
	}
	return false
}
