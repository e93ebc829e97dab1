//go:build whole

package localstack

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/localstack/template"
)

// Secrets of the senders. The canary must be in no log.
const (
	oldSecret = "canary, the old secret of the sender"
	newSecret = "canary, the new secret of the sender"
)

// delivery is one that GitHub makes.
type hook struct {
	id    string
	body  []byte
	queue string // where it is to be found
}

// deliveries are GitHub's own examples, where they are there, and some that look like them
// otherwise.
func deliveries(t *testing.T) []hook {
	t.Helper()
	var all []hook
	add := func(body []byte) {
		var event struct {
			Repository struct {
				FullName string `json:"full_name"`
			}
		}
		check.OK(t, json.Unmarshal(body, &event))
		queue := "github/other"
		if event.Repository.FullName != "" {
			queue = "github/" + event.Repository.FullName
		}
		all = append(all, hook{fmt.Sprintf("72d3162e-%04d", len(all)), body, queue})
	}
	text, err := os.ReadFile("../../shared/data/github-webhooks.ndjson")
	if err != nil {
		t.Log("GitHub's examples are not here; sending others")
		for i := range 100 {
			add(fmt.Appendf(nil, `{"action":"canary","n":%d , "repository":{"full_name":"o/r%d"}}`, i, i%7))
		}
		return all
	}
	for raw := range bytes.Lines(text) {
		var line struct{ Body json.RawMessage }
		check.OK(t, json.Unmarshal(raw, &line))
		add(line.Body)
	}
	check.Need(t, len(all) != 0, "the file is empty")
	return all
}

func mac(secret string, parts ...string) []byte {
	sum := hmac.New(sha256.New, []byte(secret))
	for _, part := range parts {
		sum.Write([]byte(part))
	}
	return sum.Sum(nil)
}

// sender sends signed requests to a stack.
type sender struct {
	t *testing.T
	s *Stack
}

// send is the status and the outcome of a request.
func (w sender) send(source string, body []byte, headers map[string]string) (int, string) {
	w.t.Helper()
	headers["Content-Type"] = "application/json"
	status, text := ask(w.t, http.MethodPost, w.s.URL()+"/webhooks/"+source, string(body), headers)
	var answer struct{ Outcome, Type string }
	_ = json.Unmarshal([]byte(text), &answer) // one that is no JSON says nothing
	return status, answer.Outcome +
		strings.TrimPrefix(answer.Type, "https://streamsort.dev/problems/")
}

// github sends a delivery as GitHub does, with a body that may be another than the one that is
// signed.
func (w sender) github(secret string, d hook, sent []byte) (int, string) {
	w.t.Helper()
	return w.send("github", sent, map[string]string{
		"X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac(secret, string(d.body))),
		"X-GitHub-Delivery":   d.id, "X-GitHub-Event": "test",
	})
}

func (w sender) want(what string, status int, said string, wantStatus int, want string) {
	w.t.Helper()
	check.Need(w.t, status == wantStatus && said == want, "%s: %d %s", what, status, said)
}

// stored are the ids and bodies of a queue, in order.
func (w sender) stored(queue string) (all []string) {
	w.t.Helper()
	type page struct {
		Last, Position int64
		Messages       []struct {
			ID         string
			Body       json.RawMessage
			BodyBase64 []byte
		}
	}
	for after := int64(0); ; {
		status, p := fetch[page](w.t, "GET", fmt.Sprintf("%s/messages?limit=1000&after=%d&queue=%s",
			w.s.URL(), after, url.QueryEscape(queue)), "")
		check.Need(w.t, status == 200, "queue %s: %d", queue, status)
		for _, m := range p.Messages {
			all = append(all, m.ID+" "+string(m.Body)+string(m.BodyBase64))
		}
		if after = p.Last; after == p.Position {
			return all
		}
	}
}

// consumer is a function in Python, which logs where each message of GitHub came.
func consumer(t *testing.T) Consumer {
	t.Helper()
	path := filepath.Join(t.TempDir(), "consumer.py")
	check.OK(t, os.WriteFile(path, []byte(`
def handler(batch, context):
    for message in batch["messages"]:
        print("got", batch["queue"], message["seq"], message["id"])
`), 0o600))
	c := check.Get(ParseConsumer("hooks=" + path))
	c.Prefix = "github/"
	return c
}

// TestWebhooks sends GitHub's examples under real signatures to the stack with its secrets in a
// real store: each is accepted once, in order, through a rotation, and delivered to a function of
// the user's; each with one flipped bit is refused. Other senders, too. Nothing that the function
// was not allowed was called, and nothing that it was allowed was not.
func TestWebhooks(t *testing.T) {
	const path = "testdata/webhooks.patch.json"
	tables, services := recordTables(t), newRecorder(t)
	// The secrets of a template beside it: what is easiest on one machine.
	s := run(t, Config{Templates: []string{path, "testdata/secrets.template.json"}, Server: tables.URL,
		Consumers: []Consumer{consumer(t)},
		Env: map[string]string{
			"WebhookFunction.AWS_ACCESS_KEY_ID": "WebhookFunction", "WebhookFunction.AWS_ENDPOINT_URL": services.URL,
		}})
	services.forward(t, s.services.Endpoint)
	var logs strings.Builder
	var mu sync.Mutex
	t.Cleanup(s.Subscribe(func(l Line) {
		mu.Lock()
		defer mu.Unlock()
		logs.WriteString(l.Text + "\n")
	}))
	w := sender{t, s}
	status, said := w.ledger("a", 2)
	w.want("no secret in the store", status, said, 503, "unavailable")
	w.keep("ledger", oldSecret)
	secret := map[string]string{"Name": "stripe-Ab12Cd", "SecretString": `["` + oldSecret + `"]`}
	check.OK(t, s.services.JSON(t.Context(), "secretsmanager", "secretsmanager.CreateSecret", secret,
		&struct{}{}))
	await.True(t, "the secret to be asked for again", func() bool {
		status, _ := w.ledger("a", 2)
		return status == 202
	})

	all := deliveries(t)
	w.rotate(all)
	w.others()

	logged := func() string {
		mu.Lock()
		defer mu.Unlock()
		return logs.String()
	}
	want := map[string][]string{}
	for _, d := range all {
		want[d.queue] = append(want[d.queue], d.id+" "+string(d.body))
	}
	for queue := range want {
		check.Is(t, cmp.Diff(want[queue], w.stored(queue)), "", queue)
		await.True(t, "the queue to be delivered", func() bool {
			return len(gotten(logged(), queue)) >= len(want[queue])
		})
		for i, got := range gotten(logged(), queue) {
			id, _, _ := strings.Cut(want[queue][i], " ")
			check.Is(t, got, fmt.Sprintf("%d %s", i+1, id), queue)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for _, text := range []string{"canary", "full_name"} {
		check.That(t, !strings.Contains(logs.String(), text), "%q is in the log", text)
	}
	for _, text := range []string{"refused", "answered", "the secrets cannot be had",
		"WebhooksAccepted", "WebhooksRefused"} {
		check.That(t, strings.Contains(logs.String(), text), "%q is not in the log", text)
	}
	checkPrivileges(t, path, tables, services)
}

// gotten are the seqs and ids of a queue's messages, as the consumer logged them first: a batch may
// be delivered again.
func gotten(log, queue string) (all []string) {
	for line := range strings.Lines(log) {
		message, ok := strings.CutPrefix(strings.TrimSpace(line), "got "+queue+" ")
		if ok && !slices.Contains(all, message) {
			all = append(all, message)
		}
	}
	return all
}

// keep puts a value into the parameter of a sender.
func (w sender) keep(name, value string) {
	w.t.Helper()
	input := map[string]any{"Name": "/webhooks/" + name, "Value": value, "Type": "SecureString",
		"Overwrite": true}
	err := w.s.services.JSON(w.t.Context(), "ssm", "AmazonSSM.PutParameter", input, &struct{}{})
	check.Need(w.t, err == nil, "%v", err)
}

// rotate sends all deliveries, and has the sender's secret changed in the middle.
func (w sender) rotate(all []hook) {
	w.t.Helper()
	secret, began := oldSecret, time.Now()
	for i, d := range all {
		if i == len(all)/2 {
			// First the store, then, when it is known, the sender: as docs/how-to/webhooks-in.md says.
			w.keep("github", `["`+newSecret+`","`+oldSecret+`"]`)
			probe := hook{"probe", []byte(`{"repository":{"full_name":"probe"}}`), ""}
			await.True(w.t, "the new secret to be taken up", func() bool {
				status, said := w.github(oldSecret, probe, probe.body)
				check.Need(w.t, status == 200, "the old secret beside the new one: %d %s", status, said)
				status, _ = w.github(newSecret, probe, probe.body)
				return status == 200
			})
			secret = newSecret
		}
		flipped := slices.Clone(d.body)
		flipped[i%len(flipped)] ^= 1 << (i % 8)
		status, said := w.github(secret, d, flipped)
		w.want(fmt.Sprintf("delivery %d with a flipped bit", i), status, said, 401, "not-signed")
		status, said = w.github(secret, d, d.body)
		w.want(fmt.Sprintf("delivery %d", i), status, said, 200, "advanced")
		if i%10 == 0 {
			status, said = w.github(secret, d, d.body)
			w.want(fmt.Sprintf("delivery %d again", i), status, said, 200, "duplicate")
		}
	}
	w.t.Logf("%d deliveries, each once refused, in %.1fs", len(all), time.Since(began).Seconds())
}

// others sends what Stripe and a sender of numbered events would.
func (w sender) others() {
	w.t.Helper()
	const event = `{"id":"evt_1", "object":"event"}`
	stripe := func(at time.Time) (int, string) {
		seconds := strconv.FormatInt(at.Unix(), 10)
		return w.send("stripe", []byte(event), map[string]string{
			"Stripe-Signature": "t=" + seconds + ",v1=" + strings.Repeat("0", 64) + ",v1=" + hex.EncodeToString(mac(oldSecret, seconds, ".", event)),
		})
	}
	status, said := stripe(time.Now())
	w.want("stripe", status, said, 200, "advanced")
	status, said = stripe(time.Now().Add(-6 * time.Minute))
	w.want("stripe, six minutes old", status, said, 401, "not-signed")
	if got := w.stored("stripe"); !slices.Equal(got, []string{"evt_1 " + event}) {
		w.t.Errorf("stripe: %q", got)
	}

	ledger := func(account string, number int, wantStatus int, want string) {
		w.t.Helper()
		status, said := w.ledger(account, number)
		w.want(fmt.Sprintf("entry %d", number), status, said, wantStatus, want)
	}
	ledger("a", 1, 200, "advanced")
	ledger("a", 1, 200, "duplicate")
	if status, answer := fetch[map[string]any](w.t, "PUT", w.s.URL()+"/queues",
		`{"queue":"ledger/b","kind":"arrival"}`); status != 200 {
		w.t.Errorf("%d %v", status, answer)
	}
	ledger("b", 2, 409, "ahead")
	ledger("b", 1, 200, "advanced")
	ledger("b", 1, 200, "duplicate")
	got := w.stored("ledger/a")
	check.That(w.t, len(got) == 2 && strings.HasPrefix(got[0], "e-1 "), "ledger: %q", got)
}

// ledger sends an entry as the sender of numbered events does.
func (w sender) ledger(account string, number int) (int, string) {
	w.t.Helper()
	body := fmt.Sprintf(`{"id":"e-%d","account":%q,"number":%d}`, number, account, number)
	at := strconv.FormatInt(time.Now().Unix(), 10)
	return w.send("ledger", []byte(body), map[string]string{
		"X-Signature": "v0=" + hex.EncodeToString(mac(oldSecret, "v0:", at, ":", body)), "X-Timestamp": at,
	})
}

// checkPrivileges compares what webhook called with what its role allows.
func checkPrivileges(t *testing.T, path string, recorders ...*recorder) {
	t.Helper()
	text := check.Get(template.ReadFile(path))
	const function = "WebhookFunction"
	may, used := allowed(t, text), recorded(recorders...)
	for u := range used {
		check.That(t, u.function == function && may[u], "called, and not allowed: %s", u)
	}
	for u := range may {
		check.That(t, u.function != function || used[u] || reason(u) != "" || sometimes(u), "%s", u)
	}
	checkQueues(t, text, recorders...)
	check.That(t, len(used) >= 10, "%d %v", len(used), slices.Collect(maps.Keys(used)))
}

// checkQueues looks that webhook named no queue but those that its role may.
func checkQueues(t *testing.T, text []byte, recorders ...*recorder) {
	t.Helper()
	var document struct {
		Resources struct {
			WebhookPolicy struct {
				Properties struct {
					PolicyDocument struct {
						Statement []struct {
							Condition map[string]map[string]any
						}
					}
				}
			}
		}
	}
	check.OK(t, json.Unmarshal(text, &document))
	var patterns []any
	for _, statement := range document.Resources.WebhookPolicy.Properties.PolicyDocument.Statement {
		if like := statement.Condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]; like != nil {
			patterns = many(like)
		}
	}
	named := 0
	for _, r := range recorders {
		r.mu.Lock()
		defer r.mu.Unlock()
		for queue := range r.queues {
			named++
			check.That(t, slices.ContainsFunc(patterns, func(p any) bool {
				prefix, isPrefix := strings.CutSuffix(p.(string), "*")
				return queue == prefix || isPrefix && strings.HasPrefix(queue, prefix)
			}), "named the queue %q, and may name %v alone", queue, patterns)
		}
	}
	check.That(t, named >= 5 && len(patterns) == 3, "%d queues were named, %v may be", named, patterns)
}
