package webhook

import (
	"context"
	"crypto/ecdsa"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/secret"
)

// Signature is how a source signs, in one or more ways.
type Signature struct {
	// ways are tried in their order: that whose header is there counts.
	ways []way
	// known and alias begin names of headers: what is under the second is read as if under the
	// first.
	known, alias string
	tolerance    time.Duration
}

type way struct {
	form form
	// header holds the signature, in small letters, behind prefix; empty where the body has it.
	header, prefix string
	// idHeader holds the request's id, which is signed too; empty if absent.
	idHeader string
	// timestampHeader holds the timestamp that is signed too, in seconds since 1970; empty if
	// absent, or where the list has it.
	timestampHeader string
	// stamp is the field of the body with the milliseconds since 1970; empty where the body has no
	// timestamp.
	stamp string
	// template is what is signed, in parts.
	template []part
	// secrets is how the secrets are written.
	secrets secret.Encoding
}

// form is how a signature is written, and made.
type form int

const (
	inHex      form = iota // HMAC-SHA-256 in hexadecimal digits
	inBase64               // the same in base64
	inList                 // Stripe's list of a timestamp and signatures
	inVersions             // Standard Webhooks' list of versions and signatures
	inPlain                // the secret itself
	inECDSA                // a signature by a key of P-256, in base64
	inItems                // Adyen's, each in an item of the body
)

func (w way) timed() bool { return w.timestampHeader != "" || w.form == inList || w.stamp != "" }

func (s *Signature) timed() bool {
	return slices.ContainsFunc(s.ways, func(w way) bool { return w.timed() })
}

// CheckSecrets is the [secret.ValueError] of a secret that the scheme cannot use.
func (s *Signature) CheckSecrets(values [][]byte) error {
	for _, w := range s.ways {
		if _, err := w.secrets.Keys(values); err != nil {
			return err
		}
	}
	return nil
}

// part is a part of what is signed: a text, or what the request has in its place.
type part struct {
	text string
	is   partKind
}

type partKind int

const (
	literal partKind = iota
	timestamp
	body
	messageID
)

// Refusal is why a request is refused, for the operator's log; no sender gets it. Empty means that
// it is not refused.
type Refusal string

const (
	NoSignature    Refusal = "a header of the signature is missing"
	TooLong        Refusal = "a header of the signature is too long"
	Unreadable     Refusal = "the signature is not written as its scheme has it"
	BadTimestamp   Refusal = "the timestamp is not one, or stands twice"
	OutOfTolerance Refusal = "the timestamp is older than the tolerance, or as far ahead"
	Mismatch       Refusal = "no secret made the signature"
)

// Claim is what a request says of its signature. It may be a lie.
type Claim struct {
	way
	id, timestamp string
	signatures    [][]byte
	tolerance     time.Duration
	now           time.Time
}

// Read reads a request's headers, which have their names in small letters. Its claim is good for
// Claim.Check where nothing is to be refused. What is under another name of the scheme it puts
// under the one that is known.
func (s *Signature) Read(headers map[string]string, now time.Time) (Claim, Refusal) {
	for name, value := range headers {
		rest, is := strings.CutPrefix(name, s.alias)
		if _, there := headers[s.known+rest]; is && s.alias != "" && !there {
			headers[s.known+rest] = value
		}
	}
	for _, w := range s.ways {
		if w.form == inItems || headers[w.header] != "" {
			c := Claim{way: w, tolerance: s.tolerance, now: now}
			return c, c.read(headers)
		}
	}
	return Claim{}, NoSignature
}

func (c *Claim) read(headers map[string]string) Refusal {
	if why := c.readSignature(headers[c.header]); why != "" {
		return why
	}
	if c.idHeader != "" {
		switch c.id = headers[c.idHeader]; {
		case c.id == "":
			return NoSignature
		case len(c.id) > MaxHeader:
			return TooLong
		}
	}
	if c.timestampHeader != "" {
		if c.timestamp = headers[c.timestampHeader]; c.timestamp == "" {
			return NoSignature
		}
	}
	if c.form == inList || c.timestampHeader != "" {
		return c.checkTime(c.timestamp, maxTimestamp, time.Second)
	}
	return ""
}

func (c *Claim) readSignature(value string) Refusal {
	rest, ok := strings.CutPrefix(value, c.prefix)
	switch {
	case len(value) > MaxHeader:
		return TooLong
	case !ok:
		return Unreadable
	}
	switch c.form {
	case inItems:
		return ""
	case inList: // t=…,v1=…,v1=…, and older schemes, which are passed over
		for item := range strings.SplitSeq(rest, ",") {
			switch name, text, _ := strings.Cut(item, "="); {
			case name == "t" && c.timestamp != "":
				return BadTimestamp
			case name == "t":
				c.timestamp = text
			case name == "v1":
				c.decode(inHex, text)
			}
		}
	case inVersions: // v1,… v1,…, and versions that are none of ours, which are passed over
		for item := range strings.SplitSeq(rest, " ") {
			if text, ours := strings.CutPrefix(item, "v1,"); ours {
				c.decode(inBase64, text)
			}
		}
	case inPlain:
		sum := sha256.Sum256([]byte(rest))
		c.signatures = [][]byte{sum[:]}
	case inECDSA:
		signature, err := base64.StdEncoding.Strict().DecodeString(rest)
		if err == nil && len(signature) > 0 {
			c.signatures = [][]byte{signature}
		}
	default:
		c.decode(c.form, rest)
	}
	if len(c.signatures) == 0 {
		return Unreadable
	}
	return ""
}

func (c *Claim) decode(f form, text string) {
	if signature, readable := f.decode(text); readable {
		c.signatures = append(c.signatures, signature)
	}
}

// decode reads a signature, which has 32 bytes. Base64 is taken in its one form only: with other
// bits behind the end two texts would be one signature.
func (f form) decode(text string) (signature []byte, ok bool) {
	var err error
	switch {
	case f != inHex && len(text) == base64.StdEncoding.EncodedLen(sha256.Size):
		signature, err = base64.StdEncoding.Strict().DecodeString(text)
	case f == inHex && len(text) == hex.EncodedLen(sha256.Size):
		signature, err = hex.DecodeString(text)
	default:
		return nil, false
	}
	return signature, err == nil && len(signature) == sha256.Size
}

const maxTimestamp = 12

// checkTime refuses a timestamp in some unit that is malformed, or too far away.
func (c *Claim) checkTime(text string, digits int, unit time.Duration) Refusal {
	if text == "" || len(text) > digits || strings.Trim(text, "0123456789") != "" {
		return BadTimestamp
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return BadTimestamp // unreachable: at most 15 digits
	}
	at := time.Unix(n, 0)
	if unit == time.Millisecond {
		at = time.UnixMilli(n)
	}
	if c.now.Sub(at).Abs() > c.tolerance {
		return OutOfTolerance
	}
	return ""
}

// checkStamp refuses a body, which is signed, for the timestamp in it.
func (c *Claim) checkStamp(body []byte) Refusal {
	if c.stamp == "" {
		return ""
	}
	raw, err := find(body, c.stamp)
	if err != nil {
		return BadTimestamp
	}
	return c.checkTime(string(raw), maxTimestamp+3, time.Millisecond)
}

// Check is why a request is refused, whose body came in one of these forms: with its encoding, or
// without. The error says why the secrets cannot be had, or used: see [secret.Cache.Try].
func (c Claim) Check(ctx context.Context, secrets *secret.Cache, of secret.Reference,
	bodies ...[]byte) (why Refusal, err error) {
	why = Mismatch
	_, err = secrets.Try(ctx, of, func(values [][]byte) (bool, error) {
		for _, body := range bodies {
			signed, err := c.By(values, body)
			if err != nil {
				return false, err
			}
			if signed {
				why = c.checkStamp(body)
				return true, nil
			}
		}
		return false, nil
	})
	return why, err
}

// By reports whether one of the secrets made the claim's signature over the body. It takes as long
// whichever did, and wherever a wrong one differs. The error says which secret does not fit the
// scheme, and nothing of what is in it.
func (c Claim) By(secrets [][]byte, content []byte) (bool, error) {
	keys, err := c.secrets.Keys(secrets)
	if err != nil {
		return false, err
	}
	if c.form == inItems {
		return itemsBy(keys, content), nil
	}
	signed := c.signed(content)
	made := false
	for _, key := range keys {
		if c.form == inECDSA {
			made = verifies(key, signed, c.signatures[0]) || made
			continue
		}
		sum := c.form.sum(key, signed)
		for _, signature := range c.signatures {
			made = hmac.Equal(sum, signature) || made
		}
	}
	return made, nil
}

func (c *Claim) signed(content []byte) (text []byte) {
	for _, p := range c.template {
		switch p.is {
		case timestamp:
			text = append(text, c.timestamp...)
		case body:
			text = append(text, content...)
		case messageID:
			text = append(text, c.id...)
		default:
			text = append(text, p.text...)
		}
	}
	return text
}

// sum is what a key makes of a text: of a token, which signs nothing, its own digest.
func (f form) sum(key, text []byte) []byte {
	if f == inPlain {
		sum := sha256.Sum256(key)
		return sum[:]
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(text)
	return mac.Sum(nil)
}

// verifies reports whether the owner of a public key signed a text.
func verifies(der, text, signature []byte) bool {
	parsed, err := x509.ParsePKIXPublicKey(der)
	key, ok := parsed.(*ecdsa.PublicKey)
	if err != nil || !ok {
		return false // unreachable: it was read before
	}
	sum := sha256.Sum256(text)
	return ecdsa.VerifyASN1(key, sum[:], signature)
}
