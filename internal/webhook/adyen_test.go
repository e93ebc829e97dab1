package webhook_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestAdyenFieldsAreApart: what is signed is of one item alone, though colons join its fields; and
// what is larger than any notification is not read.
func TestAdyenFieldsAreApart(t *testing.T) {
	s, key := preset(t, "adyen"), bytes.Repeat([]byte{7}, 32)
	sum := hmac.New(sha256.New, key)
	fmt.Fprint(sum, "PSP1::Shop:cart:17:100:EUR:AUTHORISATION:true") // of merchantReference "cart:17"
	signature := base64.StdEncoding.EncodeToString(sum.Sum(nil))
	for _, test := range []struct {
		fields string // with bars between
		more   int
		good   bool
	}{
		{"PSP1||Shop|cart:17|100|EUR|AUTHORISATION|true", 0, true},
		{"PSP1||Shop|cart:17|100|EUR|AUTHORISATION|true", 300_000, false},
		{"PSP1:|Shop|cart|17|100|EUR|AUTHORISATION|true", 0, false},
		{"PSP1||Shop|cart|17|100|EUR:AUTHORISATION|true|", 0, false},
		{"PSP1||Shop|cart|17|100|EUR|AUTHORISATION:true|", 0, false},
	} {
		f := strings.Split(test.fields, "|")
		body := fmt.Sprintf(`{"notificationItems":[{"NotificationRequestItem":{`+
			`"additionalData":{"hmacSignature":%q},`+
			`"pspReference":%q,"originalReference":%q,"merchantAccountCode":%q,"merchantReference":%q,`+
			`"amount":{"value":%q,"currency":%q},"eventCode":%q,"success":%q,"x":%q}}]}`,
			signature, f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], strings.Repeat("x", test.more))
		claim, why := s.Signature.Read(nil, received)
		good, err := claim.By([][]byte{[]byte(hex.EncodeToString(key))}, []byte(body))
		check.That(t, why == "" && err == nil && good == test.good,
			"%s and %d bytes: %v, %q, %v", test.fields, test.more, good, why, err)
	}
}
