package webhook_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/mapping"
	"github.com/streamsort/streamsort/internal/secret"
	"github.com/streamsort/streamsort/internal/webhook"
	"github.com/streamsort/streamsort/pkg/cursor"
)

var received = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// preset is a source of a sender's name, and of nothing else but what its kind needs.
func preset(t testing.TB, name string) webhook.Source {
	t.Helper()
	more := ""
	if name == "meta" {
		more = `,"verifyToken":"arn:aws:ssm:eu-west-1:123456789012:parameter/t"`
	}
	all := check.Get(
		webhook.Read([]byte(`{"sources":[{"name":"n","preset":"`+name+
			`","secret":"arn:aws:ssm:eu-west-1:123456789012:parameter/s"`+more+`}]}`), nil))
	return all[0]
}

// messages are what a source makes of an event; headers are "Name: value" each.
func messages(s webhook.Source, body string, headers ...string) ([]cursor.Message, error) {
	r := &httpapi.Request{Body: []byte(body),
		Headers: map[string]string{"content-type": "application/json"}}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Headers[strings.ToLower(name)] = value
	}
	s.Signature.Read(r.Headers, received)
	return s.Messages(r, received)
}

// keyText is a message's key as readers get it; by receipt, "received" and what follows it.
func keyText(m cursor.Message) (string, error) {
	if m.KeyParts == nil {
		return "none", nil
	}
	key, err := m.KeyType.Key(m.KeyParts...)
	text := string(key.JSON())
	if m.Attributes[mapping.ReceivedAttribute] != "" {
		text = strings.Replace(text, `"2026-01-02T03:04:05Z"`, "received", 1)
	}
	return text, err
}

// became is what a source makes of an event, as "queue id key"; several with a semicolon.
func became(s webhook.Source, body string, headers ...string) string {
	all, err := messages(s, body, headers...)
	if err != nil {
		return err.Error()
	}
	texts := make([]string, len(all))
	for i, m := range all {
		key, err := keyText(m)
		if err != nil {
			key = err.Error()
		}
		if len(m.ID) == 64 {
			m.ID = "digest"
		}
		texts[i] = m.Queue + " " + m.ID + " " + key
		for _, name := range slices.Sorted(maps.Keys(m.Attributes)) {
			if name != mapping.ReceivedAttribute {
				texts[i] += " " + name + "=" + m.Attributes[name]
			}
		}
	}
	return strings.Join(texts, "; ")
}

// TestPresets: events of each sender, by its name alone: testdata/presets.txt has the preset with
// the headers, the body, and what it becomes. Real ones of GitHub are in payloads_whole_test.go;
// these are made by what the senders' pages say.
func TestPresets(t *testing.T) {
	file := check.Get(os.ReadFile("testdata/presets.txt"))
	seen := map[string]bool{}
	for block := range strings.SplitSeq(strings.TrimSpace(string(file)), "\n\n") {
		lines := strings.Split(block, "\n")
		sender := strings.Split(lines[0], "; ")
		seen[sender[0]] = true
		got := became(preset(t, sender[0]), lines[1], sender[1:]...)
		want := strings.Join(lines[2:], "; ")
		check.Is(t, got, want, lines[0], lines[1])
	}
	check.That(t, len(seen) == len(webhook.PresetTexts()), "there are events of %v", seen)
}

// TestPresetsAreDefaults: what a source says itself counts, member by member.
func TestPresetsAreDefaults(t *testing.T) {
	const event = `{"id":"evt_1","type":"a.created","created":1767323045,"n":7,"data":{"object":{"customer":"cus_1"}}}`
	for members, want := range map[string]string{
		``: `s/own evt_1 ["2026-01-02T03:04:05Z",0]`,
		`"queue":"data.object.customer | 'none'"`: `s/cus_1 evt_1 ["2026-01-02T03:04:05Z",0]`,
		`"queue":"'q'"`:                              `q evt_1 ["2026-01-02T03:04:05Z",0]`,
		`"prefix":"@acme/"`:                          `@acme/own evt_1 ["2026-01-02T03:04:05Z",0]`,
		`"id":"type,id"`:                             `s/own a.created/evt_1 ["2026-01-02T03:04:05Z",0]`,
		`"key":"n","keyType":"number"`:               `s/own evt_1 7`,
		`"keyType":"time,text"`:                      `s/own evt_1 ["2026-01-02T03:04:05Z","a.created"]`,
		`"attributes":{"type":"type"},"seq":"n"`:     `s/own evt_1 none type=a.created`,
		`"order":"arrival","body":"data"`:            `s/own evt_1 none`,
		`"key":"@received","keyType":"time"`:         `s/own evt_1 received`,
		`"each":"data.all[]","queue":"'q'"`:          `each is missing: the event has no data.all`,
		`"key":"n","keyType":"number","prev":"type"`: `s/own evt_1 7`,
	} {
		if members != "" {
			members = "," + members
		}
		all := check.Get(webhook.Read([]byte(`{"sources":[{"name":"s","preset":"stripe","secret":"arn:aws:ssm:eu-west-1:123456789012:parameter/s"`+members+`}]}`), nil))
		check.Is(t, became(all[0], event), want, members)
	}
}

// TestThePagesHaveThePresets: each has a row, whose names are in its paths; and the file that the
// settings show is read.
func TestThePagesHaveThePresets(t *testing.T) {
	settings := check.Get(os.ReadFile("../../docs/reference/settings.md"))
	_, page, _ := strings.Cut(string(settings), "## Webhook senders\n")
	_, file, _ := strings.Cut(page, "```json\n")
	file, _, _ = strings.Cut(file, "```")
	check.Is(t, len(check.Get(webhook.Read([]byte(file), nil))), 2)
	events := check.Get(os.ReadFile("../../docs/reference/events.md"))
	_, table, _ := strings.Cut(string(events),
		"| `preset` | `queue` | `id` | `key` |\n|---|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	texts := webhook.PresetTexts()
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		for _, name := range quoted(cells[1]) {
			of, known := texts[name]
			if !known {
				continue
			}
			delete(texts, name)
			for i, paths := range []string{of.Queue + "'" + name + "'", of.ID,
				of.Key + fmt.Sprint(of.Attributes)} {
				for _, path := range quoted(cells[2+i]) {
					check.That(t, strings.Contains(paths, path), "%s: %s is not one of %s", name, path, paths)
				}
			}
		}
	}
	check.That(t, len(texts) == 0, "the page has no row of %v", slices.Sorted(maps.Keys(texts)))
}

func quoted(cell string) (names []string) {
	for i, part := range strings.Split(cell, "`") {
		if i%2 == 1 {
			names = append(names, part)
		}
	}
	return names
}

// FuzzPresets: whatever is signed, a sender names queues of its own alone, and each message has an
// id and a key that queues take.
func FuzzPresets(f *testing.F) {
	f.Add([]byte(`{"entry":[{"id":"@acme/x"}],"notificationItems":[{}],"timestamp":1,"created":"x"}`), "2026-01-02T03:04:05Z")
	f.Add([]byte(`[{"timestamp":1513299569,"event":"open"}]`), "a,b")
	f.Add([]byte(`{"repository":{"full_name":"../x","pushed_at":1},"pusher":{},"account":7,"team_id":"","action":true}`), "")
	var all []webhook.Source
	for name := range webhook.PresetTexts() {
		all = append(all, preset(f, name))
	}
	f.Fuzz(func(t *testing.T, body []byte, header string) {
		for _, s := range all {
			var headers []string
			for _, name := range []string{"X-GitHub-Delivery", "Idempotency-Key", "X-Shopify-Webhook-Id",
				"X-Shopify-Shop-Domain", "X-Shopify-Triggered-At", "Webhook-Id", "Linear-Delivery",
				"X-Atlassian-Webhook-Identifier"} {
				headers = append(headers, name+": "+header)
			}
			made, err := messages(s, string(body), headers...)
			for _, m := range made {
				if err == nil && (m.ID == "" || m.Queue != "n" && !strings.HasPrefix(m.Queue, "n/") ||
					len(m.KeyParts) == 0) {
					t.Errorf("%q makes %+v", body, m)
				}
			}
		}
	})
}

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

const good = `{"name":"s","preset":"github","secret":"arn:aws:secretsmanager:eu-west-1:123456789012:secret:github-Ab12Cd","queue":"repository.full_name"}`

func TestRead(t *testing.T) {
	text := `{"sources": [
	  {"name": "github", "preset": "github", "order": "arrival", "secret": "arn:aws:secretsmanager:eu-west-1:123456789012:secret:github-Ab12Cd",
	   "queue": "repository.full_name | 'other'", "attributes": {"event": "@header(X-GitHub-Event)"},
	   "secretKey": "arn:aws:kms:eu-west-1:123456789012:key/1234-abcd"},
	  {"name": "stripe", "preset": "stripe", "secret": "${STREAMSORT_WEBHOOK_SECRET_1}", "tolerance": "1m",
	   "queue": "'stripe'", "maxBody": 1000, "key": "created,type", "keyType": "time, rank(a|*)"},
	  {"name": "bank", "secret": "arn:aws:ssm:eu-west-1:123456789012:parameter/a/b",
	   "signature": {"header": "X-Signature"}, "queue": "@header(X-Account)", "prefix": "", "seq": "number"}]}`
	lookup := func(name string) (string, bool) {
		return "arn:aws:ssm:eu-west-1:123456789012:parameter/stripe",
			name == "STREAMSORT_WEBHOOK_SECRET_1"
	}
	all := check.Get(webhook.Read([]byte(text), lookup))
	check.Is(t, all[0].MaxBody, cursor.MaxBody)
	got := ""
	for _, s := range all {
		got += fmt.Sprintf("%s %s %s %q %q %v %v %d %s\n", s.Name, s.Secret, s.SecretKey, s.Prefix,
			s.Fixed, s.Numbered(), s.Keyed(), s.MaxBody, s.KeyType)
	}
	const want = `github arn:aws:secretsmanager:eu-west-1:123456789012:secret:github-Ab12Cd arn:aws:kms:eu-west-1:123456789012:key/1234-abcd "github/" "" false false 358400 
stripe arn:aws:ssm:eu-west-1:123456789012:parameter/stripe  "" "stripe" false true 1000 time,rank(a|*)
bank arn:aws:ssm:eu-west-1:123456789012:parameter/a/b  "" "" true false 358400 
`
	check.That(t, got == want, "got\n%swant\n%s", got, want)
	none := func(string) (string, bool) { return "", false }
	check.Has(t, fmt.Sprint(check.Err(webhook.Read([]byte(text), none))),
		"STREAMSORT_WEBHOOK_SECRET_1")
}

func TestReadErrors(t *testing.T) {
	change := func(old, new string) string {
		check.Need(t, strings.Contains(good, old), "%v", old)
		return strings.Replace(good, old, new, 1)
	}
	add := func(members string) string { return change(`"name":"s"`, `"name":"s",`+members) }
	general := func(signature string) string {
		return change(`"preset":"github"`, `"id":"@digest","signature":`+signature)
	}
	for raw, want := range map[string]string{
		`7`:                       "sources[0] must be a JSON object",
		change(`"name":"s",`, ``): "sources[0].name is missing",
		change(`"s"`, `"a/b"`):    "name must be 1 to 64 letters",
		change(`"s"`, `"`+strings.Repeat("a", 65)+`"`): "name must be 1 to 64 letters",
		good + `,` + good:                  `sources[1].name "s" is that of sources[0] too`,
		change(`"github"`, `"bitbucket"`):  `preset is "bitbucket": it must be adyen, clerk, github, gitlab, jira, linear, meta, resend, sendgrid, shopify, slack, standard, stripe; for any other sender, write how`,
		change(`"preset":"github",`, ``):   "preset is missing: it must be adyen, clerk",
		add(`"order":"time"`):              `order must be "arrival"`,
		add(`"order":"arrival","seq":"n"`): "order is given beside seq or key",
		change(`"github"`, `"meta"`):       "verifyToken must be given with the challenge hub",
		add(`"signature":{"header":"X"}`):  "signature is for senders without a preset: how github signs is known",
		change(`-Ab12Cd`, ``):              "secret must be the whole ARN of a secret",
		add(`"secretKey":"mine"`):          "secretKey must be the ARN of a key of KMS",
		add(`"secretKey":""`):              "secretKey is empty",
		add(`"tolerance":"5m"`):            "tolerance is for a signature with a timestamp",
		strings.Replace(add(`"tolerance":"2h"`), `"github"`, `"stripe"`, 1): "tolerance must be a duration from 10s to 1h0m0s",
		add(`"seq":"a..b"`): "seq has an empty name",
		add(`"key":"arn:aws:kms:r:1:key/x","keyType":"time"`): "key is an ARN: that of the secret's key is secretKey",
		add(`"keyProp":"a"`):                                           "keyProp is not known: there are name, preset, order, secret, secretKey,",
		add(`"key":"a,b,c,d","keyType":"time"`):                        "key has more than 3 paths",
		add(`"key":7,"keyType":"time"`):                                "key must be a string, such as the path",
		add(`"key":"a","keyType":"date"`):                              `sources[0].keyType has the part "date"`,
		add(`"key":"a"`):                                               "keyType is missing beside key",
		add(`"key":"a","keyType":"time","seq":"n"`):                    "key must not be given beside seq",
		add(`"maxBody":358401`):                                        "maxBody must be an integer from 1 to 358400",
		add(`"maxBody":0`):                                             "maxBody must be an integer from 1 to 358400",
		add(`"queue":"a"`):                                             `has the member "queue" twice`,
		change(`"repository.full_name"`, `{"path":"a","default":"b"}`): "queue must be a string, such as the path order.id | 'other'",
		change(`"repository.full_name"`, `"a","prefix":"@acme"`):       "prefix begins with '@', and with no whole tenant",
		change(`"repository.full_name"`, `"a","prefix":"@a b/"`):       "prefix begins with '@', and with no whole tenant",
		add(`"id":{"path":"a"}`):                                       "id must be a string, such as the path",
		add(`"attributes":{"a":7}`):                                    "attributes.a must be a string",
		add(`"attributes":{"a":"X-Event"}`):                            "for a header, write @header(X-Event)",
		add(`"attributes":{"a":"x","b":"x","c":"x","d":"x","e":"x","f":"x","g":"x","h":"x","i":"x","j":"x","k":"x"}`): "attributes are 11: at most 10",
		strings.Replace(general(`{"header":"X"}`), `"id":"@digest",`, ``, 1):                                          "seq is missing, and so is id",
		general(`{"prefix":"x"}`):                                                                 "signature.header is missing: it must be a string, such as X-Signature",
		general(`{"header":"X","encoding":"base32"}`):                                             "signature.encoding must be hex, base64 or token: it is \"base32\"",
		general(`{"header":"X","template":"{id}.{body}"}`):                                        "signature must have both an idHeader and {id}",
		general(`{"header":"X","idHeader":"I","template":"{id}{body}"}`):                          "no digit between",
		general(`{"header":"X","idHeader":"I","template":"{id}{id}{body}"}`):                      "{timestamp} and {id} at most once",
		general(`{"header":"X","keyEncoding":"base32"}`):                                          `signature.keyEncoding must be text, base64 or hex: it is "base32"`,
		general(`{"header":"X","encoding":"token","keyEncoding":"hex"}`):                          "header and prefix alone",
		add(`"challenge":"meta"`):                                                                 `challenge must be slack, cloudevents or hub: it is "meta"`,
		add(`"challenge":"slack","verifyToken":"arn:aws:ssm:eu-west-1:123456789012:parameter/s"`): "verifyToken must be given with the challenge hub",
		add(`"challenge":"hub","verifyToken":"it"`):                                               "verifyToken must be the whole ARN",
		general(`{"header":"X","timestampHeader":"T"}`):                                           "signature must have both a timestampHeader and {timestamp}",
		general(`{"header":"X","template":"{body}{body}"}`):                                       "signature.template must have {body} once",
		general(`{"header":"X","template":"{bodies}"}`):                                           "signature.template has a '{'",
		general(`{"header":"X","timestampHeader":"T","template":"{timestamp}12{body}"}`):          "no digit between",
		general(`{"header":"X","prefix":"` + strings.Repeat("p", 65) + `"}`):                      "signature.prefix has 65 bytes: it must have at most 64",
		general(`{"header":"X","algorithm":"sha1"}`):                                              "signature.algorithm is not known",
	} {
		err := check.Err(webhook.Read([]byte(`{"sources":[`+raw+`]}`), nil))
		check.Has(t, fmt.Sprint(err), want, raw)
	}
	for text, want := range map[string]string{
		`{}`: "sources has 0", `{"sources":7}`: "sources must be a JSON array", `{"source":[]}`: "source is not known", `{`: "ends too early",
		`{"sources":[` + strings.Repeat(good+",", 50) + good + `]}`: "sources has 51: it must have from 1 to 50",
	} {
		check.Has(t, fmt.Sprint(check.Err(webhook.Read([]byte(text), nil))), want)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"sources":[` + good + `]}`))
	f.Add([]byte(`{"sources":[{"name":"s",` + slack +
		`,"secret":"arn:aws:ssm:eu-west-1:123456789012:parameter/s","queue":"'q'"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := webhook.Read(text, func(string) (string, bool) { return "", false })
		for _, s := range all {
			check.That(t, err != nil || s.Name != "" && s.Secret != (secret.Reference{}) && s.MaxBody >= 1,
				"%q makes %+v", text, s)
		}
	})
}

const (
	oldSecret = "the old secret of this"
	newSecret = "the new secret of this"
)

// vault is a secret store whose answers are set, with a clock.
type vault struct {
	t     *testing.T
	value string
	err   error
	calls int
	now   time.Time
	*secret.Cache
	source webhook.Source
}

func newVault(t *testing.T, value string) *vault {
	v := &vault{t: t, value: value, now: time.Unix(1_700_000_000, 0),
		source: source(t, `"preset":"github"`)}
	v.Cache = secret.NewCache(func(_ context.Context, of secret.Reference) (string, error) {
		check.That(t, of == v.source.Secret, "asked for %s", of)
		v.calls++
		return v.value, v.err
	}, func() time.Time { return v.now })
	return v
}

// check asks for a body signed with a secret.
func (v *vault) check(secret string) (bool, error) {
	v.t.Helper()
	const body = `{"a":1}`
	claim, why := v.source.Signature.Read(map[string]string{"x-hub-signature-256": "sha256=" +
		hex.EncodeToString(sum(secret, body))}, v.now)
	check.Need(v.t, why == "", "%v", why)
	why, err := claim.Check(v.t.Context(), v.Cache, v.source.Secret, []byte(body))
	return why == "", err
}

func (v *vault) want(what, secret string, signed, fails bool, calls int) {
	v.t.Helper()
	got, err := v.check(secret)
	check.That(v.t, got == signed && (err != nil) == fails && v.calls == calls,
		"%s: signed %v, error %v, %d calls; want %v, an error %v, %d calls", what, got, err, v.calls,
		signed, fails, calls)
}

// A rotation: the new secret is added, the sender changes to it, the old one is taken away. Each
// request is accepted, and forgeries make no more calls than one in each interval.
func TestRotation(t *testing.T) {
	v := newVault(t, oldSecret)
	v.want("first", oldSecret, true, false, 1)
	v.want("again", oldSecret, true, false, 1)
	for range 1000 {
		v.want("forged", "nobody's secret, I say", false, false, 1)
	}
	v.now = v.now.Add(secret.Interval)
	for range 1000 {
		v.want("forged, an interval later", "nobody's secret, I say", false, false, 2)
	}
	v.value = `["` + newSecret + `","` + oldSecret + `"]`
	v.want("the old one, which is known", oldSecret, true, false, 2)
	v.now = v.now.Add(secret.Interval)
	v.want("the new one", newSecret, true, false, 3)
	v.want("the old one beside it", oldSecret, true, false, 3)
	v.value = newSecret + "\n"
	v.now = v.now.Add(secret.Lifetime - time.Nanosecond)
	v.want("the old one, within its lifetime", oldSecret, true, false, 3)
	v.now = v.now.Add(time.Nanosecond)
	v.want("the old one, after it", oldSecret, false, false, 4)
	v.want("the new one, after it", newSecret, true, false, 4)
	v.now = v.now.Add(-time.Hour)
	v.want("a clock that goes back", newSecret, true, false, 5)
}

// A store that fails accepts nothing that is not known, and refuses nothing for good; it is asked
// again once in each second.
func TestStoreFails(t *testing.T) {
	v := newVault(t, oldSecret)
	v.err = errors.New("down")
	v.want("never fetched", oldSecret, false, true, 1)
	v.want("at once again", oldSecret, false, true, 1)
	v.now = v.now.Add(time.Second)
	v.want("a second later", oldSecret, false, true, 2)
	v.err = nil
	v.now = v.now.Add(time.Second)
	v.want("it is back", oldSecret, true, false, 3)

	v.err = errors.New("down")
	v.want("what is known goes on", oldSecret, true, false, 3)
	v.now = v.now.Add(secret.Interval)
	v.want("another signature may be a new secret's", newSecret, false, true, 4)
	v.want("and cannot be known", newSecret, false, true, 4)
	v.want("what is known goes on", oldSecret, true, false, 4)
	v.now = v.now.Add(secret.Lifetime)
	v.want("until its lifetime is over", oldSecret, false, true, 5)
	v.want("for all", oldSecret, false, true, 5)
}

// A value that is no secret is reported without a word of it.
func TestBadValues(t *testing.T) {
	for value, want := range map[string]string{
		"":                                "secret 1 of 1 has not from 16 to 1024 bytes",
		"canary":                          "secret 1 of 1 has not from 16 to 1024 bytes",
		strings.Repeat("canary", 200):     "secret 1 of 1 has not from 16 to 1024 bytes",
		`["` + oldSecret + `","canary"]`:  "secret 2 of 2 has not",
		`["canary`:                        "starts as a JSON list, and is not one",
		`[{"canary":1}]`:                  "something else than strings",
		` {"canary":"` + oldSecret + `"}`: "is a JSON object: it must be the secret alone",
		`[]`:                              "has 0 secrets: there must be from 1 to 4",
		`[` + strings.Repeat(`"canary",`, 4) + `"canary"]`: "has 5 secrets",
	} {
		v := newVault(t, value)
		signed, err := v.check("canary")
		check.That(t, !signed && err != nil && strings.Contains(err.Error(), want) &&
			!strings.Contains(err.Error(), "canary"),
			"%.40q: %v, %v; want %s", value, signed, err, want)
	}
	// An empty key would be known to everybody.
	v := newVault(t, `[""]`)
	signed, err := v.check("")
	check.That(t, !signed && err != nil, "an empty secret: %v, %v", signed, err)
}
