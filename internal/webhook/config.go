package webhook

import (
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
)

// Variable is the environment variable of the ARN of the i-th source's secret,
// where the file does not hold it.
func Variable(i int) string { return fmt.Sprintf("STREAMSORT_WEBHOOK_SECRET_%d", i) }

// TokenVariable is Variable of a verify token.
func TokenVariable(i int) string { return fmt.Sprintf("STREAMSORT_WEBHOOK_TOKEN_%d", i) }

var (
	sourceName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
	headerName = regexp.MustCompile(`^[A-Za-z0-9-]{1,128}$`)
	keyARN     = regexp.MustCompile(`^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]{1,128}$`)
)

// Read reads the text of the file:
//
//	{"sources": [
//	  {"name": "github", "preset": "github",
//	   "secret": "arn:aws:secretsmanager:eu-west-1:123456789012:secret:github-Ab12Cd"},
//	  {"name": "stripe", "preset": "stripe", "tolerance": "1m", "queue": "data.object.customer | 'none'",
//	   "secret": "${STREAMSORT_WEBHOOK_SECRET_1}"},
//	  {"name": "whatsapp", "preset": "meta", "secret": "…", "verifyToken": "…"},
//	  {"name": "bank", "secret": "…",
//	   "signature": {"header": "X-Signature", "prefix": "v0=", "encoding": "hex", "keyEncoding": "base64",
//	                 "idHeader": "X-Id", "timestampHeader": "X-Timestamp", "template": "{id}.{timestamp}.{body}"},
//	   "queue": "account", "prefix": "bank/", "seq": "number", "id": "event.id"}
//	]}
//
// It is read strictly: a member that is not known, given twice, or out of its
// bounds is an error that names it. lookup finds the variables of the
// environment that it names, as os.LookupEnv does. Package mapping has the paths.
func Read(text []byte, lookup func(name string) (string, bool)) ([]Source, error) {
	return file.Read(text, lookup)
}

// file is what the file holds.
var file = assetfile.List[Source]{
	Name: "sources", Max: MaxSources, Variable: regexp.MustCompile(`\$\{(STREAMSORT_WEBHOOK_(?:SECRET|TOKEN)_[0-9]+)\}`),
	Element: read, NameOf: func(s Source) string { return s.Name },
}

// draft is a source that is being read.
type draft struct {
	Source
	preset    string
	way       way
	tolerance time.Duration
	// given has the members that are there.
	given map[string]bool
	texts mapping.Texts
}

// read reads one source. Its error begins with a member's name.
func read(members []strictjson.Member) (Source, error) {
	d := &draft{given: map[string]bool{}}
	d.MaxBody = maxBody
	for _, m := range members {
		d.given[m.Name] = true
		if err := d.member(m); err != nil {
			return d.Source, err
		}
	}
	return d.Source, d.finish()
}

// member reads one member.
func (d *draft) member(m strictjson.Member) (err error) {
	switch m.Name {
	case "name":
		if d.Name, err = strictjson.Text(m.Value); err == nil && (len(d.Name) > MaxName || !sourceName.MatchString(d.Name)) {
			err = fmt.Errorf("must be 1 to %d letters, digits, '.', '-' or '_'", MaxName)
		}
	case "preset":
		d.preset, err = strictjson.Text(m.Value)
		if _, known := presets[d.preset]; err == nil && !known {
			err = fmt.Errorf("is %.40q: it must be %s; for any other sender, write how it signs as signature", d.preset, presetNames())
		}
	case "order":
		var text string
		if text, err = strictjson.Text(m.Value); err == nil && text != "arrival" {
			err = errors.New(`must be "arrival": other orders are said by seq or by key`)
		}
	case "secret":
		d.Secret, err = reference(m.Value)
	case "challenge":
		var text string
		text, err = strictjson.Text(m.Value)
		if d.Challenge = Challenge(text); err == nil && !slices.Contains(challenges, d.Challenge) {
			err = fmt.Errorf("is %.40q: it must be slack, cloudevents or hub", text)
		}
	case "verifyToken":
		d.VerifyToken, err = reference(m.Value)
	case "secretKey":
		if d.SecretKey, err = strictjson.Text(m.Value); err == nil && !keyARN.MatchString(d.SecretKey) {
			err = errors.New("must be the ARN of a key of KMS, such as arn:aws:kms:eu-west-1:123456789012:key/ID")
		}
	case "tolerance":
		d.tolerance, err = duration(m.Value)
	case "signature":
		return inner(m, d.readSignature)
	case "maxBody":
		if d.MaxBody, err = strictjson.Positive(m.Value); err != nil || d.MaxBody > maxBody {
			err = fmt.Errorf("must be an integer from 1 to %d", maxBody)
		}
	default:
		switch {
		case !d.texts.Has(m.Name):
			err = fmt.Errorf("is not known: there are name, preset, order, secret, secretKey, challenge, verifyToken, tolerance, signature, maxBody, attributes, prefix, %s", strings.Join(mapping.Names(), ", "))
		default:
			if err := d.texts.Read(m); err != nil {
				return err // it names the field
			}
			if m.Name == "key" && strings.HasPrefix(d.texts.Key, "arn:") {
				err = errors.New("is an ARN: that of the secret's key is secretKey")
			}
		}
	}
	if err != nil {
		return fmt.Errorf("%s %w", m.Name, err)
	}
	return nil
}

// finish fills in what is not given, and checks what belongs together.
func (d *draft) finish() error {
	for _, name := range []string{"name", "secret"} {
		if !d.given[name] {
			return fmt.Errorf("%s is missing", name)
		}
	}
	if err := d.defaults(); err != nil {
		return err
	}
	if d.given["signature"] {
		if d.way.template == nil && d.way.form != inPlain {
			d.way.template = bodyAlone
		}
		d.way.secrets = cmp.Or(d.way.secrets, secret.Text)
		d.Signature.ways = []way{d.way}
		if d.texts.ID == "" && d.way.idHeader != "" {
			d.texts.ID = "@header(" + d.way.idHeader + ")"
		}
	}
	if (d.Challenge == ChallengeHub) != d.given["verifyToken"] {
		return errors.New("verifyToken must be given with the challenge hub, and with no other: it is what the sender shows")
	}
	switch timed := d.Signature.timed(); {
	case !timed && d.given["tolerance"]:
		return errors.New("tolerance is for a signature with a timestamp: this one has none")
	case timed:
		d.Signature.tolerance = DefaultTolerance
		if d.given["tolerance"] {
			d.Signature.tolerance = d.tolerance
		}
	}
	return d.readMapping()
}

// readMapping reads the mapping.
func (d *draft) readMapping() (err error) {
	for name, path := range d.texts.Attributes {
		if oldHeader.MatchString(path) {
			return fmt.Errorf("attributes.%s is %q, a field of the body: for a header, write @header(%s)", name, path, path)
		}
	}
	d.Mapping, err = d.texts.Parse(mapping.Kind{Source: d.Name, Request: true})
	if err == nil && d.Splits() && !d.given["maxBody"] {
		d.MaxBody = httpapi.MaxBody
	}
	return err
}

// oldHeader is what is meant as a header's name.
var oldHeader = regexp.MustCompile(`^[Xx]-[A-Za-z0-9-]+$`)

// inner reads the members of a member, and puts its name before theirs.
func inner(m strictjson.Member, read func(strictjson.Member) error) error {
	members, err := strictjson.Members(m.Value)
	if err != nil {
		return fmt.Errorf("%s %w", m.Name, err)
	}
	if len(members) == 0 {
		return fmt.Errorf("%s is empty", m.Name)
	}
	for _, member := range members {
		if member.Name == "" {
			return fmt.Errorf("%s has a member without a name", m.Name)
		}
		if err := read(member); err != nil {
			return fmt.Errorf("%s.%s %w", m.Name, member.Name, err)
		}
	}
	if err := read(strictjson.Member{}); err != nil {
		return fmt.Errorf("%s %w", m.Name, err)
	}
	return nil
}

// readSignature reads a member of a general signature; the empty one ends it.
func (d *draft) readSignature(m strictjson.Member) (err error) {
	s := &d.way
	switch m.Name {
	case "header":
		s.header, err = header(m.Value)
	case "prefix":
		if s.prefix, err = strictjson.Text(m.Value); err == nil && len(s.prefix) > 64 {
			err = errors.New("must have at most 64 bytes")
		}
	case "encoding":
		var encoding string
		if encoding, err = strictjson.Text(m.Value); err == nil {
			var known bool
			if s.form, known = map[string]form{"hex": inHex, "base64": inBase64, "token": inPlain}[encoding]; !known {
				err = errors.New("must be hex, base64, or token: the header is the secret itself")
			}
		}
	case "keyEncoding":
		var encoding string
		encoding, err = strictjson.Text(m.Value)
		s.secrets = secret.Encoding(encoding)
		if err == nil && s.secrets != secret.Text && s.secrets != secret.Base64 && s.secrets != secret.Hex {
			err = fmt.Errorf("is %.40q: it must be text, base64 or hex", encoding)
		}
	case "idHeader":
		s.idHeader, err = header(m.Value)
	case "timestampHeader":
		s.timestampHeader, err = header(m.Value)
	case "template":
		var text string
		if text, err = strictjson.Text(m.Value); err == nil {
			s.template, err = parseTemplate(text)
		}
	case "":
		if s.header == "" {
			return errors.New("has no header")
		}
		if s.form == inPlain && (s.template != nil || s.idHeader != "" || s.timestampHeader != "" || s.secrets != "") {
			return errors.New("has header and prefix alone with the encoding token, which signs nothing")
		}
		signs := func(kind partKind) bool {
			return slices.ContainsFunc(s.template, func(p part) bool { return p.is == kind })
		}
		if signs(timestamp) != (s.timestampHeader != "") {
			return errors.New("must have both a timestampHeader and {timestamp} in its template, or neither: a timestamp that is not signed is worth nothing")
		}
		if signs(messageID) != (s.idHeader != "") {
			return errors.New("must have both an idHeader and {id} in its template, or neither")
		}
	default:
		err = errors.New("is not known: there are header, prefix, encoding, keyEncoding, idHeader, timestampHeader and template")
	}
	return err
}

// parseTemplate reads what is signed: {body} once, {timestamp} and {id} once at most, and
// any text around them.
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
	// Where they touch, digits could move from one to the other, and the
	// signature would stay right.
	for i, p := range parts[1:] {
		before := parts[i]
		if p.is != literal && before.is != literal || p.is == literal && strings.Trim(p.text, "0123456789") == "" && i+2 < len(parts) {
			return nil, errors.New("must have a character that is no digit between {timestamp}, {id} and {body}")
		}
	}
	return parts, nil
}

func reference(raw json.RawMessage) (secret.Reference, error) {
	arn, err := strictjson.Text(raw)
	if err != nil {
		return secret.Reference{}, err
	}
	return secret.ParseReference(arn)
}

func header(raw json.RawMessage) (string, error) {
	name, err := strictjson.Text(raw)
	if err == nil && !headerName.MatchString(name) {
		err = errors.New("must be a header's name: 1 to 128 letters, digits or '-'")
	}
	return strings.ToLower(name), err
}

func duration(raw json.RawMessage) (time.Duration, error) {
	text, err := strictjson.Text(raw)
	if err != nil {
		return 0, err
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < MinTolerance || d > MaxTolerance {
		return 0, fmt.Errorf("must be a duration from %s to %s", MinTolerance, MaxTolerance)
	}
	return d, nil
}
