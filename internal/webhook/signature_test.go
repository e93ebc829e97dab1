package webhook_test

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	secure "crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/secret"
	"github.com/streamsort/streamsort/internal/webhook"
)

// source reads one source, of the members beside name, secret and queue.
func source(t testing.TB, members string) webhook.Source {
	t.Helper()
	return check.Get(webhook.Read([]byte(`{"sources":[{"name":"s","secret":"arn:aws:ssm:eu-west-1:123456789012:parameter/s","queue":"'q'",`+members+`}]}`), nil))[0]
}

func made(t testing.TB, c webhook.Claim, body string, secrets ...string) bool {
	t.Helper()
	all := make([][]byte, len(secrets))
	for i, text := range secrets {
		all[i] = []byte(text)
	}
	return check.Get(c.By(all, []byte(body)))
}

func sum(secret, text string) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

const (
	slack = `"id":"@digest","signature":{"header":"X-Slack-Signature","prefix":"v0=","timestampHeader":"X-Slack-Request-Timestamp","template":"v0:{timestamp}:{body}"}`
	// sendGridKey is that of the tests of SendGrid's own library.
	sendGridKey = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEDr2LjtURuePQzplybdC+u4CwrqDqBaWjcMMsTbhdbcwHBcepxo7yAQGhHPTnlvFYPAZFceEu/1FwCM/QmGUhA=="
	// slackBody is that of Slack's own example.
	slackBody = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
)

// Known answers: what GitHub, Slack, Jira and Standard Webhooks publish, and SendGrid in its
// library's tests; for Shopify, whose page has no example with its result, one that SQLPage's tests
// have; for Stripe, Linear and Meta, which have none either, one made by `openssl dgst -sha256
// -hmac`.
func TestKnownAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		members, secret, body string
		at                    int64
		headers               map[string]string
	}{
		"github and meta": {
			`"preset":"github"; "preset":"meta","verifyToken":"arn:aws:ssm:eu-west-1:123456789012:parameter/token"`, "It's a Secret to Everybody", "Hello, World!", 0,
			map[string]string{"x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"},
		},
		"shopify": {
			`"preset":"shopify"`, "test-webhook-secret", `{"id":1234567890,"email":"customer@example.com","total_price":"123.45"}`, 0,
			map[string]string{"x-shopify-hmac-sha256": "QNyObTlKbMx2qDlPF/ZOZcBqg5OgPg+2oky3zldc0Gw="},
		},
		"slack, by its name and by a signature of its own": {
			`"preset":"slack"; ` + slack, "8f742231b10e8888abcd99yyyzzz85a5", slackBody, 1531420618,
			map[string]string{
				"x-slack-signature":         "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
				"x-slack-request-timestamp": "1531420618",
			},
		},
		"jira": {
			`"preset":"jira"`, "It's a Secret to Everybody", "Hello World!", 0,
			map[string]string{"x-hub-signature": "sha256=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9"},
		},
		"linear": {
			`"preset":"linear"`, "lin_wh_secret_of_streamsort", `{"action":"create","webhookTimestamp":1700000000123}`, 1700000000,
			map[string]string{"linear-signature": "763f8d6988f2dacb3b887404e5534e6d07c42a424d9a59e87bfdcb091ef7f001"},
		},
		"sendgrid": {
			`"preset":"sendgrid"`, sendGridKey, `{"category":"example_payload","event":"test_event","message_id":"message_id"}`, 1588788367,
			map[string]string{
				"x-twilio-email-event-webhook-timestamp": "1588788367",
				"x-twilio-email-event-webhook-signature": "MEUCIQCtIHJeH93Y+qpYeWrySphQgpNGNr/U+UyUlBkU6n7RAwIgJTz2C+8a8xonZGi6BpSzoQsbVRamr2nlxFDWYNH2j/0=",
			},
		},
		"shopify, by its other names": {
			`"preset":"shopify"`, "test-webhook-secret", `{"id":1234567890,"email":"customer@example.com","total_price":"123.45"}`, 0,
			map[string]string{"shopify-hmac-sha256": "QNyObTlKbMx2qDlPF/ZOZcBqg5OgPg+2oky3zldc0Gw="},
		},
		"svix": {
			`"preset":"standard"`, "v1,whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", `{"test": 2432232314}`, 1614265330,
			map[string]string{
				"svix-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "svix-timestamp": "1614265330",
				"svix-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
			},
		},
		"gitlab, with a signing token": {
			`"preset":"gitlab"`, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", `{"test": 2432232314}`, 1614265330,
			map[string]string{
				"webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330", "x-gitlab-token": "another/secret/of/this/length/00",
				"webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
			},
		},
		"by a signature of its own, with an id and a key in base64": {
			`"signature":{"header":"X-Sig","encoding":"base64","keyEncoding":"base64","idHeader":"X-Id","timestampHeader":"X-At","template":"{id}.{timestamp}.{body}"}`,
			"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", `{"test": 2432232314}`, 1614265330,
			map[string]string{"x-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "x-at": "1614265330", "x-sig": "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
		},
		"standard": {
			`"preset":"standard"`, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", `{"test": 2432232314}`, 1614265330,
			map[string]string{
				"webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330",
				"webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
			},
		},
		"stripe": {
			`"preset":"stripe"`, "whsec_test_secret_of_streamsort", `{"id":"evt_1","object":"event"}`, 1492774577,
			map[string]string{"stripe-signature": "t=1492774577,v1=7c9f05ca32a86712a3bbc147d75bb0ccfaf739d4d181f843ea8a47f9cb93ab59,v0=6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39"},
		},
	} {
		for members := range strings.SplitSeq(test.members, "; ") {
			s := source(t, members)
			claim, why := s.Signature.Read(test.headers, time.Unix(test.at, 0))
			secrets := []string{"another/secret/of/this/length/00", test.secret}
			if strings.HasPrefix(name, "sendgrid") {
				secrets[0] = newPublicKey(t, elliptic.P256(), nil)
			}
			check.That(t, why == "" && made(t, claim, test.body, secrets...), "%s: refused: %q", name, why)
			check.That(t, !made(t, claim, test.body, secrets[0]), "%s: another secret made it too", name)
			// Each bit of the body counts.
			for i := range len(test.body) * 8 {
				changed := []byte(test.body)
				changed[i/8] ^= 1 << (i % 8)
				check.Need(t, !made(t, claim, string(changed), secrets...),
					"%s: bit %d may be flipped", name, i)
			}
			check.That(t, !made(t, claim, test.body) && !made(t, claim, "", secrets...),
				"%s: no secret, or no body, will do", name)
		}
	}
}

// What is wrong with a signature's header is distinguished for the log; none of it is a claim.
func TestRefusedHeaders(t *testing.T) {
	const secret, body = "a secret of this length", `{"id":"1"}`
	now := time.Unix(1_700_000_000, 0)
	hexOf := func(text string) string { return hex.EncodeToString(sum(secret, text)) }
	stripe := func(at int64) string {
		return fmt.Sprintf("t=%d,v1=%s", at, hexOf(fmt.Sprintf("%d.%s", at, body)))
	}
	in64 := base64.StdEncoding.EncodeToString(sum(secret, body))
	// The last digit before the "=" has two bits behind the end.
	other := strings.Replace(in64, in64[42:43], string(in64[42]+1), 1)
	for name, test := range map[string]struct {
		members string
		headers map[string]string
		want    webhook.Refusal
	}{
		"github, good":               {`"preset":"github"`, map[string]string{"x-hub-signature-256": "sha256=" + hexOf(body)}, ""},
		"github, capitals":           {`"preset":"github"`, map[string]string{"x-hub-signature-256": "sha256=" + strings.ToUpper(hexOf(body))}, ""},
		"github, missing":            {`"preset":"github"`, nil, webhook.NoSignature},
		"github, SHA-1":              {`"preset":"github"`, map[string]string{"x-hub-signature": "sha1=" + hexOf(body)[:40]}, webhook.NoSignature},
		"github, no prefix":          {`"preset":"github"`, map[string]string{"x-hub-signature-256": hexOf(body)}, webhook.Unreadable},
		"github, twice":              {`"preset":"github"`, map[string]string{"x-hub-signature-256": "sha256=" + hexOf(body) + ",sha256=" + hexOf(body)}, webhook.Unreadable},
		"github, short":              {`"preset":"github"`, map[string]string{"x-hub-signature-256": "sha256=" + hexOf(body)[2:]}, webhook.Unreadable},
		"github, no hex":             {`"preset":"github"`, map[string]string{"x-hub-signature-256": "sha256=" + strings.Repeat("z", 64)}, webhook.Unreadable},
		"github, long":               {`"preset":"github"`, map[string]string{"x-hub-signature-256": strings.Repeat("0", 5000)}, webhook.TooLong},
		"shopify, good":              {`"preset":"shopify"`, map[string]string{"x-shopify-hmac-sha256": in64}, ""},
		"shopify, hex":               {`"preset":"shopify"`, map[string]string{"x-shopify-hmac-sha256": hexOf(body)}, webhook.Unreadable},
		"shopify, without padding":   {`"preset":"shopify"`, map[string]string{"x-shopify-hmac-sha256": in64[:43]}, webhook.Unreadable},
		"shopify, other bits behind": {`"preset":"shopify"`, map[string]string{"x-shopify-hmac-sha256": other}, webhook.Unreadable},
		"stripe, good":               {`"preset":"stripe"`, map[string]string{"stripe-signature": stripe(now.Unix())}, ""},
		"stripe, oldest":             {`"preset":"stripe"`, map[string]string{"stripe-signature": stripe(now.Unix() - 300)}, ""},
		"stripe, too old":            {`"preset":"stripe"`, map[string]string{"stripe-signature": stripe(now.Unix() - 301)}, webhook.OutOfTolerance},
		"stripe, ahead":              {`"preset":"stripe"`, map[string]string{"stripe-signature": stripe(now.Unix() + 300)}, ""},
		"stripe, too far ahead":      {`"preset":"stripe"`, map[string]string{"stripe-signature": stripe(now.Unix() + 301)}, webhook.OutOfTolerance},
		"stripe, other tolerance":    {`"preset":"stripe","tolerance":"1h"`, map[string]string{"stripe-signature": stripe(now.Unix() - 3600)}, ""},
		"stripe, no timestamp":       {`"preset":"stripe"`, map[string]string{"stripe-signature": "v1=" + hexOf(body)}, webhook.BadTimestamp},
		"stripe, two timestamps":     {`"preset":"stripe"`, map[string]string{"stripe-signature": stripe(now.Unix()) + "," + stripe(now.Unix())}, webhook.BadTimestamp},
		"stripe, no number":          {`"preset":"stripe"`, map[string]string{"stripe-signature": "t=+170,v1=" + hexOf(body)}, webhook.BadTimestamp},
		"stripe, huge number":        {`"preset":"stripe"`, map[string]string{"stripe-signature": "t=9999999999999,v1=" + hexOf(body)}, webhook.BadTimestamp},
		"stripe, v0 alone":           {`"preset":"stripe"`, map[string]string{"stripe-signature": "t=1700000000,v0=" + hexOf(body)}, webhook.Unreadable},
		"stripe, one of two unread":  {`"preset":"stripe"`, map[string]string{"stripe-signature": "v1=," + stripe(now.Unix())}, ""},
		"standard, no id":            {`"preset":"standard"`, map[string]string{"webhook-timestamp": "1700000000", "webhook-signature": "v1," + in64}, webhook.NoSignature},
		"standard, long id":          {`"preset":"standard"`, map[string]string{"webhook-id": strings.Repeat("i", 5000), "webhook-timestamp": "1700000000", "webhook-signature": "v1," + in64}, webhook.TooLong},
		"standard, no timestamp":     {`"preset":"standard"`, map[string]string{"webhook-id": "i", "webhook-signature": "v1," + in64}, webhook.NoSignature},
		"standard, stale":            {`"preset":"standard"`, map[string]string{"webhook-id": "i", "webhook-timestamp": "1699999699", "webhook-signature": "v1," + in64}, webhook.OutOfTolerance},
		"standard, v1a alone":        {`"preset":"standard"`, map[string]string{"webhook-id": "i", "webhook-timestamp": "1700000000", "webhook-signature": "v1a," + in64}, webhook.Unreadable},
		"standard, commas":           {`"preset":"standard"`, map[string]string{"webhook-id": "i", "webhook-timestamp": "1700000000", "webhook-signature": "v1," + in64 + ",v1," + in64}, webhook.Unreadable},
		"svix, stale":                {`"preset":"standard"`, map[string]string{"svix-id": "i", "svix-timestamp": "1699999699", "svix-signature": "v1," + in64}, webhook.OutOfTolerance},
		"svix, another id before":    {`"preset":"standard"`, map[string]string{"webhook-id": strings.Repeat("i", 5000), "svix-id": "i", "svix-timestamp": "1700000000", "svix-signature": "v1," + in64}, webhook.TooLong},
		"gitlab, signed and stale":   {`"preset":"gitlab"`, map[string]string{"webhook-id": "i", "webhook-timestamp": "1699999699", "webhook-signature": "v1," + in64, "x-gitlab-token": secret}, webhook.OutOfTolerance},
		"gitlab, a long token":       {`"preset":"gitlab"`, map[string]string{"x-gitlab-token": strings.Repeat("t", 5000)}, webhook.TooLong},
		"slack, stale":               {`"preset":"slack"`, map[string]string{"x-slack-signature": "v0=" + hexOf(body), "x-slack-request-timestamp": "1699999699"}, webhook.OutOfTolerance},
		"slack, another version":     {`"preset":"slack"`, map[string]string{"x-slack-signature": "v1=" + hexOf(body), "x-slack-request-timestamp": "1700000000"}, webhook.Unreadable},
		"jira, SHA-1":                {`"preset":"jira"`, map[string]string{"x-hub-signature": "sha1=" + hexOf(body)[:40]}, webhook.Unreadable},
		"meta, SHA-1 alone":          {`"preset":"meta","verifyToken":"arn:aws:ssm:eu-west-1:123456789012:parameter/token"`, map[string]string{"x-hub-signature": "sha1=" + hexOf(body)[:40]}, webhook.NoSignature},
		"linear, base64":             {`"preset":"linear"`, map[string]string{"linear-signature": in64}, webhook.Unreadable},
		"general, no timestamp":      {slack, map[string]string{"x-slack-signature": "v0=" + hexOf(body)}, webhook.NoSignature},
		"general, stale":             {slack, map[string]string{"x-slack-signature": "v0=" + hexOf(body), "x-slack-request-timestamp": "1"}, webhook.OutOfTolerance},
	} {
		s := source(t, test.members)
		claim, why := s.Signature.Read(test.headers, now)
		check.That(t, why == test.want, "%s: %q, want %q", name, why, test.want)
		check.That(t, why != "" || made(t, claim, body, secret), "%s: not made by its secret", name)
	}
}

// Stripe signs with all secrets while one is rolled: any of them will do.
func TestSeveralSignatures(t *testing.T) {
	s := source(t, `"preset":"stripe"`)
	const at, body = "1700000000", `{}`
	header := "t=" + at + ",v1=" + hex.EncodeToString(sum("the old secret of this", at+"."+body)) +
		",v1=" + hex.EncodeToString(sum("the new secret of this", at+"."+body))
	claim, why := s.Signature.Read(map[string]string{"stripe-signature": header},
		time.Unix(1_700_000_000, 0))
	check.Need(t, why == "", "%v", why)
	for secret, want := range map[string]bool{"the old secret of this": true,
		"the new secret of this": true, "another secret of this": false} {
		check.Is(t, made(t, claim, body, secret), want, secret)
	}
	// The timestamp is signed: another one, within the tolerance, will not do.
	claim, _ = s.Signature.Read(map[string]string{"stripe-signature": strings.Replace(header, at,
		"1700000001", 1)}, time.Unix(1_700_000_000, 0))
	check.That(t, !made(t, claim, body, "the new secret of this"), "the timestamp may be changed")
}

// newPublicKey is the public half of a new key, as DER in base64, and by the other half a signature
// over a text.
func newPublicKey(t testing.TB, curve elliptic.Curve, sign func(*ecdsa.PrivateKey)) string {
	t.Helper()
	key := check.Get(ecdsa.GenerateKey(curve, secure.Reader))
	if sign != nil {
		sign(key)
	}
	return base64.StdEncoding.EncodeToString(check.Get(x509.MarshalPKIXPublicKey(&key.PublicKey)))
}

// TestSendGrid: a signature over timestamp and body by the owner of the public key, as DER or as
// PEM.
func TestSendGrid(t *testing.T) {
	const at, content = "1700000000", `[{"event":"delivered"}]` + "\r\n"
	var signature string
	public := newPublicKey(t, elliptic.P256(), func(key *ecdsa.PrivateKey) {
		digest := sha256.Sum256([]byte(at + content))
		signature = base64.StdEncoding.EncodeToString(
			check.Get(ecdsa.SignASN1(secure.Reader, key, digest[:])))
	})
	s := source(t, `"preset":"sendgrid"`)
	read := func(signature, at string, now int64) (webhook.Claim, webhook.Refusal) {
		return s.Signature.Read(map[string]string{
			"x-twilio-email-event-webhook-signature": signature, "x-twilio-email-event-webhook-timestamp": at,
		}, time.Unix(now, 0))
	}
	claim, why := read(signature, at, 1_700_000_000)
	for _, secret := range []string{public,
		"-----BEGIN PUBLIC KEY-----\n" + public + "\n-----END PUBLIC KEY-----\n"} {
		check.That(t, why == "" && made(t, claim, content, secret), "refused: %q", why)
	}
	check.That(t, !made(t, claim, content[:len(content)-1], public), "another body will do")
	_, why = read(signature, at, 1_700_000_301)
	check.Is(t, why, webhook.OutOfTolerance, "301 seconds old")
	_, why = read("no base64", at, 1_700_000_000)
	check.Is(t, why, webhook.Unreadable)
	for _, secret := range []string{newPublicKey(t, elliptic.P384(), nil),
		"whsec_no_public_key_of_any_curve", public[4:]} {
		why, err := claim.Check(t.Context(), cacheOf(secret), s.Secret, []byte(content))
		check.Need(t, why != "" && err != nil, "%s: %q; want an error", secret, why)
		check.That(t, !strings.Contains(err.Error(), secret), "%s: %v", secret, err)
	}
}

// TestGitLab: a secret token is compared, and a signing token is not.
func TestGitLab(t *testing.T) {
	s := source(t, `"preset":"gitlab"`)
	const token, signing = "glwt-0123456789abcdef", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	for _, c := range []struct {
		shown   string
		secrets []string
		want    bool
	}{
		{token, []string{token}, true},
		{token, []string{signing, token}, true},
		{token + "0", []string{token}, false},
		{token[1:], []string{token}, false},
		{signing, []string{signing}, false},
		{signing, []string{token}, false},
	} {
		claim, why := s.Signature.Read(map[string]string{"x-gitlab-token": c.shown}, time.Unix(0, 0))
		got := made(t, claim, `{}`, c.secrets...)
		check.That(t, why == "" && got == c.want, "%s of %v: %v, %q", c.shown, c.secrets, got, why)
	}
	_, none := s.Signature.Read(map[string]string{}, time.Unix(0, 0))
	check.Is(t, none, webhook.NoSignature)
	general := source(t, `"id":"@digest","signature":{"header":"Authorization","prefix":"Bearer ","encoding":"token"}`)
	claim, why := general.Signature.Read(map[string]string{"authorization": "Bearer " + token},
		time.Unix(0, 0))
	check.That(t, why == "" && made(t, claim, "", token) && !made(t, claim, "", "Bearer "+token),
		"a token behind a prefix: %q", why)
}

// cacheOf is a cache that fetches one value.
func cacheOf(value string) *secret.Cache {
	return secret.NewCache(func(context.Context, secret.Reference) (string, error) {
		return value, nil
	}, time.Now)
}

// TestLinear: the timestamp in the body counts, once the body is known to be signed.
func TestLinear(t *testing.T) {
	s := source(t, `"preset":"linear"`)
	const key = "lin_wh_secret_of_streamsort"
	for body, want := range map[string]webhook.Refusal{
		`{"webhookTimestamp":1700000000999}`:   "",
		`{"webhookTimestamp":1699999700000}`:   "",
		`{"webhookTimestamp":1699999699999}`:   webhook.OutOfTolerance,
		`{"webhookTimestamp":1700000300001}`:   webhook.OutOfTolerance,
		`{"webhookTimestamp":"1700000000000"}`: webhook.BadTimestamp,
		`{"webhookTimestamp":17e11}`:           webhook.BadTimestamp,
		`{}`:                                   webhook.BadTimestamp,
		`no JSON`:                              webhook.BadTimestamp,
	} {
		claim, why := s.Signature.Read(
			map[string]string{"linear-signature": hex.EncodeToString(sum(key, body))},
			time.Unix(1_700_000_000, 0))
		if why == "" {
			why = check.Get(claim.Check(t.Context(), cacheOf(key), s.Secret, []byte(body)))
		}
		check.That(t, why == want, "%s: %q, want %q", body, why, want)
	}
}

// adyenItem is the item of the tests of Adyen's own libraries for Ruby and PHP.
const adyenItem = `{"NotificationRequestItem":{"additionalData":{"hmacSignature":"%s"},"amount":{"value":1130,"currency":"EUR"},` +
	`"pspReference":"7914073381342284","eventCode":"AUTHORISATION","eventDate":"2026-05-06T17:15:34.121+02:00","merchantAccountCode":"TestMerchant",` +
	`"merchantReference":"TestPayment-1407325143704","paymentMethod":"visa","success":"true"}}`

// TestAdyen: each item of a notification has to be signed.
func TestAdyen(t *testing.T) {
	s := source(t, `"preset":"adyen"`)
	const (
		key, signature = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056",
			"coqCmt/IZ4E3CzPvMY8zTjQVL5hYJUiBRg8UU+iCWo0="
		other, otherSign = "DFB1EB5485895CFA84146406857104ABB4CBCABDC8AAF103A624C8F6A3EAAB00",
			"Ny9gS2veKo5E4w8/OL6xz1/wvT/hYkAXy1xNc/QvO4I="
	)
	items := func(all ...string) string {
		return `{"live":"false","notificationItems":[` + strings.Join(all, ",") + `]}`
	}
	good, second := fmt.Sprintf(adyenItem, signature), fmt.Sprintf(adyenItem, otherSign)
	for name, c := range map[string]struct {
		body    string
		secrets []string
		want    bool
	}{
		"one":                    {items(good), []string{key}, true},
		"under another key":      {items(good), []string{other}, false},
		"two keys":               {items(good, second), []string{other, key}, true},
		"one of two":             {items(good, second), []string{key}, false},
		"another amount":         {items(strings.Replace(good, "1130", "1131", 1)), []string{key}, false},
		"a reference before":     {items(strings.Replace(good, `"pspReference"`, `"originalReference":"1","pspReference"`, 1)), []string{key}, false},
		"null before":            {items(strings.Replace(good, `"pspReference"`, `"originalReference":null,"pspReference"`, 1)), []string{key}, true},
		"a boolean":              {items(strings.Replace(good, `"true"`, `true`, 1)), []string{key}, true},
		"a field twice":          {items(strings.Replace(good, `"success":"true"`, `"success":"true","success":"false"`, 1)), []string{key}, false},
		"what is not signed":     {items(strings.Replace(good, "visa", "mc", 1)), []string{key}, true},
		"none":                   {items(), []string{key}, false},
		"no items":               {`{}`, []string{key}, false},
		"no JSON":                {`x`, []string{key}, false},
		"no signature":           {items(fmt.Sprintf(adyenItem, "")), []string{key}, false},
		"a signature of another": {items(fmt.Sprintf(adyenItem, otherSign)), []string{key}, false},
	} {
		claim, why := s.Signature.Read(nil, time.Unix(0, 0))
		got := made(t, claim, c.body, c.secrets...)
		check.That(t, why == "" && got == c.want, "%s: %v, %q; want %v", name, got, why, c.want)
	}
	claim, _ := s.Signature.Read(nil, time.Unix(0, 0))
	check.That(t,
		check.Err(claim.By([][]byte{[]byte("a key of 32 bytes in no hex digit")},
			[]byte(items(good)))) != nil, "a key that is no hex will do")
}

// TestNamesOfHeaders: what is under another name of the preset is there under the one that is
// known; what is there already stays.
func TestNamesOfHeaders(t *testing.T) {
	headers := map[string]string{"shopify-hmac-sha256": "x", "shopify-webhook-id": "new",
		"x-shopify-topic": "known", "shopify-topic": "other"}
	s := source(t, `"preset":"shopify"`)
	s.Signature.Read(headers, time.Unix(0, 0))
	check.That(t, headers["x-shopify-webhook-id"] == "new" && headers["x-shopify-topic"] == "known",
		"headers %v", headers)
}

// FuzzSignature: of each preset, and of signatures that a source describes, nothing is made by a
// secret that made nothing, whatever headers and body are.
func FuzzSignature(f *testing.F) {
	item := `{"notificationItems":[` + fmt.Sprintf(adyenItem, strings.Repeat("A", 43)+"=") + `]}`
	for _, seed := range []string{"", "sha256=00", "t=1,v1=00,v1=",
		"t=1700000000,v1=" + strings.Repeat("0", 64), strings.Repeat("A", 43) + "=", "t=,t=,,=,v1",
		"v1," + strings.Repeat("A", 43) + "= v1,", "v0=00", "Bearer x"} {
		f.Add(seed, "1700000000", []byte(`{"webhookTimestamp":1700000000000}`))
		f.Add(seed, "1700000000", []byte(item))
	}
	f.Add("", "", []byte(`{"notificationItems":[{"NotificationRequestItem":null}]}`))
	sources := map[string]webhook.Source{"hmac": source(f, slack), "token": source(f, `"id":"@digest","signature":{"header":"Authorization","prefix":"Bearer ","encoding":"token"}`)}
	for name := range webhook.PresetTexts() {
		sources[name] = preset(f, name)
	}
	secrets := map[string]string{"sendgrid": sendGridKey, "adyen": strings.Repeat("5f", 32)}
	f.Fuzz(func(t *testing.T, header, timestamp string, body []byte) {
		headers := map[string]string{"webhook-id": header}
		for _, name := range []string{"x-slack-request-timestamp", "webhook-timestamp",
			"x-twilio-email-event-webhook-timestamp"} {
			headers[name] = timestamp
		}
		for _, name := range []string{"authorization", "webhook-signature", "linear-signature",
			"x-gitlab-token", "x-hub-signature", "x-hub-signature-256", "stripe-signature",
			"x-shopify-hmac-sha256", "x-slack-signature", "x-twilio-email-event-webhook-signature"} {
			headers[name] = header
		}
		for name, s := range sources {
			claim, why := s.Signature.Read(headers, time.Unix(1_700_000_000, 0))
			check.That(t, why != "" ||
				!made(t, claim, string(body), cmp.Or(secrets[name], "nobody+knows+this+secret")),
				"%s: %q was made by a secret that made nothing", name, header)
		}
	})
}

// whsec is a secret as senders of Standard Webhooks give it out.
func whsec(key string) string { return "whsec_" + base64.StdEncoding.EncodeToString([]byte(key)) }

// TestStandardWebhooks: what the standard's own library signs is taken, and what it refuses is
// refused.
func TestStandardWebhooks(t *testing.T) {
	s := source(t, `"preset":"standard"`)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	now := time.Now().Truncate(time.Second)
	text := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.IntN(256))
		}
		return string(b)
	}
	taken := 0
	for range 500 {
		key, body := text(24+random.IntN(41)), []byte(text(random.IntN(100)))
		hook := check.Get(standard.NewWebhook(whsec(key)))
		id, at := "msg_"+base64.RawURLEncoding.EncodeToString([]byte(text(12))),
			now.Add(time.Duration(random.IntN(400)-200)*time.Second)
		signature := check.Get(hook.Sign(id, at, body))
		rolled := check.Get(hook.Sign(id, at, append(body, 'x')))
		headers := http.Header{}
		headers.Set("webhook-id", id)
		headers.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
		headers.Set("webhook-signature", []string{signature, rolled + " v1a,AAAA " + signature, rolled,
			signature + "A", "v2" + signature[2:], ""}[random.IntN(6)])
		if random.IntN(8) == 0 {
			headers.Set("webhook-id", id+"x")
		}
		if random.IntN(8) == 0 {
			headers.Set("webhook-timestamp", strconv.FormatInt(at.Unix()+1, 10))
		}
		flat := map[string]string{}
		for name := range headers {
			flat[strings.ToLower(name)] = headers.Get(name)
		}
		claim, why := s.Signature.Read(flat, now)
		got := why == "" && made(t, claim, string(body), whsec(key))
		if want := hook.Verify(body, headers) == nil; got != want {
			t.Fatalf("%v: %v (%s), and the standard's library says %v", headers, got, why, want)
		}
		if got {
			taken++
		}
	}
	check.That(t, taken >= 100, "%d of 500 are good", taken)
}
