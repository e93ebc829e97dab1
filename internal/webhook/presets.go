package webhook

import (
	"cmp"
	"crypto/hmac"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/internal/mapping"
	"github.com/streamsort/streamsort/internal/secret"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/invalid"
)

var (
	// bodyAlone is the template of a source that signs nothing but the body.
	bodyAlone = []part{{is: body}}
	// standard is how Standard Webhooks signs, by its symmetric signatures, v1.
	standard = way{
		form: inVersions, secrets: secret.Base64,
		header: "webhook-signature", idHeader: "webhook-id", timestampHeader: "webhook-timestamp",
		template: []part{{is: messageID}, {text: "."}, {is: timestamp}, {text: "."}, {is: body}},
	}
)

// hub is an HMAC of the body behind "sha256=".
func hub(header string) Signature {
	return Signature{ways: []way{
		{header: header, prefix: "sha256=", template: bodyAlone, secrets: secret.Text},
	}}
}

// signing is a way with other secrets.
func (w way) signing(secrets secret.Encoding) way {
	w.secrets = secrets
	return w
}

// preset is a sender: how it signs, what it asks before it sends, and how each kind of its events
// becomes messages. Without a queue, that is the source's name.
type preset struct {
	Signature
	challenge Challenge
	texts     mapping.Texts
}

// Ranks of events of one instant by their names: the first of an object, and its last.
const (
	byType   = "utc,rank(*.created|*|*.deleted)"
	byAction = "time,rank(opened|created|submitted|requested|queued|*|" +
		"completed|closed|deleted)"
)

// svix is Standard Webhooks, also under the headers' names of Svix.
var svix = preset{
	Signature: Signature{ways: []way{standard}, known: "webhook-", alias: "svix-"},
	texts: mapping.Texts{
		ID:  "@header(webhook-id)",
		Key: "timestamp | created_at | @received,type | 'none'", KeyType: byType,
	},
}

// presets are the senders that have a name here. The key of each event is a time that every event
// of its kind moves forward, else that of its receipt.
var presets = map[string]preset{
	// https://docs.adyen.com/development-resources/webhooks/verify-hmac-signatures: it signs no
	// time.
	"adyen": {
		Signature: Signature{ways: []way{{form: inItems, secrets: secret.Hex}}},
		texts: mapping.Texts{
			Each: "notificationItems[]", Queue: "NotificationRequestItem.merchantAccountCode | 'other'",
			ID: "NotificationRequestItem.pspReference | @digest," +
				"NotificationRequestItem.eventCode | 'none',NotificationRequestItem.success | 'none'",
			Key: "@received", KeyType: "time",
		},
	},
	// https://clerk.com/docs/guides/development/webhooks/overview
	"clerk": svix,
	// https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
	"github": {
		Signature: hub("x-hub-signature-256"),
		texts: mapping.Texts{
			Queue: "repository.full_name | organization.login | installation.account.login" +
				" | sponsorship.sponsorable.login | 'other'",
			ID: "@header(X-GitHub-Delivery),@header(X-GitHub-Hook-ID) | 'hook'",
			// These actions leave their subject's time as it was. A push, and a ref that is made or
			// deleted, move the repository's time, which other events have too.
			Key: "action='deleted|dismissed|pinned|requested_action|rerequested|unpinned' & @received" +
				" | thread & @received" +
				" | pusher & repository.pushed_at | pusher_type & repository.pushed_at" +
				" | comment.updated_at | issue.updated_at | pull_request.updated_at" +
				" | workflow_job.completed_at" +
				" | workflow_job.status='in_progress' & workflow_job.started_at" +
				" | deployment_status.updated_at | action='created' & deployment.updated_at" +
				" | check_run.completed_at | check_run.started_at | check_suite.updated_at" +
				" | workflow & workflow_run.updated_at | milestone.updated_at" +
				" | security_advisory.updated_at | build.updated_at | starred_at | updated_at | @received," +
				"deleted='true' & 'deleted' | created='true' & 'created' | action | 'none'",
			KeyType: byAction, Attributes: map[string]string{"event": "@header(X-GitHub-Event)"},
		},
	},
	// https://docs.gitlab.com/user/project/integrations/webhooks/, with a secret token, or a
	// signing token: https://gitlab.com/gitlab-org/gitlab/-/merge_requests/230944
	"gitlab": {
		Signature: Signature{ways: []way{
			standard.signing(secret.SigningToken),
			{form: inPlain, header: "x-gitlab-token", secrets: secret.Token},
		}},
		texts: mapping.Texts{
			Queue: "project.path_with_namespace | project_id | group.full_path | group_path | 'other'",
			ID:    "@header(Idempotency-Key) | @header(X-Gitlab-Event-UUID) | @digest",
			Key: "object_attributes.finished_at | build_finished_at | build_started_at" +
				" | object_attributes.updated_at | status_changed_at | @received," +
				"object_attributes.action | object_attributes.status | build_status | 'none'",
			KeyType: "utc,rank(open|create|created|pending|running|*|merge|close|delete)",
		},
	},
	// https://developer.atlassian.com/cloud/jira/platform/webhooks/
	"jira": {
		Signature: hub("x-hub-signature"),
		texts: mapping.Texts{
			Queue:   "issue.fields.project.key | project.key | 'other'",
			ID:      "@header(X-Atlassian-Webhook-Identifier)",
			Key:     "timestamp | @received,webhookEvent | 'none'",
			KeyType: "time,rank(*_created|*|*_deleted)",
		},
	},
	// https://linear.app/developers/webhooks
	"linear": {
		Signature: Signature{ways: []way{{
			header: "linear-signature", template: bodyAlone, stamp: "webhookTimestamp", secrets: secret.Text,
		}}},
		texts: mapping.Texts{
			Queue: "organizationId | 'other'", ID: "@header(Linear-Delivery)",
			Key: "createdAt | @received,action | 'none'", KeyType: "time,rank(create|*|remove)",
		},
	},
	// https://developers.facebook.com/docs/graph-api/webhooks/getting-started#validate-payloads
	"meta": {
		Signature: hub("x-hub-signature-256"), challenge: ChallengeHub,
		texts: mapping.Texts{
			Each: "entry[]", Queue: "id | 'other'", ID: "@digest",
			Key: "messaging[0].timestamp | changes[0].value.messages[0].timestamp" +
				" | changes[0].value.statuses[0].timestamp | changes[0].value.created_time" +
				" | time | @received",
			KeyType: "time", Attributes: map[string]string{"object": "@event.object"},
		},
	},
	// https://resend.com/docs/webhooks/introduction
	"resend": svix,
	// https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event
	"sendgrid": {
		Signature: Signature{ways: []way{{
			form: inECDSA, header: "x-twilio-email-event-webhook-signature",
			timestampHeader: "x-twilio-email-event-webhook-timestamp",
			template:        []part{{is: timestamp}, {is: body}}, secrets: secret.PublicKey,
		}}},
		texts: mapping.Texts{
			Each: "[]", ID: "sg_event_id | @digest",
			Key:     "timestamp | @received,event | 'none'",
			KeyType: "time,rank(processed|deferred|delivered|*)",
		},
	},
	// https://shopify.dev/docs/apps/build/webhooks/verify-deliveries, and the names of
	// https://shopify.dev/docs/apps/build/events/verify-deliveries
	"shopify": {
		Signature: Signature{
			ways: []way{{
				form: inBase64, header: "x-shopify-hmac-sha256", template: bodyAlone, secrets: secret.Text,
			}},
			known: "x-shopify-", alias: "shopify-",
		},
		texts: mapping.Texts{
			Queue: "@header(X-Shopify-Shop-Domain) | 'other'",
			ID:    "@header(X-Shopify-Webhook-Id) | @digest",
			Key: "@header(X-Shopify-Triggered-At) | @received," +
				"handle & action | @header(X-Shopify-Topic) | 'none'",
			KeyType:    "time,rank(*create|*|*delete)",
			Attributes: map[string]string{"topic": "@header(X-Shopify-Topic)"},
		},
	},
	// https://docs.slack.dev/authentication/verifying-requests-from-slack
	"slack": {
		Signature: Signature{ways: []way{{
			header: "x-slack-signature", prefix: "v0=", timestampHeader: "x-slack-request-timestamp",
			secrets:  secret.Text,
			template: []part{{text: "v0:"}, {is: timestamp}, {text: ":"}, {is: body}},
		}}},
		challenge: ChallengeSlack,
		texts: mapping.Texts{
			Queue: "team_id | enterprise_id | 'other'", ID: "event_id | @digest",
			Key: "event.event_ts | event_time | minute_rate_limited | @received", KeyType: "time",
		},
	},
	// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md,
	// and the names of https://docs.svix.com/receiving/verifying-payloads/how-manual
	"standard": svix,
	// https://docs.stripe.com/webhooks#verify-manually
	"stripe": {
		Signature: Signature{ways: []way{{
			form: inList, header: "stripe-signature", secrets: secret.Text,
			template: []part{{is: timestamp}, {text: "."}, {is: body}},
		}}},
		texts: mapping.Texts{
			Queue: "account | context | 'own'", ID: "id",
			Key: "created | @received,type | 'none'", KeyType: byType,
		},
	},
}

// defaults gives a source what its preset says and its description does not.
func (d *document) defaults() (s Signature, err error) {
	p, known := presets[d.Preset]
	others := presetNames() + "; for any other sender, write how it signs as signature"
	switch {
	case d.Preset != "" && !known:
		return s, invalid.New(invalid.Unknown, "preset",
			fmt.Sprintf("is %.40q: it must be %s", d.Preset, others))
	case known && d.Signature != nil:
		return s, invalid.New(invalid.Misplaced, "signature",
			"is for senders without a preset: how "+d.Preset+" signs is known")
	case !known && d.Signature == nil:
		return s, invalid.New(invalid.Missing, "preset", "is missing: it must be "+others)
	case d.Order != "" && d.Order != "arrival":
		return s, invalid.New(invalid.Unknown, "order",
			`must be "arrival": other orders are said by seq or by key`)
	case d.Order != "" && d.Seq+d.Key != "":
		return s, invalid.New(invalid.Clash, "order",
			"is given beside seq or key, which say another one")
	case d.Order != "" || d.Seq+d.Key != "":
		p.texts.Key, p.texts.KeyType = "", ""
	}
	d.Challenge = cmp.Or(d.Challenge, p.challenge)
	d.Default(p.texts)
	d.Queue = cmp.Or(d.Queue, "'"+d.Name+"'")
	return p.Signature, nil
}

func presetNames() string { return strings.Join(slices.Sorted(maps.Keys(presets)), ", ") }

// adyenFields are those of a notification item that are signed, in their order, with colons
// between.
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

const (
	// maxItems is how many notification items a body has at most.
	maxItems = 100
	// maxItemsBody is how large such a body is at most: it is read before anybody knows who sent
	// it.
	maxItemsBody = 256 << 10
	// adyenFree is the place of the one signed field that may have a colon: with two of them it
	// would not be known where a field ends, and one signature would be that of several items.
	adyenFree = 3
)

// itemsBy reports whether one of the keys made the signature of each notification item of a body.
func itemsBy(keys [][]byte, body []byte) bool {
	if len(body) > maxItemsBody {
		return false
	}
	raw, err := find(body, "notificationItems")
	if err != nil {
		return false
	}
	items, err := strictjson.Elements(raw, maxItems)
	for _, item := range items {
		if !itemBy(keys, item) {
			return false
		}
	}
	return err == nil && len(items) > 0
}

// itemBy reports whether one of the keys made the signature of a notification item.
func itemBy(keys [][]byte, item []byte) bool {
	item, err := find(item, "NotificationRequestItem")
	if err != nil {
		return false
	}
	members, err := strictjson.Members(item)
	if err != nil {
		return false
	}
	written, err := fieldText(members, "additionalData", "hmacSignature")
	signature, readable := inBase64.decode(written)
	if err != nil || !readable {
		return false
	}
	signed := make([]string, len(adyenFields))
	for i, names := range adyenFields {
		signed[i], err = fieldText(members, names...)
		if err != nil || i != adyenFree && strings.Contains(signed[i], ":") {
			return false
		}
	}
	made, text := false, []byte(strings.Join(signed, ":"))
	for _, key := range keys {
		made = hmac.Equal(inBase64.sum(key, text), signature) || made
	}
	return made
}

// fieldText is a field's text, or its number or boolean as it is written; empty where it is
// missing.
func fieldText(members []strictjson.Member, names ...string) (string, error) {
	value, err := find(strictjson.Get(members, names[0]), names[1:]...)
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
	for ; raw != nil && len(names) > 0; names = names[1:] {
		members, err := strictjson.Members(raw)
		if err != nil {
			return nil, err
		}
		raw = strictjson.Get(members, names[0])
	}
	return raw, nil
}
