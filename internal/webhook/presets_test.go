package webhook_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

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
	all, err := webhook.Read([]byte(`{"sources":[{"name":"n","preset":"`+name+`","secret":"arn:aws:ssm:eu-west-1:123456789012:parameter/s"`+more+`}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// messages are what a source makes of an event; headers are "Name: value" each.
func messages(s webhook.Source, body string, headers ...string) ([]cursor.Keyed, error) {
	r := &httpapi.Request{Body: []byte(body), Headers: map[string]string{"content-type": "application/json"}}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Headers[strings.ToLower(name)] = value
	}
	s.Signature.Read(r.Headers, received)
	return s.Messages(r, received)
}

// keyText is a message's key as readers get it; by receipt, "received" and what follows it.
func keyText(m cursor.Keyed) (string, error) {
	if m.Key == nil {
		return "none", nil
	}
	key, err := m.KeyType.Key(m.Key...)
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

// TestPresets: events of each sender, by its name alone. Real ones of GitHub are in
// payloads_whole_test.go; these are made by what the senders' pages say.
func TestPresets(t *testing.T) {
	hub := []string{"X-GitHub-Delivery: d", "X-GitHub-Hook-ID: 7", "X-GitHub-Event: e"}
	const repository = `"repository":{"full_name":"o/r","updated_at":"2019-01-01T00:00:00Z","pushed_at":"2019-01-02T00:00:00Z"}`
	for _, c := range []struct {
		preset, body string
		headers      []string
		want         string
	}{
		{"github", `{"zen":"z","hook_id":7,` + repository + `}`, hub, "n/o/r d/7 [received,5] event=e"},
		{"github", `{"zen":"z","organization":{"login":"o"}}`, hub, "n/o d/7 [received,5] event=e"},
		{"github", `{"action":"created","installation":{"account":{"login":"a"},"updated_at":1557933591}}`, hub, "n/a d/7 [received,1] event=e"},
		{"github", `{"action":"published"}`, hub[:1], "n/other d/hook [received,5]"},
		{"github", `{"action":"opened","issue":{"updated_at":"2026-01-01T00:00:00Z"},` + repository + `}`, hub, `n/o/r d/7 ["2026-01-01T00:00:00Z",0] event=e`},
		{"github", `{"action":"created","issue":{"updated_at":"2026-01-01T00:00:00Z"},"comment":{"updated_at":"2026-01-01T00:00:01Z"},` + repository + `}`, hub, `n/o/r d/7 ["2026-01-01T00:00:01Z",1] event=e`},
		{"github", `{"action":"deleted","comment":{"updated_at":"2026-01-01T00:00:01Z"},` + repository + `}`, hub, `n/o/r d/7 [received,8] event=e`},
		{"github", `{"action":"in_progress","workflow_job":{"started_at":"2026-01-01T00:00:00Z","completed_at":null,"status":"in_progress"},"deployment":{"updated_at":"2020-01-01T00:00:00Z"},` + repository + `}`, hub, `n/o/r d/7 ["2026-01-01T00:00:00Z",5] event=e`},
		{"github", `{"action":"waiting","workflow_job":{"started_at":"2026-01-01T00:00:00Z","completed_at":null,"status":"waiting"},"deployment":{"updated_at":"2020-01-01T00:00:00Z"},` + repository + `}`, hub, `n/o/r d/7 [received,5] event=e`},
		{"github", `{"action":"created","deployment_status":{"updated_at":"2026-01-01T00:00:02Z"},"deployment":{"updated_at":"2026-01-01T00:00:00Z"},"check_run":{"started_at":"2025-01-01T00:00:00Z"},` + repository + `}`, hub, `n/o/r d/7 ["2026-01-01T00:00:02Z",1] event=e`},
		{"github", `{"action":"rerequested","check_run":{"completed_at":"2025-01-01T00:00:00Z"},` + repository + `}`, hub, `n/o/r d/7 [received,5] event=e`},
		{"github", `{"action":"approved","workflow_run":{"updated_at":"2025-01-01T00:00:00Z"},` + repository + `}`, hub, `n/o/r d/7 [received,5] event=e`},
		{"github", `{"action":"resolved","thread":{},"pull_request":{"updated_at":"2025-01-01T00:00:00Z"},` + repository + `}`, hub, `n/o/r d/7 [received,5] event=e`},

		{"stripe", `{"id":"evt_1","type":"customer.subscription.created","created":1767323045,"account":null}`, nil, `n/own evt_1 ["2026-01-02T03:04:05Z",0]`},
		{"stripe", `{"id":"evt_2","type":"charge.updated","created":1767323045,"account":"acct_1"}`, nil, `n/acct_1 evt_2 ["2026-01-02T03:04:05Z",1]`},
		{"stripe", `{"id":"evt_3","type":"v1.account.deleted","created":"2026-01-02T03:04:05.5Z","context":"acct_2"}`, nil, `n/acct_2 evt_3 ["2026-01-02T03:04:05.5Z",2]`},

		{"shopify", `{"id":1,"updated_at":"2020-01-01T00:00:00Z"}`, []string{"X-Shopify-Webhook-Id: w", "X-Shopify-Shop-Domain: a.myshopify.com", "X-Shopify-Triggered-At: 2026-01-02T03:04:05.123456789Z", "X-Shopify-Topic: orders/create"}, `n/a.myshopify.com w ["2026-01-02T03:04:05.123456789Z",0] topic=orders/create`},
		{"shopify", `{"id":1}`, []string{"Shopify-Webhook-Id: w", "Shopify-Shop-Domain: a.myshopify.com", "Shopify-Triggered-At: 2026-01-02T03:04:05Z", "Shopify-Topic: orders/delete"}, `n/a.myshopify.com w ["2026-01-02T03:04:05Z",2] topic=orders/delete`},
		{"shopify", `{"topic":"Product","action":"create","handle":"all"}`, []string{"Shopify-Webhook-Id: w", "Shopify-Shop-Domain: a.myshopify.com", "Shopify-Topic: Product"}, `n/a.myshopify.com w [received,0] topic=Product`},

		{"slack", `{"type":"event_callback","team_id":"T1","event_id":"Ev1","event_time":1746515289,"event":{"type":"message","channel":"C1","event_ts":"1746515289.000200"}}`, nil, `n/T1 Ev1 "2025-05-06T07:08:09.0002Z"`},
		{"slack", `{"type":"event_callback","team_id":"T1","event_id":"Ev2","event_time":1746515289,"event":{"type":"channel_created","channel":{"id":"C1"}}}`, nil, `n/T1 Ev2 "2025-05-06T07:08:09Z"`},
		{"slack", `{"token":"t","type":"app_rate_limited","team_id":"T1","minute_rate_limited":1518467820,"api_app_id":"A1"}`, nil, `n/T1 digest "2018-02-12T20:37:00Z"`},

		{"sendgrid", `[{"email":"a@example.com","timestamp":1513299569,"event":"processed","sg_event_id":"a"},{"email":"a@example.com","timestamp":1513299569,"event":"delivered","sg_event_id":"b"},{"email":"a@example.com","timestamp":1513299569,"event":"open"}]`, nil, `n a ["2017-12-15T00:59:29Z",0]; n b ["2017-12-15T00:59:29Z",2]; n digest ["2017-12-15T00:59:29Z",3]`},

		{"clerk", `{"data":{"id":"user_1","created_at":1654012591514},"object":"event","type":"user.created","timestamp":1654012591835}`, []string{"svix-id: msg_1"}, `n msg_1 ["2022-05-31T15:56:31.835Z",0]`},
		{"resend", `{"type":"email.sent","created_at":"2024-02-22T23:41:12.126Z","data":{"created_at":"2024-02-22 23:41:11.894719+00"}}`, []string{"svix-id: msg_2"}, `n msg_2 ["2024-02-22T23:41:12.126Z",1]`},
		{"standard", `{"type":"user.deleted","timestamp":"2022-11-03T20:26:10.344522Z","data":{}}`, []string{"webhook-id: msg_3"}, `n msg_3 ["2022-11-03T20:26:10.344522Z",2]`},
		{"standard", `{"test":1}`, []string{"webhook-id: msg_4"}, `n msg_4 [received,1]`},

		{"linear", `{"action":"create","type":"Issue","createdAt":"2020-01-23T12:53:18.084Z","organizationId":"o","webhookTimestamp":1676056940508,"data":{"updatedAt":"2019-01-01T00:00:00Z"}}`, []string{"Linear-Delivery: l"}, `n/o l ["2020-01-23T12:53:18.084Z",0]`},
		{"linear", `{"action":"revoked","type":"OAuthApp","webhookTimestamp":1676056940508}`, []string{"Linear-Delivery: l"}, `n/other l [received,1]`},

		{"adyen", `{"live":"false","notificationItems":[{"NotificationRequestItem":{"eventCode":"AUTHORISATION","eventDate":"2019-06-28T18:03:50+01:00","merchantAccountCode":"Shop","pspReference":"7914","success":"true"}}]}`, nil, `n/Shop 7914/AUTHORISATION/true received`},

		{"meta", `{"object":"whatsapp_business_account","entry":[{"id":"w","changes":[{"field":"messages","value":{"messages":[{"id":"wamid.1","timestamp":"1746515289"}]}}]},{"id":"w","changes":[{"field":"messages","value":{"statuses":[{"id":"wamid.1","status":"read","timestamp":"1746515290"}]}}]}]}`, nil, `n/w digest "2025-05-06T07:08:09Z" object=whatsapp_business_account; n/w digest "2025-05-06T07:08:10Z" object=whatsapp_business_account`},
		{"meta", `{"object":"page","entry":[{"id":"p","time":1746515289999,"messaging":[{"timestamp":1746515289123}]},{"id":"p","time":1746515291,"changes":[{"field":"name","value":"new"}]},{"id":0,"time":null}]}`, nil, `n/p digest "2025-05-06T07:08:09.123Z" object=page; n/p digest "2025-05-06T07:08:11Z" object=page; n/0 digest received object=page`},

		{"gitlab", `{"object_kind":"merge_request","project":{"path_with_namespace":"g/p"},"object_attributes":{"action":"open","updated_at":"2013-12-03 17:23:34 UTC"}}`, []string{"Idempotency-Key: k", "X-Gitlab-Event-UUID: u"}, `n/g/p k ["2013-12-03T17:23:34Z",0]`},
		{"gitlab", `{"object_kind":"pipeline","project":{"path_with_namespace":"g/p"},"object_attributes":{"status":"success","created_at":"2016-08-12 15:23:28 UTC","finished_at":"2016-08-12 15:26:29 UTC"}}`, []string{"X-Gitlab-Event-UUID: u"}, `n/g/p u ["2016-08-12T15:26:29Z",5]`},
		{"gitlab", `{"object_kind":"pipeline","project":{"path_with_namespace":"g/p"},"object_attributes":{"status":"pending","created_at":"2016-08-12 15:23:28 UTC","finished_at":null}}`, nil, `n/g/p digest [received,3]`},
		{"gitlab", `{"object_kind":"build","project_id":380,"build_status":"running","build_started_at":"2021-02-23T02:41:37.886Z","build_finished_at":null}`, nil, `n/380 digest ["2021-02-23T02:41:37.886Z",4]`},
		{"gitlab", `{"object_kind":"push","project":{"path_with_namespace":"g/p"},"commits":[{"timestamp":"2012-01-03T23:36:29+02:00"}]}`, nil, `n/g/p digest [received,5]`},
		{"gitlab", `{"object_kind":"deployment","project":{"path_with_namespace":"g/p"},"status":"success","status_changed_at":"2021-04-28 21:50:00 +0200"}`, nil, `n/g/p digest ["2021-04-28T19:50:00Z",5]`},

		{"jira", `{"timestamp":1525698237764,"webhookEvent":"jira:issue_created","issue":{"fields":{"project":{"key":"P"}}}}`, []string{"X-Atlassian-Webhook-Identifier: j"}, `n/P j ["2018-05-07T13:03:57.764Z",0]`},
		{"jira", `{"webhookEvent":"jira:version_deleted"}`, []string{"X-Atlassian-Webhook-Identifier: j"}, `n/other j [received,2]`},
	} {
		if got := became(preset(t, c.preset), c.body, c.headers...); got != c.want {
			t.Errorf("%s %s\ngot  %s\nwant %s", c.preset, c.body, got, c.want)
		}
	}
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
		if got := became(all[0], event); got != want {
			t.Errorf("%s: %s, want %s", members, got, want)
		}
	}
}

// TestThePageHasThePresets: each has a row, whose names are in its paths; and the file that the page
// shows is read.
func TestThePageHasThePresets(t *testing.T) {
	text, err := os.ReadFile("../../infra/cdk/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(string(text), "## Signed webhooks\n")
	_, file, _ := strings.Cut(page, "```json\n")
	file, _, _ = strings.Cut(file, "```")
	if sources, err := webhook.Read([]byte(file), nil); err != nil || len(sources) != 4 {
		t.Errorf("the page's file: %v", err)
	}
	_, table, _ := strings.Cut(page, "| `preset` | `queue` | `id` | `key` |\n|---|---|---|---|\n")
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
					if !strings.Contains(paths, path) {
						t.Errorf("%s: %s is none of %s", name, path, paths)
					}
				}
			}
		}
	}
	if len(texts) > 0 {
		t.Errorf("the page has no row of %v", slices.Sorted(maps.Keys(texts)))
	}
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
		if !slices.Equal(sorted, pushes) {
			t.Fatalf("sorted as\n%s", strings.Join(sorted, "\n"))
		}
	}
}

// sortKey is what the message of GitHub's event sorts by.
func sortKey(t *testing.T, s webhook.Source, body string) string {
	t.Helper()
	all, err := messages(s, body, "X-GitHub-Delivery: d")
	if err != nil {
		t.Fatal(err)
	}
	key, err := all[0].KeyType.Key(all[0].Key...)
	if err != nil {
		t.Fatal(err)
	}
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
				if err == nil && (m.ID == "" || m.Queue != "n" && !strings.HasPrefix(m.Queue, "n/") || len(m.Key) == 0) {
					t.Errorf("%q makes %+v", body, m)
				}
			}
		}
	})
}
