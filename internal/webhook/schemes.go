package webhook

import (
	"crypto/hmac"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/internal/secret"
	"github.com/streamsort/streamsort/internal/strictjson"
)

// The schemes whose every part is said: an HMAC, or the secret itself in a header.
const (
	general = "hmac"
	plain   = "token"
)

var (
	// bodyAlone is the template of a source that signs nothing but the body.
	bodyAlone = []part{{is: body}}
	// standard is how Standard Webhooks signs, by its symmetric signatures, v1.
	standard = way{
		form: inVersions, header: "webhook-signature", idHeader: "webhook-id", timestampHeader: "webhook-timestamp",
		template: []part{{is: messageID}, {text: "."}, {is: timestamp}, {text: "."}, {is: body}}, secrets: secret.Base64,
	}
)

// hub is an HMAC of the body behind "sha256=".
func hub(header string) Signature {
	return Signature{ways: []way{{header: header, prefix: "sha256=", template: bodyAlone, secrets: secret.Text}}}
}

// signing is a way with other secrets.
func (w way) signing(secrets secret.Encoding) way {
	w.secrets = secrets
	return w
}

// scheme is a known sender's: how it signs, and where the id of a delivery is.
type scheme struct {
	Signature
	id string // a path
}

// schemes are those of known senders.
//
//   - Adyen: https://docs.adyen.com/development-resources/webhooks/verify-hmac-signatures
//   - GitHub: https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
//   - GitLab: https://docs.gitlab.com/user/project/integrations/webhooks/, with a secret token, or with a
//     signing token: https://gitlab.com/gitlab-org/gitlab/-/merge_requests/230944
//   - Jira: https://developer.atlassian.com/cloud/jira/platform/webhooks/#secure-admin-webhooks
//   - Linear: https://linear.app/developers/webhooks#securing-webhooks
//   - Meta: https://developers.facebook.com/docs/graph-api/webhooks/getting-started#validate-payloads
//   - SendGrid: https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features
//   - Shopify: https://shopify.dev/docs/apps/build/webhooks/verify-deliveries, and the names of
//     https://shopify.dev/docs/apps/build/events/verify-deliveries
//   - Slack: https://docs.slack.dev/authentication/verifying-requests-from-slack
//   - Standard Webhooks: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md,
//     and the names of https://docs.svix.com/receiving/verifying-payloads/how-manual
//   - Stripe: https://docs.stripe.com/webhooks#verify-manually
var schemes = map[string]scheme{
	"adyen":  {Signature{ways: []way{{form: inItems, secrets: secret.Hex}}}, "@digest"},
	"github": {hub("x-hub-signature-256"), "@header(X-GitHub-Delivery)"},
	"gitlab": {
		Signature{ways: []way{
			standard.signing(secret.SigningToken), {form: inPlain, header: "x-gitlab-token", secrets: secret.Token},
		}},
		"@header(Idempotency-Key)",
	},
	"jira": {hub("x-hub-signature"), "@header(X-Atlassian-Webhook-Identifier)"},
	"linear": {
		Signature{ways: []way{{
			header: "linear-signature", template: bodyAlone, stamp: "webhookTimestamp", secrets: secret.Text,
		}}},
		"@header(Linear-Delivery)",
	},
	"meta": {hub("x-hub-signature-256"), "@digest"},
	"sendgrid": {
		Signature{ways: []way{{
			form: inECDSA, header: "x-twilio-email-event-webhook-signature",
			timestampHeader: "x-twilio-email-event-webhook-timestamp",
			template:        []part{{is: timestamp}, {is: body}}, secrets: secret.PublicKey,
		}}},
		"@digest",
	},
	"shopify": {
		Signature{
			ways:  []way{{form: inBase64, header: "x-shopify-hmac-sha256", template: bodyAlone, secrets: secret.Text}},
			known: "x-shopify-", alias: "shopify-",
		},
		"@header(X-Shopify-Webhook-Id)",
	},
	"slack": {
		Signature{ways: []way{{
			header: "x-slack-signature", prefix: "v0=", timestampHeader: "x-slack-request-timestamp",
			template: []part{{text: "v0:"}, {is: timestamp}, {text: ":"}, {is: body}}, secrets: secret.Text,
		}}},
		"event_id",
	},
	"standard": {
		Signature{ways: []way{standard}, known: "webhook-", alias: "svix-"},
		"@header(webhook-id)",
	},
	"stripe": {
		Signature{ways: []way{{
			form: inList, header: "stripe-signature", secrets: secret.Text,
			template: []part{{is: timestamp}, {text: "."}, {is: body}},
		}}},
		"id",
	},
}

// schemeNames are all schemes in a sentence.
func schemeNames() string {
	return strings.Join(slices.Sorted(maps.Keys(schemes)), ", ") + ", " + general + " or " + plain
}

// adyenFields are those of a notification item that are signed, in their order, with colons between.
var adyenFields = [][]string{
	{"pspReference"},
	{"originalReference"},
	{"merchantAccountCode"},
	{"merchantReference"},
	{"amount", "value"},
	{"amount", "currency"},
	{"eventCode"},
	{"success"},
}

// maxItems is how many notification items a body has at most.
const maxItems = 100

// itemsBy reports whether one of the keys made the signature of each notification item of a body.
func itemsBy(keys [][]byte, body []byte) bool {
	raw, err := find(body, "notificationItems")
	if err != nil {
		return false
	}
	items, err := strictjson.Elements(raw, maxItems)
	for _, item := range items {
		if item, err = find(item, "NotificationRequestItem"); err != nil {
			return false
		}
		text, why := fieldText(item, "additionalData", "hmacSignature")
		signature, readable := inBase64.decode(text)
		signed := make([]string, len(adyenFields))
		for i, names := range adyenFields {
			if why == nil {
				signed[i], why = fieldText(item, names...)
			}
		}
		made := false
		for _, key := range keys {
			if hmac.Equal(inBase64.sum(key, []byte(strings.Join(signed, ":"))), signature) {
				made = true
			}
		}
		if why != nil || !readable || !made {
			return false
		}
	}
	return err == nil && len(items) > 0
}

// fieldText is a field's text, or its number or boolean as it is written; empty where it is missing.
func fieldText(raw []byte, names ...string) (string, error) {
	value, err := find(raw, names...)
	switch {
	case err != nil:
		return "", err
	case value == nil || string(value) == "null":
		return "", nil
	case value[0] == '"':
		return strictjson.Text(value)
	}
	return string(value), nil
}

// find is the member of these names, each within that before it; nil where it is missing.
func find(raw []byte, names ...string) (json.RawMessage, error) {
	for _, name := range names {
		members, err := strictjson.Members(raw)
		if err != nil {
			return nil, err
		}
		if raw, _ = strictjson.Take(members, name); raw == nil {
			return nil, nil
		}
	}
	return raw, nil
}
