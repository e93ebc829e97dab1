package secret_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/secret"
)

// TestKeys: a secret is taken as senders give it out; an error says which is wrong, and not what is
// in it.
func TestKeys(t *testing.T) {
	key := []byte("\xfb\xff\xfe 19 bytes of key")
	url, standard := base64.RawURLEncoding.EncodeToString(key), base64.StdEncoding.EncodeToString(key)
	check.Need(t, strings.ContainsAny(url, "-_") && strings.HasSuffix(standard, "="),
		"%s and %s are no examples", url, standard)
	for _, c := range []struct {
		encoding secret.Encoding
		text     string
		want     []byte
	}{
		{secret.Text, "whsec_" + standard, []byte("whsec_" + standard)},
		{secret.Base64, "v1,whsec_" + standard, key},
		{secret.Base64, "whsec_" + standard, key},
		{secret.Base64, standard, key},
		{secret.Base64, url, key},
		{secret.Base64, " whsec_" + url + "== \n", key},
		{secret.Base64, "whsec_" + standard[:len(standard)-3], nil},
		{secret.Base64, "a secret as others have it", nil},
		{secret.Base64, "v1a,whpk_" + standard, nil},
		{secret.Base64, "whsec_c2hvcnQga2V5", nil},
		{secret.Hex, strings.ToUpper(hex.EncodeToString(key)), key},
		{secret.Hex, hex.EncodeToString(key)[1:], nil},
		{secret.Hex, "0123456789abcdef", nil},
		{secret.PublicKey, standard, nil},
		{secret.Token, "glwt-0123456789abcdef", []byte("glwt-0123456789abcdef")},
		{secret.SigningToken, "whsec_" + standard, key},
		{secret.SigningToken, "whsec_no base64 at all", nil},
	} {
		keys, err := c.encoding.Keys([][]byte{[]byte(c.text)})
		if c.want == nil {
			check.IsA[*secret.ValueError](t, err)
			check.That(t, !strings.Contains(err.Error(), c.text), "%v", err)
			check.Says(t, err, "secret 1 of 1 is not", c.encoding, c.text)
			continue
		}
		check.That(t, err == nil && len(keys) == 1 && bytes.Equal(keys[0], c.want),
			"%s %q: %q, %v; want %q", c.encoding, c.text, keys, err, c.want)
	}
	for encoding, other := range map[secret.Encoding]string{secret.Token: "whsec_" + standard,
		secret.SigningToken: "glwt-0123456789abcdef"} {
		check.Is(t, len(check.Get(encoding.Keys([][]byte{[]byte(other)}))), 0, encoding)
	}
}

func FuzzKeys(f *testing.F) {
	for _, seed := range []string{"v1,whsec_AAAA", "whsec_----____", "00ff",
		"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, encoding := range []secret.Encoding{secret.Base64, secret.Hex, secret.PublicKey,
			secret.SigningToken} {
			keys, err := encoding.Keys([][]byte{text})
			for _, key := range keys {
				check.That(t, err == nil && len(key) >= secret.MinBytes,
					"%s %q is %s, %v", encoding, text, fmt.Sprintf("%q", key), err)
			}
		}
	})
}
