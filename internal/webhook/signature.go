package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/secret"
)

// Signature is how a source signs: with HMAC-SHA-256 over what template says.
type Signature struct {
	// header holds the signature, in small letters, behind prefix.
	header, prefix string
	// base64 says that it is written so, and not in hexadecimal digits.
	base64 bool
	// list says that the header is Stripe's list of a timestamp and signatures, standard that it is
	// Standard Webhooks' of versions and signatures, whose secrets are written in base64.
	list, standard bool
	// idHeader holds the request's id, which is signed too; empty where there is none.
	idHeader string
	// timestampHeader holds the timestamp that is signed too, in seconds since
	// 1970; empty where there is none, or where the list has it.
	timestampHeader string
	tolerance       time.Duration
	// template is what is signed, in parts.
	template []part
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

// bodyAlone is the template of a source that signs nothing but the body.
var bodyAlone = []part{{is: body}}

// schemes are those of known senders.
//
//   - GitHub: https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
//   - Stripe: https://docs.stripe.com/webhooks#verify-manually
//   - Shopify: https://shopify.dev/docs/apps/build/webhooks/subscribe/https
//   - Standard Webhooks: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md,
//     by its symmetric signatures, v1
var schemes = map[string]struct {
	Signature
	id string // a path
}{
	"github": {
		Signature{header: "x-hub-signature-256", prefix: "sha256=", template: bodyAlone},
		"@header(X-GitHub-Delivery)",
	},
	"stripe": {
		Signature{
			header: "stripe-signature", list: true, tolerance: DefaultTolerance,
			template: []part{{is: timestamp}, {text: "."}, {is: body}},
		},
		"id",
	},
	"standard": {
		Signature{
			header: "webhook-signature", standard: true, idHeader: "webhook-id", timestampHeader: "webhook-timestamp",
			tolerance: DefaultTolerance, template: []part{{is: messageID}, {text: "."}, {is: timestamp}, {text: "."}, {is: body}},
		},
		"@header(webhook-id)",
	},
	"shopify": {
		Signature{header: "x-shopify-hmac-sha256", base64: true, template: bodyAlone},
		"@header(X-Shopify-Webhook-Id)",
	},
}

// Refusal is why a request is refused, for the operator's log; no sender gets
// it. Empty means that it is not refused.
type Refusal string

// The reasons.
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
	id, timestamp string
	signatures    [][]byte
	template      []part
	// coded says that the secrets are written in base64.
	coded bool
}

// Read reads a request's headers, which have their names in small letters. Its
// claim is good for Claim.By where nothing is to be refused.
func (s *Signature) Read(headers map[string]string, now time.Time) (Claim, Refusal) {
	c := Claim{template: s.template, coded: s.standard}
	value := headers[s.header]
	switch {
	case value == "":
		return c, NoSignature
	case len(value) > MaxHeader:
		return c, TooLong
	case s.list:
		if why := c.readList(value); why != "" {
			return c, why
		}
	case s.standard:
		if why := c.readVersions(value); why != "" {
			return c, why
		}
	default:
		rest, ok := strings.CutPrefix(value, s.prefix)
		signature, readable := s.decode(rest)
		if !ok || !readable {
			return c, Unreadable
		}
		c.signatures = [][]byte{signature}
	}
	if s.idHeader != "" {
		switch c.id = headers[s.idHeader]; {
		case c.id == "":
			return c, NoSignature
		case len(c.id) > MaxHeader:
			return c, TooLong
		}
	}
	if s.timestampHeader != "" {
		c.timestamp = headers[s.timestampHeader]
		if c.timestamp == "" {
			return c, NoSignature
		}
	}
	if s.list || s.timestampHeader != "" {
		return c, s.checkTime(c.timestamp, now)
	}
	return c, ""
}

// decode reads a signature, which has 32 bytes. Base64 is taken in its one form
// only: with other bits behind the end two texts would be one signature.
func (s *Signature) decode(text string) (signature []byte, ok bool) {
	var err error
	switch {
	case s.base64 && len(text) == base64.StdEncoding.EncodedLen(sha256.Size):
		signature, err = base64.StdEncoding.Strict().DecodeString(text)
	case !s.base64 && len(text) == hex.EncodedLen(sha256.Size):
		signature, err = hex.DecodeString(text)
	default:
		return nil, false
	}
	return signature, err == nil && len(signature) == sha256.Size
}

// readList reads Stripe's header: t=…,v1=…,v1=…, and older schemes, which are
// passed over.
func (c *Claim) readList(value string) Refusal {
	hexadecimal := &Signature{}
	for item := range strings.SplitSeq(value, ",") {
		switch name, text, _ := strings.Cut(item, "="); name {
		case "t":
			if c.timestamp != "" {
				return BadTimestamp
			}
			c.timestamp = text
		case "v1":
			if signature, ok := hexadecimal.decode(text); ok {
				c.signatures = append(c.signatures, signature)
			}
		}
	}
	if len(c.signatures) == 0 {
		return Unreadable
	}
	return ""
}

// readVersions reads Standard Webhooks' header: "v1,… v1,…", and versions that are none of ours, which
// are passed over.
func (c *Claim) readVersions(value string) Refusal {
	coded := &Signature{base64: true}
	for item := range strings.SplitSeq(value, " ") {
		if text, ours := strings.CutPrefix(item, "v1,"); ours {
			if signature, ok := coded.decode(text); ok {
				c.signatures = append(c.signatures, signature)
			}
		}
	}
	if len(c.signatures) == 0 {
		return Unreadable
	}
	return ""
}

// maxTimestamp is how many digits a timestamp has at most.
const maxTimestamp = 12

// checkTime refuses a timestamp that is none, or too far away.
func (s *Signature) checkTime(text string, now time.Time) Refusal {
	if text == "" || len(text) > maxTimestamp || strings.Trim(text, "0123456789") != "" {
		return BadTimestamp
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return BadTimestamp // unreachable: twelve digits
	}
	if now.Sub(time.Unix(seconds, 0)).Abs() > s.tolerance {
		return OutOfTolerance
	}
	return ""
}

// keys are what secrets sign with: themselves, or what they are in base64.
func (c Claim) keys(secrets [][]byte) ([][]byte, error) {
	if !c.coded {
		return secrets, nil
	}
	return secret.StandardKeys(secrets)
}

// Check reports whether one of the secrets of a reference made the claim's signature over the body:
// see [secret.Cache.Try].
func (c Claim) Check(ctx context.Context, secrets *secret.Cache, of secret.Reference, body []byte) (bool, error) {
	return secrets.Try(ctx, of, func(values [][]byte) (bool, error) { return c.By(values, body) })
}

// By reports whether one of the secrets made the claim's signature over the
// body. It takes as long whichever did, and wherever a wrong one differs. The error says which
// secret is none of the scheme's, and nothing of what is in it.
func (c Claim) By(secrets [][]byte, content []byte) (bool, error) {
	keys, err := c.keys(secrets)
	made := false
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		for _, p := range c.template {
			switch p.is {
			case timestamp:
				mac.Write([]byte(c.timestamp))
			case body:
				mac.Write(content)
			case messageID:
				mac.Write([]byte(c.id))
			default:
				mac.Write([]byte(p.text))
			}
		}
		sum := mac.Sum(nil)
		for _, signature := range c.signatures {
			if hmac.Equal(sum, signature) {
				made = true
			}
		}
	}
	return made, err
}
