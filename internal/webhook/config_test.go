package webhook_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/secret"
	"github.com/streamsort/streamsort/internal/webhook"
	"github.com/streamsort/streamsort/pkg/cursor"
)

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
		return "arn:aws:ssm:eu-west-1:123456789012:parameter/stripe", name == "STREAMSORT_WEBHOOK_SECRET_1"
	}
	all := check.Get(webhook.Read([]byte(text), lookup))
	if all[0].MaxBody != cursor.MaxBody {
		t.Errorf("a body may have %d bytes, a message's %d", all[0].MaxBody, cursor.MaxBody)
	}
	got := ""
	for _, s := range all {
		got += fmt.Sprintf("%s %s %s %q %q %v %v %v %d %s\n", s.Name, s.Secret, s.SecretKey, s.Prefix, s.Fixed, s.Numbered(), s.Keyed(), s.Identified(), s.MaxBody, s.KeyType)
	}
	const want = `github arn:aws:secretsmanager:eu-west-1:123456789012:secret:github-Ab12Cd arn:aws:kms:eu-west-1:123456789012:key/1234-abcd "github/" "" false false true 358400 
stripe arn:aws:ssm:eu-west-1:123456789012:parameter/stripe  "" "stripe" false true true 1000 time,rank(a|*)
bank arn:aws:ssm:eu-west-1:123456789012:parameter/a/b  "" "" true false false 358400 
`
	check.That(t, got == want, "got\n%swant\n%s", got, want)
	if _, err := webhook.Read([]byte(text), func(string) (string, bool) { return "", false }); err == nil || !strings.Contains(err.Error(), "STREAMSORT_WEBHOOK_SECRET_1") {
		t.Errorf("a variable that is not set: %v", err)
	}
}

// Each error names the member and what it must be.
func TestReadErrors(t *testing.T) {
	change := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatal(old)
		}
		return strings.Replace(good, old, new, 1)
	}
	add := func(members string) string { return change(`"name":"s"`, `"name":"s",`+members) }
	general := func(signature string) string {
		return change(`"preset":"github"`, `"id":"@digest","signature":`+signature)
	}
	for raw, want := range map[string]string{
		`7`:                       "sources[0] must be a JSON object",
		change(`"name":"s",`, ``): "sources[0].name is missing",
		change(`"s"`, `""`):       "name must be 1 to 64 letters",
		change(`"s"`, `"a/b"`):    "name must be 1 to 64 letters",
		change(`"s"`, `"`+strings.Repeat("a", 65)+`"`): "name must be 1 to 64 letters",
		good + `,` + good:                                                   `sources[1].name "s" is that of sources[0] too`,
		change(`"github"`, `"bitbucket"`):                                   `preset is "bitbucket": it must be adyen, clerk, github, gitlab, jira, linear, meta, resend, sendgrid, shopify, slack, standard, stripe; for any other sender, write how`,
		change(`"preset":"github",`, ``):                                    "preset is missing: it must be adyen, clerk",
		add(`"order":"time"`):                                               `order must be "arrival"`,
		add(`"order":"arrival","seq":"n"`):                                  "order is given beside seq or key",
		add(`"scheme":"github"`):                                            "scheme is not known: there are name, preset",
		change(`"github"`, `"meta"`):                                        "verifyToken must be given with the challenge hub",
		add(`"signature":{"header":"X"}`):                                   "signature is for senders without a preset: how github signs is known",
		change(`-Ab12Cd`, ``):                                               "secret must be the whole ARN of a secret",
		change(`arn:aws:secretsmanager`, `x`):                               "secret must be the whole ARN of a secret",
		change(`secretsmanager:eu-west-1`, `ssm:eu-west-1`):                 "secret must be the whole ARN of a secret",
		add(`"secretKey":"mine"`):                                           "secretKey must be the ARN of a key of KMS",
		add(`"secretKey":""`):                                               "secretKey is empty",
		add(`"tolerance":"5m"`):                                             "tolerance is for a signature with a timestamp",
		strings.Replace(add(`"tolerance":"2h"`), `"github"`, `"stripe"`, 1): "tolerance must be a duration from 10s to 1h0m0s",
		add(`"colour":1`):                                                   "colour is not known: there are name, preset",
		add(`"seq":"a..b"`):                                                 "seq has an empty name",
		add(`"key":"arn:aws:kms:r:1:key/x","keyType":"time"`):               "key is an ARN: that of the secret's key is secretKey",
		add(`"keyProp":"a"`):                                                "keyProp is not known: there are name, preset, order, secret, secretKey,",
		add(`"key":"a,b,c,d","keyType":"time"`):                             "key has more than 3 paths",
		add(`"key":7,"keyType":"time"`):                                     "key must be a string, such as the path",
		add(`"key":"a","keyType":"date"`):                                   `sources[0].keyType has the part "date"`,
		add(`"key":"a"`):                                                    "keyType is missing beside key",
		add(`"key":"a","keyType":"time","seq":"n"`):                         "key must not be given beside seq",
		add(`"maxBody":358401`):                                             "maxBody must be an integer from 1 to 358400",
		add(`"maxBody":0`):                                                  "maxBody must be an integer from 1 to 358400",
		add(`"queue":"a"`):                                                  `has the member "queue" twice`,
		change(`"repository.full_name"`, `{"path":"a","default":"b"}`):      "queue must be a string, such as the path order.id | 'other'",
		change(`"repository.full_name"`, `"a","prefix":"@acme"`):            "prefix begins with '@', and with no whole tenant",
		change(`"repository.full_name"`, `"a","prefix":"@/"`):               "prefix begins with '@', and with no whole tenant",
		change(`"repository.full_name"`, `"a","prefix":"@a b/"`):            "prefix begins with '@', and with no whole tenant",
		change(`"repository.full_name"`, `"a","prefix":"@ac\u2215/"`):       "prefix begins with '@', and with no whole tenant",
		add(`"id":{"path":"a"}`):                                            "id must be a string, such as the path",
		add(`"attributes":{"a":7}`):                                         "attributes.a must be a string",
		add(`"attributes":{"a":"X-Event"}`):                                 "for a header, write @header(X-Event)",
		add(`"attributes":{"a":"x","b":"x","c":"x","d":"x","e":"x","f":"x","g":"x","h":"x","i":"x","j":"x","k":"x"}`): "attributes are 11: at most 10",
		strings.Replace(general(`{"header":"X"}`), `"id":"@digest",`, ``, 1):                                          "seq is missing, and so is id",
		general(`{"prefix":"x"}`):                                                                 "signature.header is missing: it must be a string, such as X-Signature",
		general(`{"header":"X","encoding":"base32"}`):                                             "signature.encoding must be hex, base64 or token: it is \"base32\"",
		general(`{"header":"X","idHeader":"I"}`):                                                  "signature must have both an idHeader and {id}",
		general(`{"header":"X","template":"{id}.{body}"}`):                                        "signature must have both an idHeader and {id}",
		general(`{"header":"X","idHeader":"I","template":"{id}{body}"}`):                          "no digit between",
		general(`{"header":"X","idHeader":"I","template":"{id}{id}{body}"}`):                      "{timestamp} and {id} at most once",
		general(`{"header":"X","keyEncoding":"base32"}`):                                          `signature.keyEncoding must be text, base64 or hex: it is "base32"`,
		general(`{"header":"X","encoding":"token","keyEncoding":"hex"}`):                          "header and prefix alone",
		add(`"challenge":"meta"`):                                                                 `challenge must be slack, cloudevents or hub: it is "meta"`,
		add(`"challenge":"hub"`):                                                                  "verifyToken must be given with the challenge hub",
		add(`"challenge":"slack","verifyToken":"arn:aws:ssm:eu-west-1:123456789012:parameter/s"`): "verifyToken must be given with the challenge hub",
		add(`"challenge":"hub","verifyToken":"it"`):                                               "verifyToken must be the whole ARN",
		general(`{"header":"X","timestampHeader":"T"}`):                                           "signature must have both a timestampHeader and {timestamp}",
		general(`{"header":"X","template":"{timestamp}.{body}"}`):                                 "signature must have both a timestampHeader and {timestamp}",
		general(`{"header":"X","template":""}`):                                                   "signature.template must have {body} once",
		general(`{"header":"X","template":"{body}{body}"}`):                                       "signature.template must have {body} once",
		general(`{"header":"X","template":"{bodies}"}`):                                           "signature.template has a '{'",
		general(`{"header":"X","template":"{body"}`):                                              "signature.template has a '{'",
		general(`{"header":"X","timestampHeader":"T","template":"{timestamp}{body}"}`):            "no digit between",
		general(`{"header":"X","timestampHeader":"T","template":"{timestamp}12{body}"}`):          "no digit between",
		general(`{"header":"X","prefix":"` + strings.Repeat("p", 65) + `"}`):                      "signature.prefix has 65 bytes: it must have at most 64",
		general(`{"header":"X","algorithm":"sha1"}`):                                              "signature.algorithm is not known",
	} {
		_, err := webhook.Read([]byte(`{"sources":[`+raw+`]}`), nil)
		check.That(t, err != nil && strings.Contains(err.Error(), want),
			"%s\nerror %v\nwant  %s", raw, err, want)
	}
	for text, want := range map[string]string{
		`{}`: "sources has 0", `{"sources":7}`: "sources must be a JSON array", `{"source":[]}`: "source is not known", `{`: "ends too early",
		`{"sources":[` + strings.Repeat(good+",", 50) + good + `]}`: "sources has 51: it must have from 1 to 50",
	} {
		if _, err := webhook.Read([]byte(text), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: error %v, want %s", text, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"sources":[` + good + `]}`))
	f.Add([]byte(`{"sources":[{"name":"s",` + slack + `,"secret":"arn:aws:ssm:eu-west-1:123456789012:parameter/s","queue":"'q'"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := webhook.Read(text, func(string) (string, bool) { return "", false })
		for _, s := range all {
			check.That(t, err != nil || s.Name != "" && s.Secret != (secret.Reference{}) && s.MaxBody >= 1,
				"%q makes %+v", text, s)
		}
	})
}
