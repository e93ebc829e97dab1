package secret

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"strings"
)

// Encoding is how the secrets of a scheme are written. What they stand for is a key.
type Encoding string

const (
	// Text: the key is the text itself.
	Text Encoding = "text"
	// Base64: the key in base64, with the alphabet of URLs too, and behind "whsec_" or "v1,whsec_"
	// as senders of Standard Webhooks give it out.
	Base64 Encoding = "base64"
	// Hex: the key in hexadecimal digits.
	Hex Encoding = "hex"
	// PublicKey: a public key of the curve P-256, as DER in base64 or as PEM; the key is its DER.
	PublicKey Encoding = "public key"
	// Token and SigningToken share secrets out: those with "whsec_" before them are in Base64, the
	// others are Text.
	Token        Encoding = "token"
	SigningToken Encoding = "signing token"
)

// signingPrefix is what may be before a secret in base64.
const signingPrefix = "whsec_"

// ValueError says which secret cannot be used, and nothing of what is in it.
type ValueError struct{ Problem string }

func (e *ValueError) Error() string { return e.Problem }

func wrongValue(format string, arguments ...any) error {
	return &ValueError{fmt.Sprintf(format, arguments...)}
}

// Keys are the keys that secrets stand for. The error is a [ValueError].
func (e Encoding) Keys(values [][]byte) ([][]byte, error) {
	var keys [][]byte
	for i, value := range values {
		text := strings.TrimSpace(string(value))
		signing := strings.HasPrefix(strings.TrimPrefix(text, "v1,"), signingPrefix)
		key, must := value, ""
		switch {
		case e == Token && signing, e == SigningToken && !signing:
			continue
		case e == Base64, e == SigningToken:
			key, must = fromBase64(text),
				fmt.Sprintf("%s and %d bytes or more in base64", signingPrefix, MinBytes)
		case e == Hex:
			key, must = fromHex(text), fmt.Sprintf("%d bytes or more in hexadecimal digits", MinBytes)
		case e == PublicKey:
			key, must = publicKey(text), "a public key of the curve P-256, as DER in base64 or as PEM"
		}
		if len(key) < MinBytes {
			return nil, wrongValue("secret %d of %d is not %s, as the scheme has it", i+1, len(values), must)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// fromHex is the key that digits stand for; nil where they are not hexadecimal.
func fromHex(text string) []byte {
	key, err := hex.DecodeString(text)
	if err != nil {
		return nil // some of it was read
	}
	return key
}

// fromBase64 is the key that a text stands for; nil where it is not base64.
func fromBase64(text string) []byte {
	text = strings.TrimPrefix(strings.TrimPrefix(text, "v1,"), signingPrefix)
	encoding := base64.RawStdEncoding
	if !strings.HasSuffix(text, "=") {
		encoding = encoding.Strict() // most of the texts that were cut off are refused
	}
	key, err := encoding.DecodeString(strings.NewReplacer("-", "+", "_",
		"/").Replace(strings.TrimRight(text, "=")))
	if err != nil {
		return nil
	}
	return key
}

// publicKey is a key's DER; nil where the text has no key of the curve.
func publicKey(text string) []byte {
	var der []byte
	if block, _ := pem.Decode([]byte(text)); block != nil {
		der = block.Bytes
	} else {
		der = fromBase64(text)
	}
	if parsed, err := x509.ParsePKIXPublicKey(der); err == nil {
		if key, ok := parsed.(*ecdsa.PublicKey); ok && key.Curve == elliptic.P256() {
			return bytes.Clone(der)
		}
	}
	return nil
}
