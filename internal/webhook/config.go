package webhook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/assetfile"
	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/mapping"
	"github.com/streamsort/streamsort/internal/secret"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Variable is the environment variable of the ARN of the i-th source's secret, where the file does
// not hold it.
func Variable(i int) string { return fmt.Sprintf("STREAMSORT_WEBHOOK_SECRET_%d", i) }

// TokenVariable is Variable of a verify token.
func TokenVariable(i int) string { return fmt.Sprintf("STREAMSORT_WEBHOOK_TOKEN_%d", i) }

var (
	sourceName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	header     = regexp.MustCompile(`^[A-Za-z0-9-]{1,128}$`)
	keyARN     = regexp.MustCompile(
		`^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]{1,128}$`)
)

// Read reads the text of the file:
//
//	{"sources": [
//	  {"name": "stripe", "preset": "stripe", "tolerance": "1m", "queue": "data.object.customer | 'none'",
//	   "secret": "${STREAMSORT_WEBHOOK_SECRET_0}"},
//	  {"name": "whatsapp", "preset": "meta", "secret": "…", "verifyToken": "…"},
//	  {"name": "bank", "secret": "…",
//	   "signature": {"header": "X-Signature", "prefix": "v0=", "encoding": "hex", "keyEncoding": "base64",
//	                 "idHeader": "X-Id", "timestampHeader": "X-Timestamp", "template": "{id}.{timestamp}.{body}"},
//	   "queue": "account", "prefix": "bank/", "seq": "number", "id": "event.id"}
//	]}
//
// It is read strictly: a member that is not known, given twice, or out of its bounds is an error
// that names it. lookup finds the variables of the environment that it names, as os.LookupEnv does.
// Package mapping has the paths.
func Read(text []byte, lookup func(name string) (string, bool)) ([]Source, error) {
	return file.Read(text, lookup)
}

var file = assetfile.List[Source]{
	Name: "sources", Max: MaxSources,
	Variable: regexp.MustCompile(`\$\{(STREAMSORT_WEBHOOK_(?:SECRET|TOKEN)_[0-9]+)\}`),
	Element:  read, NameOf: func(s Source) string { return s.Name },
}

type document struct {
	Name        string            `json:"name" required:"true" like:"shop"`
	Preset      string            `json:"preset"`
	Order       string            `json:"order" bounds:"1.."`
	Secret      secret.Reference  `json:"secret" required:"true" like:"arn:aws:ssm:eu-west-1:123456789012:parameter/shop"`
	SecretKey   string            `json:"secretKey" bounds:"1.."`
	Challenge   Challenge         `json:"challenge" one:"slack cloudevents hub"`
	VerifyToken *secret.Reference `json:"verifyToken"`
	Tolerance   time.Duration     `json:"tolerance" bounds:"10s..1h"`
	Signature   *signature        `json:"signature"`
	MaxBody     int               `json:"maxBody" bounds:"1..358400"`
	mapping.Texts
}

type signature struct {
	Header          headerName      `json:"header" required:"true" like:"X-Signature"`
	Prefix          string          `json:"prefix" bounds:"0..64"`
	Encoding        string          `json:"encoding" one:"hex base64 token" default:"hex"`
	KeyEncoding     secret.Encoding `json:"keyEncoding" one:"text base64 hex"`
	IDHeader        headerName      `json:"idHeader"`
	TimestampHeader headerName      `json:"timestampHeader"`
	Template        template        `json:"template"`
}

// headerName is a header's name, in small letters.
type headerName string

func (h *headerName) UnmarshalText(text []byte) error {
	if *h = headerName(bytes.ToLower(text)); !header.Match(text) {
		return errors.New("must be a header's name: 1 to 128 letters, digits or '-'")
	}
	return nil
}

type template []part

func (t *template) UnmarshalText(text []byte) (err error) {
	*t, err = parseTemplate(string(text))
	return err
}

func read(raw json.RawMessage) (Source, error) {
	var d document
	if err := strictjson.Decode(raw, &d); err != nil {
		return Source{}, err
	}
	return d.source()
}

// source fills in what the scheme says, and checks what belongs together.
func (d *document) source() (s Source, err error) {
	s = Source{Name: d.Name, Secret: d.Secret, SecretKey: d.SecretKey, MaxBody: d.MaxBody}
	switch {
	case !sourceName.MatchString(d.Name):
		return s, invalid.New(invalid.Malformed, "name",
			"must be 1 to 64 letters, digits, '.', '-' or '_'")
	case d.SecretKey != "" && !keyARN.MatchString(d.SecretKey):
		return s, invalid.New(invalid.Malformed, "secretKey",
			"must be the ARN of a key of KMS, such as "+
				"arn:aws:kms:eu-west-1:123456789012:key/ID")
	case strings.HasPrefix(d.Key, "arn:"):
		return s, invalid.New(invalid.Misplaced, "key",
			"is an ARN: that of the secret's key is secretKey")
	}
	if s.Signature, err = d.defaults(); err != nil {
		return s, err
	}
	if s.Challenge = d.Challenge; d.Signature != nil {
		w, err := d.Signature.way()
		if err != nil {
			return s, invalid.Named("signature", err)
		}
		if s.Signature.ways = []way{w}; d.ID == "" && w.idHeader != "" {
			d.ID = "@header(" + w.idHeader + ")"
		}
	}
	switch timed := s.Signature.timed(); {
	case !timed && d.Tolerance > 0:
		return s, invalid.New(invalid.Misplaced, "tolerance",
			"is for a signature with a timestamp: this one has none")
	case timed:
		s.Signature.tolerance = cmp.Or(d.Tolerance, DefaultTolerance)
	}
	if (d.Challenge == ChallengeHub) != (d.VerifyToken != nil) {
		return s, invalid.New(invalid.Misplaced, "verifyToken",
			"must be given with the challenge hub, and with no other: it is what the sender shows")
	}
	if d.VerifyToken != nil {
		s.VerifyToken = *d.VerifyToken
	}
	for name, path := range d.Attributes {
		if oldHeader.MatchString(path) {
			return s, invalid.New(invalid.Misplaced, "attributes."+name,
				fmt.Sprintf("is %q, a field of the body: for a header, write @header(%s)", path, path))
		}
	}
	s.Mapping, err = d.Parse(mapping.Kind{Source: d.Name, Request: true})
	if s.MaxBody == 0 && err == nil {
		if s.MaxBody = cursor.MaxBody; s.Splits() {
			s.MaxBody = httpapi.MaxBody
		}
	}
	return s, err
}

// oldHeader is what is meant as a header's name.
var oldHeader = regexp.MustCompile(`^[Xx]-[A-Za-z0-9-]+$`)

func (s *signature) way() (way, error) {
	signs := func(kind partKind) bool {
		return slices.ContainsFunc(s.Template, func(p part) bool { return p.is == kind })
	}
	w := way{
		header: string(s.Header), prefix: s.Prefix, idHeader: string(s.IDHeader),
		timestampHeader: string(s.TimestampHeader), template: s.Template,
		secrets: cmp.Or(s.KeyEncoding, secret.Text),
	}
	w.form = map[string]form{"hex": inHex, "base64": inBase64, "token": inPlain}[s.Encoding]
	if w.template == nil && w.form != inPlain {
		w.template = bodyAlone
	}
	switch {
	case w.form == inPlain && (s.Template != nil || s.IDHeader+s.TimestampHeader != "" ||
		s.KeyEncoding != ""):
		return w, errors.New("has header and prefix alone with the encoding token, which signs nothing")
	case signs(timestamp) != (s.TimestampHeader != ""):
		return w, errors.New("must have both a timestampHeader and {timestamp} in its template, " +
			"or neither: a timestamp that is not signed is worth nothing")
	case signs(messageID) != (s.IDHeader != ""):
		return w, errors.New("must have both an idHeader and {id} in its template, or neither")
	}
	return w, nil
}

// parseTemplate reads what is signed: {body} once, {timestamp} and {id} once at most, and any text
// around them.
func parseTemplate(text string) (parts []part, err error) {
	if len(text) > 256 {
		return nil, errors.New("must have at most 256 bytes")
	}
	has := map[partKind]int{}
	add := func(p part) {
		if p.is != literal || p.text != "" {
			parts = append(parts, p)
			has[p.is]++
		}
	}
	for text != "" {
		before, rest, found := strings.Cut(text, "{")
		add(part{text: before})
		if !found {
			break
		}
		name, rest, found := strings.Cut(rest, "}")
		kind, known := map[string]partKind{"timestamp": timestamp, "body": body, "id": messageID}[name]
		if !found || !known {
			return nil, errors.New("has a '{' that is not that of {body}, {timestamp} or {id}")
		}
		add(part{is: kind})
		text = rest
	}
	if has[body] != 1 || has[timestamp] > 1 || has[messageID] > 1 {
		return nil, errors.New("must have {body} once, and {timestamp} and {id} at most once")
	}
	// Where they touch, digits could move from one to the other, and the signature would stay
	// right.
	for i, p := range parts[1:] {
		before := parts[i]
		if p.is != literal && before.is != literal ||
			p.is == literal && strings.Trim(p.text, "0123456789") == "" && i+2 < len(parts) {
			return nil,
				errors.New("must have a character that is no digit between {timestamp}, {id} and {body}")
		}
	}
	return parts, nil
}
