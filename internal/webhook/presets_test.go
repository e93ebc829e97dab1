package webhook_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/mapping"
	"github.com/streamsort/streamsort/internal/webhook"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// received is when the events of these tests come.
var received = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// preset is a source of a sender's name, and of nothing else but what its kind needs.
func preset(t testing.TB, name string) webhook.Source {
	t.Helper()
	more := ""
	if name == "meta" {
		more = `,"verifyToken":"arn:aws:ssm:eu-west-1:123456789012:parameter/t"`
	}
	all := check.Get(webhook.Read([]byte(`{"sources":[{"name":"n","preset":"`+name+`","secret":"arn:aws:ssm:eu-west-1:123456789012:parameter/s"`+more+`}]}`), nil))
	return all[0]
}

// messages are what a source makes of an event; headers are "Name: value" each.
func messages(s webhook.Source, body string, headers ...string) ([]cursor.Message, error) {
	r := &httpapi.Request{Body: []byte(body), Headers: map[string]string{"content-type": "application/json"}}
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
		all, err := webhook.Read([]byte(`{"sources":[{"name":"s","preset":"stripe","secret":"arn:aws:ssm:eu-west-1:123456789012:parameter/s"`+members+`}]}`), nil)
		if err != nil {
			t.Errorf("%s: %v", members, err)
			continue
		}
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
	sources, err := webhook.Read([]byte(file), nil)
	check.That(t, err == nil && len(sources) == 2, "the page's file: %v", err)
	events := check.Get(os.ReadFile("../../docs/reference/events.md"))
	_, table, _ := strings.Cut(string(events), "| `preset` | `queue` | `id` | `key` |\n|---|---|---|---|\n")
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
			for i, paths := range []string{of.Queue + "'" + name + "'", of.ID, of.Key + fmt.Sprint(of.Attributes)} {
				for _, path := range quoted(cells[2+i]) {
					check.That(t, strings.Contains(paths, path), "%s: %s is not one of %s", name, path, paths)
				}
			}
		}
	}
	check.That(t, len(texts) == 0, "the page has no row of %v", slices.Sorted(maps.Keys(texts)))
}

// quoted are the texts in backquotes of a line.
func quoted(cell string) (names []string) {
	for i, part := range strings.Split(cell, "`") {
		if i%2 == 1 {
			names = append(names, part)
		}
	}
	return names
}

// TestPushes: a branch that is made, pushed to by force onto an older commit, and deleted, and a second
// branch on the same commit, sort as they were made, whatever their commits say; two of one second too.
func TestPushes(t *testing.T) {
	push := func(ref string, at int, flags, commit string) string {
		return fmt.Sprintf(`{"ref":"refs/heads/%s",%s,"head_commit":%s,"pusher":{"name":"p"},"repository":{"full_name":"o/r","pushed_at":%d,"updated_at":"2020-01-01T00:00:00Z"}}`, ref, flags, commit, at)
	}
	const made, forced, deleted = `"created":true,"deleted":false`, `"created":false,"deleted":false,"forced":true`, `"created":false,"deleted":true`
	const commit, older = `{"timestamp":"2026-01-01T00:00:00Z"}`, `{"timestamp":"2025-01-01T00:00:00Z"}`
	pushes := []string{
		push("a", 1767323045, made, commit), push("b", 1767323046, made, commit), push("a", 1767323047, forced, older),
		push("b", 1767323048, deleted, "null"), push("c", 1767323049, made, commit), push("c", 1767323049, forced, older), push("c", 1767323049, deleted, "null"),
	}
	s := preset(t, "github")
	sorted := slices.Clone(pushes)
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		random.Shuffle(len(sorted), func(i, j int) { sorted[i], sorted[j] = sorted[j], sorted[i] })
		slices.SortFunc(sorted, func(a, b string) int { return strings.Compare(sortKey(t, s, a), sortKey(t, s, b)) })
		check.Need(t, slices.Equal(sorted, pushes), "sorted as\n%s", strings.Join(sorted, "\n"))
	}
}

// sortKey is what the message of GitHub's event sorts by.
func sortKey(t *testing.T, s webhook.Source, body string) string {
	t.Helper()
	all := check.Get(messages(s, body, "X-GitHub-Delivery: d"))
	key := check.Get(all[0].KeyType.Key(all[0].KeyParts...))
	return string(key)
}

// FuzzPresets: whatever is signed, a sender names queues of its own alone, and each message has an id and a
// key that queues take.
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
			for _, name := range []string{"X-GitHub-Delivery", "Idempotency-Key", "X-Shopify-Webhook-Id", "X-Shopify-Shop-Domain", "X-Shopify-Triggered-At", "Webhook-Id", "Linear-Delivery", "X-Atlassian-Webhook-Identifier"} {
				headers = append(headers, name+": "+header)
			}
			made, err := messages(s, string(body), headers...)
			for _, m := range made {
				if err == nil && (m.ID == "" || m.Queue != "n" && !strings.HasPrefix(m.Queue, "n/") || len(m.KeyParts) == 0) {
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
