package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/webhook"
)

// source reads one source, of the members beside name, secret and queue.
func source(t testing.TB, members string) webhook.Source {
	t.Helper()
	all, err := webhook.Read([]byte(`{"sources":[{"name":"s","secret":"arn:aws:ssm:eu-west-1:123456789012:parameter/s","queue":"'q'",`+members+`}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// made reports whether one of the secrets made the claim.
func made(t testing.TB, c webhook.Claim, secrets [][]byte, body []byte) bool {
	t.Helper()
	made, err := c.By(secrets, body)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func sum(secret, text string) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

const (
	slack = `"scheme":"hmac","id":"@digest","signature":{"header":"X-Slack-Signature","prefix":"v0=","timestampHeader":"X-Slack-Request-Timestamp","template":"v0:{timestamp}:{body}"}`
	// slackBody is that of Slack's own example.
	slackBody = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
)

// Known answers: what GitHub, Slack and Standard Webhooks publish; for Shopify, whose page has no
// example with its result, one that SQLPage's tests have; for Stripe, which has
// none either, one made by `openssl dgst -sha256 -hmac`.
func TestKnownAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		members, secret, body string
		at                    int64
		headers               map[string]string
	}{
		"github": {
			`"scheme":"github"`, "It's a Secret to Everybody", "Hello, World!", 0,
			map[string]string{"x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"},
		},
		"slack, by the general scheme": {
			slack, "8f742231b10e8888abcd99yyyzzz85a5", slackBody, 1531420618,
			map[string]string{
				"x-slack-signature":         "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
				"x-slack-request-timestamp": "1531420618",
			},
		},
		"shopify": {
			`"scheme":"shopify"`, "test-webhook-secret", `{"id":1234567890,"email":"customer@example.com","total_price":"123.45"}`, 0,
			map[string]string{"x-shopify-hmac-sha256": "QNyObTlKbMx2qDlPF/ZOZcBqg5OgPg+2oky3zldc0Gw="},
		},
		"standard": {
			`"scheme":"standard"`, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", `{"test": 2432232314}`, 1614265330,
			map[string]string{
				"webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330",
				"webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
			},
		},
		"stripe": {
			`"scheme":"stripe"`, "whsec_test_secret_of_streamsort", `{"id":"evt_1","object":"event"}`, 1492774577,
			map[string]string{"stripe-signature": "t=1492774577,v1=7c9f05ca32a86712a3bbc147d75bb0ccfaf739d4d181f843ea8a47f9cb93ab59,v0=6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := source(t, test.members)
			claim, why := s.Signature.Read(test.headers, time.Unix(test.at, 0))
			secrets := [][]byte{[]byte("another/secret/of/this/length/00"), []byte(test.secret)}
			if why != "" || !made(t, claim, secrets, []byte(test.body)) {
				t.Errorf("refused: %q", why)
			}
			if made(t, claim, secrets[:1], []byte(test.body)) {
				t.Error("another secret made it too")
			}
			// Each bit of the body counts.
			for i := range len(test.body) * 8 {
				changed := []byte(test.body)
				changed[i/8] ^= 1 << (i % 8)
				if made(t, claim, secrets, changed) {
					t.Fatalf("bit %d of the body may be flipped", i)
				}
			}
			if made(t, claim, nil, []byte(test.body)) || made(t, claim, secrets, nil) {
				t.Error("no secret, or no body, will do")
			}
		})
	}
}

// What is wrong with a signature's header is distinguished for the log; none of it
// is a claim.
func TestRefusedHeaders(t *testing.T) {
	const secret, body = "a secret of this length", `{"id":"1"}`
	now := time.Unix(1_700_000_000, 0)
	hexOf := func(text string) string { return hex.EncodeToString(sum(secret, text)) }
	stripe := func(at int64) string { return fmt.Sprintf("t=%d,v1=%s", at, hexOf(fmt.Sprintf("%d.%s", at, body))) }
	in64 := base64.StdEncoding.EncodeToString(sum(secret, body))
	// The last digit before the "=" has two bits behind the end.
	other := strings.Replace(in64, in64[42:43], string(in64[42]+1), 1)
	for name, test := range map[string]struct {
		members string
		headers map[string]string
		want    webhook.Refusal
	}{
		"github, good":               {`"scheme":"github"`, map[string]string{"x-hub-signature-256": "sha256=" + hexOf(body)}, ""},
		"github, capitals":           {`"scheme":"github"`, map[string]string{"x-hub-signature-256": "sha256=" + strings.ToUpper(hexOf(body))}, ""},
		"github, missing":            {`"scheme":"github"`, nil, webhook.NoSignature},
		"github, SHA-1":              {`"scheme":"github"`, map[string]string{"x-hub-signature": "sha1=" + hexOf(body)[:40]}, webhook.NoSignature},
		"github, no prefix":          {`"scheme":"github"`, map[string]string{"x-hub-signature-256": hexOf(body)}, webhook.Unreadable},
		"github, twice":              {`"scheme":"github"`, map[string]string{"x-hub-signature-256": "sha256=" + hexOf(body) + ",sha256=" + hexOf(body)}, webhook.Unreadable},
		"github, short":              {`"scheme":"github"`, map[string]string{"x-hub-signature-256": "sha256=" + hexOf(body)[2:]}, webhook.Unreadable},
		"github, no hex":             {`"scheme":"github"`, map[string]string{"x-hub-signature-256": "sha256=" + strings.Repeat("z", 64)}, webhook.Unreadable},
		"github, long":               {`"scheme":"github"`, map[string]string{"x-hub-signature-256": strings.Repeat("0", 5000)}, webhook.TooLong},
		"shopify, good":              {`"scheme":"shopify"`, map[string]string{"x-shopify-hmac-sha256": in64}, ""},
		"shopify, hex":               {`"scheme":"shopify"`, map[string]string{"x-shopify-hmac-sha256": hexOf(body)}, webhook.Unreadable},
		"shopify, without padding":   {`"scheme":"shopify"`, map[string]string{"x-shopify-hmac-sha256": in64[:43]}, webhook.Unreadable},
		"shopify, other bits behind": {`"scheme":"shopify"`, map[string]string{"x-shopify-hmac-sha256": other}, webhook.Unreadable},
		"stripe, good":               {`"scheme":"stripe"`, map[string]string{"stripe-signature": stripe(now.Unix())}, ""},
		"stripe, oldest":             {`"scheme":"stripe"`, map[string]string{"stripe-signature": stripe(now.Unix() - 300)}, ""},
		"stripe, too old":            {`"scheme":"stripe"`, map[string]string{"stripe-signature": stripe(now.Unix() - 301)}, webhook.OutOfTolerance},
		"stripe, ahead":              {`"scheme":"stripe"`, map[string]string{"stripe-signature": stripe(now.Unix() + 300)}, ""},
		"stripe, too far ahead":      {`"scheme":"stripe"`, map[string]string{"stripe-signature": stripe(now.Unix() + 301)}, webhook.OutOfTolerance},
		"stripe, other tolerance":    {`"scheme":"stripe","tolerance":"1h"`, map[string]string{"stripe-signature": stripe(now.Unix() - 3600)}, ""},
		"stripe, no timestamp":       {`"scheme":"stripe"`, map[string]string{"stripe-signature": "v1=" + hexOf(body)}, webhook.BadTimestamp},
		"stripe, two timestamps":     {`"scheme":"stripe"`, map[string]string{"stripe-signature": stripe(now.Unix()) + "," + stripe(now.Unix())}, webhook.BadTimestamp},
		"stripe, no number":          {`"scheme":"stripe"`, map[string]string{"stripe-signature": "t=+170,v1=" + hexOf(body)}, webhook.BadTimestamp},
		"stripe, huge number":        {`"scheme":"stripe"`, map[string]string{"stripe-signature": "t=9999999999999,v1=" + hexOf(body)}, webhook.BadTimestamp},
		"stripe, v0 alone":           {`"scheme":"stripe"`, map[string]string{"stripe-signature": "t=1700000000,v0=" + hexOf(body)}, webhook.Unreadable},
		"stripe, one of two unread":  {`"scheme":"stripe"`, map[string]string{"stripe-signature": "v1=," + stripe(now.Unix())}, ""},
		"standard, no id":            {`"scheme":"standard"`, map[string]string{"webhook-timestamp": "1700000000", "webhook-signature": "v1," + in64}, webhook.NoSignature},
		"standard, long id":          {`"scheme":"standard"`, map[string]string{"webhook-id": strings.Repeat("i", 5000), "webhook-timestamp": "1700000000", "webhook-signature": "v1," + in64}, webhook.TooLong},
		"standard, no timestamp":     {`"scheme":"standard"`, map[string]string{"webhook-id": "i", "webhook-signature": "v1," + in64}, webhook.NoSignature},
		"standard, stale":            {`"scheme":"standard"`, map[string]string{"webhook-id": "i", "webhook-timestamp": "1699999699", "webhook-signature": "v1," + in64}, webhook.OutOfTolerance},
		"standard, v1a alone":        {`"scheme":"standard"`, map[string]string{"webhook-id": "i", "webhook-timestamp": "1700000000", "webhook-signature": "v1a," + in64}, webhook.Unreadable},
		"standard, commas":           {`"scheme":"standard"`, map[string]string{"webhook-id": "i", "webhook-timestamp": "1700000000", "webhook-signature": "v1," + in64 + ",v1," + in64}, webhook.Unreadable},
		"general, no timestamp":      {slack, map[string]string{"x-slack-signature": "v0=" + hexOf(body)}, webhook.NoSignature},
		"general, stale":             {slack, map[string]string{"x-slack-signature": "v0=" + hexOf(body), "x-slack-request-timestamp": "1"}, webhook.OutOfTolerance},
	} {
		s := source(t, test.members)
		claim, why := s.Signature.Read(test.headers, now)
		if why != test.want {
			t.Errorf("%s: %q, want %q", name, why, test.want)
		}
		if why == "" && !made(t, claim, [][]byte{[]byte(secret)}, []byte(body)) {
			t.Errorf("%s: not made by its secret", name)
		}
	}
}

// Stripe signs with all secrets while one is rolled: any of them will do.
func TestSeveralSignatures(t *testing.T) {
	s := source(t, `"scheme":"stripe"`)
	const at, body = "1700000000", `{}`
	header := "t=" + at + ",v1=" + hex.EncodeToString(sum("the old secret of this", at+"."+body)) + ",v1=" + hex.EncodeToString(sum("the new secret of this", at+"."+body))
	claim, why := s.Signature.Read(map[string]string{"stripe-signature": header}, time.Unix(1_700_000_000, 0))
	if why != "" {
		t.Fatal(why)
	}
	for secret, want := range map[string]bool{"the old secret of this": true, "the new secret of this": true, "another secret of this": false} {
		if got := made(t, claim, [][]byte{[]byte(secret)}, []byte(body)); got != want {
			t.Errorf("%s: %v", secret, got)
		}
	}
	// The timestamp is signed: another one, within the tolerance, will not do.
	claim, _ = s.Signature.Read(map[string]string{"stripe-signature": strings.Replace(header, at, "1700000001", 1)}, time.Unix(1_700_000_000, 0))
	if made(t, claim, [][]byte{[]byte("the new secret of this")}, []byte(body)) {
		t.Error("the timestamp may be changed")
	}
}

func FuzzSignature(f *testing.F) {
	for _, seed := range []string{"", "sha256=00", "t=1,v1=00,v1=", "t=1700000000,v1=" + strings.Repeat("0", 64), strings.Repeat("A", 43) + "=", "t=,t=,,=,v1", "v1," + strings.Repeat("A", 43) + "= v1,"} {
		f.Add(seed, "1700000000", []byte(`{}`))
	}
	var sources []webhook.Source
	for _, members := range []string{`"scheme":"github"`, `"scheme":"stripe"`, `"scheme":"shopify"`, `"scheme":"standard"`, slack} {
		sources = append(sources, source(f, members))
	}
	f.Fuzz(func(t *testing.T, header, timestamp string, body []byte) {
		headers := map[string]string{"x-slack-request-timestamp": timestamp, "webhook-timestamp": timestamp, "webhook-id": header}
		for _, name := range []string{"webhook-signature", "x-hub-signature-256", "stripe-signature", "x-shopify-hmac-sha256", "x-slack-signature"} {
			headers[name] = header
		}
		for _, s := range sources {
			claim, why := s.Signature.Read(headers, time.Unix(1_700_000_000, 0))
			if why == "" && made(t, claim, [][]byte{[]byte("nobody+knows+this+secret")}, body) {
				t.Errorf("%q was made by a secret that made nothing", header)
			}
		}
	})
}
