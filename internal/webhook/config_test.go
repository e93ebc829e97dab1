package webhook_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/secret"
	"github.com/streamsort/streamsort/internal/webhook"
)

const good = `{"name":"s","scheme":"github","secret":"arn:aws:secretsmanager:eu-west-1:123456789012:secret:github-Ab12Cd","queue":{"path":"repository.full_name"}}`

func TestRead(t *testing.T) {
	text := `{"sources": [
	  {"name": "github", "scheme": "github", "secret": "arn:aws:secretsmanager:eu-west-1:123456789012:secret:github-Ab12Cd",
	   "queue": {"path": "repository.full_name", "default": "other"}, "attributes": {"event": "X-GitHub-Event"},
	   "key": "arn:aws:kms:eu-west-1:123456789012:key/1234-abcd"},
	  {"name": "stripe", "scheme": "stripe", "secret": "${STREAMSORT_WEBHOOK_SECRET_1}", "tolerance": "1m",
	   "queue": {"fixed": "stripe"}, "maxBody": 1000, "keyProp": "created,type", "keyType": "time, rank(a|*)"},
	  {"name": "bank", "scheme": "hmac", "secret": "arn:aws:ssm:eu-west-1:123456789012:parameter/a/b",
	   "signature": {"header": "X-Signature"}, "queue": {"header": "X-Account", "prefix": ""}, "seq": "number"}]}`
	lookup := func(name string) (string, bool) {
		return "arn:aws:ssm:eu-west-1:123456789012:parameter/stripe", name == "STREAMSORT_WEBHOOK_SECRET_1"
	}
	all, err := webhook.Read([]byte(text), lookup)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, s := range all {
		got += fmt.Sprintf("%s %s %s prefix=%q default=%q seq=%v id=%v queue=%v %v %d key=%v %s\n", s.Name, s.Secret, s.Key, s.Prefix, s.Default, s.Seq, s.ID, s.Queue, s.Attributes, s.MaxBody, s.KeyPaths, s.KeyType)
	}
	const want = `github arn:aws:secretsmanager:eu-west-1:123456789012:secret:github-Ab12Cd arn:aws:kms:eu-west-1:123456789012:key/1234-abcd prefix="github/" default="other" seq=[] id={ x-github-delivery [] false} queue={  [repository full_name] false} map[event:x-github-event] 358400 key=[] 
stripe arn:aws:ssm:eu-west-1:123456789012:parameter/stripe  prefix="" default="" seq=[] id={  [id] false} queue={stripe  [] false} map[] 1000 key=[[created] [type]] time,rank(a|*)
bank arn:aws:ssm:eu-west-1:123456789012:parameter/a/b  prefix="" default="" seq=[number] id={  [] false} queue={ x-account [] false} map[] 358400 key=[] 
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
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
		return change(`"scheme":"github"`, `"scheme":"hmac","id":{"digest":true},"signature":`+signature)
	}
	for raw, want := range map[string]string{
		`7`:                       "sources[0] must be a JSON object",
		change(`"name":"s",`, ``): "sources[0].name is missing",
		change(`"s"`, `""`):       "name must be 1 to 64 letters",
		change(`"s"`, `"a/b"`):    "name must be 1 to 64 letters",
		change(`"s"`, `"`+strings.Repeat("a", 65)+`"`): "name must be 1 to 64 letters",
		good + `,` + good:                                                       `sources[1].name "s" is that of sources[0] too`,
		change(`"github"`, `"bitbucket"`):                                       `scheme is "bitbucket": it must be adyen, github, gitlab, jira, linear, meta, sendgrid, shopify, slack, standard, stripe, hmac or token`,
		change(`"github"`, `"hmac"`):                                            "signature is missing",
		add(`"signature":{"header":"X"}`):                                       "signature is for the schemes hmac and token",
		change(`-Ab12Cd`, ``):                                                   "secret must be the whole ARN of a secret",
		change(`arn:aws:secretsmanager`, `x`):                                   "secret must be the whole ARN of a secret",
		change(`secretsmanager:eu-west-1`, `ssm:eu-west-1`):                     "secret must be the whole ARN of a secret",
		add(`"key":"mine"`):                                                     "key must be the ARN of a key of KMS",
		add(`"tolerance":"5m"`):                                                 "tolerance is for a signature with a timestamp",
		strings.Replace(add(`"tolerance":"2h"`), `"github"`, `"stripe"`, 1):     "tolerance must be a duration from 10s to 1h0m0s",
		add(`"colour":1`):                                                       "colour is not known: there are name, scheme",
		add(`"seq":"a..b"`):                                                     "seq has an empty name",
		add(`"keyProp":"a,b,c,d","keyType":"time"`):                             "keyProp has 4 paths: a key has at most 3 parts",
		add(`"keyProp":"a,","keyType":"time"`):                                  "keyProp has an empty name",
		add(`"keyProp":7,"keyType":"time"`):                                     "keyProp must be a string",
		add(`"keyProp":"a","keyType":"date"`):                                   "sources[0].keyType has the part \"date\"",
		add(`"prevProp":"a"`):                                                   "prevProp is given without keyProp",
		add(`"keyProp":"a","keyType":"time","prevProp":""`):                     "prevProp",
		add(`"keyProp":"a"`):                                                    "keyProp and keyType must both be given",
		add(`"keyType":"time"`):                                                 "keyProp and keyType must both be given",
		add(`"keyProp":"a","keyType":"time","seq":"n"`):                         "keyProp is given beside seq",
		add(`"maxBody":358401`):                                                 "maxBody must be an integer from 1 to 358400",
		add(`"maxBody":0`):                                                      "maxBody must be an integer from 1 to 358400",
		add(`"queue":{}`):                                                       `has the member "queue" twice`,
		change(`{"path":"repository.full_name"}`, `{}`):                         "queue is empty",
		change(`{"path":"repository.full_name"}`, `{"prefix":"x"}`):             "queue names no place: there are path, header, fixed",
		change(`{"path":"repository.full_name"}`, `{"path":"a","header":"b"}`):  "queue.header stands beside another place",
		change(`{"path":"repository.full_name"}`, `{"path":"a","fixed":"b"}`):   "queue.fixed stands beside another place",
		change(`{"path":"repository.full_name"}`, `{"fixed":"b","prefix":"c"}`): "queue has a prefix or a default beside fixed",
		change(`{"path":"repository.full_name"}`, `{"fixed":""}`):               "queue.fixed",
		change(`{"path":"repository.full_name"}`, `{"path":"a","default":""}`):  "queue.default is empty",
		change(`{"path":"repository.full_name"}`, `{"header":"a b"}`):           "queue.header must be a header's name",
		change(`{"path":"repository.full_name"}`, `{"body":"a"}`):               "queue.body is not known",
		change(`{"path":"repository.full_name"}`, `{"path":"a","":1}`):          "queue has a member without a name",
		change(`{"path":"repository.full_name"}`, `{"path":"a","prefix":"`+strings.Repeat("p", 1024)+`"}`): "queue has more than 1024 bytes",
		change(`{"path":"repository.full_name"}`, `{"path":"a","prefix":"@"}`):                             "queue.prefix begins with '@', and with no whole tenant",
		change(`{"path":"repository.full_name"}`, `{"path":"a","prefix":"@acme"}`):                         "queue.prefix begins with '@', and with no whole tenant",
		change(`{"path":"repository.full_name"}`, `{"path":"a","prefix":"@/"}`):                            "queue.prefix begins with '@', and with no whole tenant",
		change(`{"path":"repository.full_name"}`, `{"path":"a","prefix":"@a b/"}`):                         "queue.prefix begins with '@', and with no whole tenant",
		change(`{"path":"repository.full_name"}`, `{"header":"X","prefix":"@ac\u2215/"}`):                  "queue.prefix begins with '@', and with no whole tenant",
		add(`"id":{"digest":1}`):               "id.digest must be true",
		add(`"id":{"digest":true,"path":"a"}`): "id.path stands beside another place",
		add(`"id":{"fixed":"a"}`):              "id.fixed is not known: there are path, header and digest",
		add(`"attributes":{"a":7}`):            "attributes.a must be a string",
		add(`"attributes":{"a":"X","b":"X","c":"X","d":"X","e":"X","f":"X","g":"X","h":"X","i":"X","j":"X","k":"X"}`): "attributes.k is one too many",
		strings.Replace(general(`{"header":"X"}`), `"id":{"digest":true},`, ``, 1):                                    "id is missing",
		general(`{"prefix":"x"}`):                                                                                           "signature has no header",
		general(`{"header":"X","encoding":"base32"}`):                                                                       "signature.encoding must be hex or base64",
		general(`{"header":"X","idHeader":"I"}`):                                                                            "signature must have both an idHeader and {id}",
		general(`{"header":"X","template":"{id}.{body}"}`):                                                                  "signature must have both an idHeader and {id}",
		general(`{"header":"X","idHeader":"I","template":"{id}{body}"}`):                                                    "no digit between",
		general(`{"header":"X","idHeader":"I","template":"{id}{id}{body}"}`):                                                "{timestamp} and {id} at most once",
		general(`{"header":"X","keyEncoding":"base32"}`):                                                                    `signature.keyEncoding is "base32": it must be text, base64 or hex`,
		change(`"scheme":"github"`, `"scheme":"token"`):                                                                     "signature is missing: the scheme token needs it",
		change(`"scheme":"github"`, `"scheme":"token","id":{"digest":true},"signature":{"header":"X","encoding":"base64"}`): "header and prefix alone",
		add(`"challenge":"meta"`):                                                                                           `challenge is "meta": it must be slack, cloudevents or hub`,
		add(`"challenge":"hub"`):                                                                                            "verifyToken must be given with the challenge hub",
		add(`"challenge":"slack","verifyToken":"arn:aws:ssm:eu-west-1:123456789012:parameter/s"`):                           "verifyToken must be given with the challenge hub",
		add(`"challenge":"hub","verifyToken":"it"`):                                                                         "verifyToken must be the whole ARN",
		general(`{"header":"X","timestampHeader":"T"}`):                                                                     "signature must have both a timestampHeader and {timestamp}",
		general(`{"header":"X","template":"{timestamp}.{body}"}`):                                                           "signature must have both a timestampHeader and {timestamp}",
		general(`{"header":"X","template":""}`):                                                                             "signature.template must have {body} once",
		general(`{"header":"X","template":"{body}{body}"}`):                                                                 "signature.template must have {body} once",
		general(`{"header":"X","template":"{bodies}"}`):                                                                     "signature.template has a '{'",
		general(`{"header":"X","template":"{body"}`):                                                                        "signature.template has a '{'",
		general(`{"header":"X","timestampHeader":"T","template":"{timestamp}{body}"}`):                                      "no digit between",
		general(`{"header":"X","timestampHeader":"T","template":"{timestamp}12{body}"}`):                                    "no digit between",
		general(`{"header":"X","prefix":"` + strings.Repeat("p", 65) + `"}`):                                                "signature.prefix must have at most 64 bytes",
		general(`{"header":"X","algorithm":"sha1"}`):                                                                        "signature.algorithm is not known",
	} {
		_, err := webhook.Read([]byte(`{"sources":[`+raw+`]}`), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nerror %v\nwant  %s", raw, err, want)
		}
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
	f.Add([]byte(`{"sources":[{"name":"s",` + slack + `,"secret":"arn:aws:ssm:eu-west-1:123456789012:parameter/s","queue":{"fixed":"q"}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := webhook.Read(text, func(string) (string, bool) { return "", false })
		for _, s := range all {
			if err == nil && (s.Name == "" || s.Secret == (secret.Reference{}) || s.MaxBody < 1) {
				t.Errorf("%q makes %+v", text, s)
			}
		}
	})
}
