//go:build whole

package localstack

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/localstack/template"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// unrecorded are statements that the recorder sees no call of, each with its reason: by action and
// resource, or by the whole use.
var unrecorded = map[string]string{
	"logs":                                 "Lambda writes a function's log under its role",
	"xray":                                 "Lambda sends traces under the function's role",
	"sqs:SendMessage on FailureQueue":      "the event source mapping sends what it gives up on under the function's role",
	"sqs:DeleteMessage on TimerQueue":      ofTimerMapping,
	"sqs:GetQueueAttributes on TimerQueue": ofTimerMapping,
	"sqs:ReceiveMessage on TimerQueue":     ofTimerMapping,
	"AckFunction: dynamodb:PutItem on table/streamsort-chains":      "create replaces a chain that is over and has expired, days later, where DynamoDB has not deleted it yet: the tests of pkg/xorack do",
	"ProcessFunction: dynamodb:PutItem on table/streamsort-trouble": ofTrouble,
	"ProcessFunction: dynamodb:GetItem on table/streamsort-trouble": ofTrouble,
	"dynamodb:UpdateItem on table/streamsort-arrivals":              "pushes the expiry of messages forward that are days old: the tests of pkg/cursor do",
}

const ofTrouble = "notes a message that fails for an hour, or is gone: the tests of pkg/delivery do"

const ofTimerMapping = "the event source mapping reads the queue under the function's role"

// sometimes tells that it depends on races whether a function comes to it here: each that stores
// due times, or meets them, may send wake-ups; and the function that ends a tracked batch may be
// the one that notes what its consumer takes, and the one that finishes a claim whose replies were
// on their way that they wait no more.
func sometimes(u use) bool {
	if u.action == "dynamodb:PutItem" && u.resource == "table/streamsort-consumers" {
		return u.function == "AckFunction" || u.function == "SweepFunction"
	}
	if u.action == "dynamodb:DeleteItem" && u.resource == "table/streamsort-trouble" {
		return u.function == "ProcessFunction" || u.function == "SweepFunction"
	}
	return u.action == "sqs:SendMessage" && u.resource == "TimerQueue" &&
		u.function != "EnqueueFunction" && u.function != "AckFunction"
}

// TestLeastPrivilege runs every function, notes what they call, and compares that with the roles of
// the template that the soak deploys, which has a sink of each kind: nothing that is called is
// missing, and nothing that is allowed is unneeded.
func TestLeastPrivilege(t *testing.T) {
	const path = "../verify/robust/soak/streamsort.patch.json"
	text := check.Get(template.ReadFile(path))
	may := allowed(t, text)
	functions := map[string]bool{}
	for u := range may {
		functions[u.function] = true
	}
	tables, services, functionsAPI := recordTables(t), newRecorder(t), newRecorder(t)
	env := map[string]string{"SweepFunction.STREAMSORT_FULL_SWEEP_EVERY": "30s"}
	for function := range functions {
		env[function+".AWS_ACCESS_KEY_ID"] = function
		env[function+".AWS_ENDPOINT_URL"] = services.URL
		env[function+".AWS_ENDPOINT_URL_LAMBDA"] = functionsAPI.URL
		env[function+".AWS_ENDPOINT_URL_SQS"] = functionsAPI.URL
	}
	s := run(t, Config{Templates: []string{path, onlySinks(t)}, Env: env, Server: tables.URL})
	functionsAPI.forward(t, s.URL())
	services.forward(t, s.services.Endpoint)
	everything(t, s, tables)

	used := recorded(tables, services, functionsAPI)
	for u := range used {
		check.That(t, may[u], "called, and not allowed: %s", u)
		check.Is(t, reason(u), "", u)
	}
	for u := range may {
		check.That(t, used[u] || reason(u) != "" || sometimes(u), "allowed, and never called: %s", u)
	}
	check.That(t, len(used) >= 30, "%d %v", len(used), slices.Collect(maps.Keys(used)))
}

// answers has consumers answer: one that process pushes to, one that pulls, and one whose process
// died.
func answers(t *testing.T, consumers *delivery.Store,
	call func(method, path, body string) map[string]any) {
	t.Helper()
	const replies = `[{"queue":"%[1]s","body":1},{"queue":"%[1]s-numbered","seq":1,"body":1},{"queue":"orders","seq":1,"body":"another"}]`
	text := check.Get(json.Marshal(fmt.Sprintf(replies, "pushed-answers")))
	call("POST", "/messages",
		fmt.Sprintf(`{"queue":"questions","seq":1,"body":1,"attributes":{"replies":%s}}`, text))

	call("POST", "/consumers", `{"queue":"orders","consumer":"puller"}`)
	claim := call("POST", "/claims",
		`{"queue":"orders","consumer":"puller","request":"r1","maxMessages":1}`)
	on := func(action, more string) {
		t.Helper()
		a := call("PATCH", "/claims",
			fmt.Sprintf(`{"action":%q,"queue":"orders","consumer":"puller","token":%q%s}`, action,
				claim["token"], more))
		check.That(t, a["outcome"] == "OK", "%s: %v", action, a)
	}
	on("prepare", "")
	on("commit", `,"replies":`+fmt.Sprintf(replies, "pulled-answers"))

	call("POST", "/consumers", `{"queue":"orders","consumer":"died"}`)
	c := check.Get(consumers.Requests(request.Inside{}).Consumer(t.Context(), "orders", "died"))
	past := time.Now().Add(-time.Minute)
	c, mine, err := consumers.Requests(request.Inside{}).Claim(t.Context(),
		c, request.Claim{Req: "r1", To: 1, Now: past, LeaseUntil: past})
	if err == nil && mine {
		outbox := new(delivery.Consumer).Outbox[:1]
		outbox[0].Queue = "pulled-answers"
		_, mine, err = consumers.Requests(request.Inside{}).Decide(t.Context(),
			delivery.Held{Queue: "orders", Consumer: "died", Token: c.Token}, outbox)
	}
	check.Need(t, err == nil && mine, "%v, %v", mine, err)
}

// reason is why a use is not recorded, empty where it must be.
func reason(u use) string {
	service, _, _ := strings.Cut(u.action, ":")
	for _, key := range []string{service, u.action + " on " + u.resource, u.String()} {
		if why := unrecorded[key]; why != "" {
			return why
		}
	}
	if strings.HasSuffix(u.resource, "/StreamArn") {
		return "the event source mapping reads the stream under the function's role"
	}
	return ""
}

// onlySinks is the template of the soak's sinks without the function that reads the cursors' stream
// beside process: it would do part of process's work.
func onlySinks(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../verify/robust/soak/sinks.template.json")
	check.OK(t, err)
	var document map[string]any
	check.OK(t, json.Unmarshal(text, &document))
	maps.DeleteFunc(document["Resources"].(map[string]any), func(id string, _ any) bool {
		return strings.HasPrefix(id, "Webhooks")
	})
	text, err = json.Marshal(document)
	check.Need(t, err == nil, "%v", err)
	// Within the module, where its function's source is found.
	check.OK(t, os.MkdirAll("../.build", 0o755))
	folder := check.Get(os.MkdirTemp("../.build", "privilege-"))
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	path := filepath.Join(folder, "sinks.template.json")
	check.OK(t, os.WriteFile(path, text, 0o644))
	return path
}

// everything has the functions do all that they can, with the tables.
func everything(t *testing.T, s *Stack, tables *recorder) {
	t.Helper()
	call := caller(t, s)
	put := func(queue string, seq int) {
		t.Helper()
		call("POST", "/messages", fmt.Sprintf(`{"queue":%q,"seq":%d,"body":%d}`, queue, seq, seq))
	}
	sweep := func() { sweep(t, s) }
	idle := func() { idle(t, s) }

	// enqueue
	put("orders", 1)
	put("orders", 3)
	put("orders", 2)
	put("orders", 1) // again
	call("GET", "/messages?queue=orders&after=0", "")
	call("GET", "/queues?queue=orders", "")
	call("GET", "/queues", "")
	call("GET", "/queues?state=gap", "")
	call("PUT", "/queues", `{"queue":"orders","policy":"alert"}`)
	call("PUT", "/queues", `{"queue":"waits","policy":"alert","gapAfter":"1h"}`)
	put("waits", 2)

	// sort: a message whose writer died, in a queue without a cursor; sweep: a gap that is skipped,
	// with a message behind it that is about to expire.
	client := database(t, s)
	store, sorter := sorterOf(t, s, nil)
	dead := func(queue string, seq int64, expires time.Duration) {
		t.Helper()
		now := time.Now()
		check.Get(store.Requests(queuelog.Inside{}).PutMessage(t.Context(), cursor.Message{
			Queue: queue, Seq: seq, Body: []byte(`1`), Digest: make([]byte, 16), Op: make([]byte, 8),
			EnqueuedAt: now, ExpiresOn: now.Add(expires),
		}))
	}
	dead("dead", 1, time.Hour)
	call("PUT", "/queues", `{"queue":"gaps","policy":"skip","gapAfter":"1s"}`)
	dead("gaps", 3, time.Hour)
	call("PUT", "/queues", `{"queue":"waits"}`)
	dead("waits", 3, time.Hour)
	idle()

	// process: a queue that has been quiet for long has its first consumers.
	past := time.Now().Add(-time.Hour)
	check.Get(store.Requests(queuelog.Inside{}).CreateCursor(t.Context(), cursor.Cursor{
		Queue: "quiet", Settings: cursor.DefaultSettings(), Position: 1, Announced: -1, MovedAt: past,
	}))
	dead("quiet", 1, time.Hour)
	check.OK(t, store.Requests(queuelog.Inside{}).Notify(t.Context(), "quiet", past))
	idle()

	// sweep: somebody died who was making a consumer.
	consumers := delivery.NewDynamo(client, delivery.Names{})
	_, _, err := consumers.Requests(request.Inside{}).CreateConsumer(t.Context(),
		delivery.Consumer{Queue: "orders", Name: "begun", State: delivery.Idle,
			Control: delivery.Control{Starting: "somebody", LastOp: "somebody"}})
	check.Need(t, err == nil, "%v", err)

	// delivery
	call("POST", "/consumers", `{"queue":"orders","consumer":"operated"}`)
	call("POST", "/consumers", `{"queue":"new","consumer":"operated"}`)
	// A queue that no consumer has, whose message is about to expire. Process may be there first.
	tries := 0
	await.True(t, "delivery to keep a message", func() bool {
		tries++
		queue := fmt.Sprintf("expiring-%d", tries)
		check.Get(store.Requests(queuelog.Inside{}).CreateCursor(t.Context(), cursor.Cursor{
			Queue: queue, Settings: cursor.DefaultSettings(), Position: 1, Announced: -1, MovedAt: past,
		}))
		dead(queue, 1, time.Hour)
		call("POST", "/consumers", fmt.Sprintf(`{"queue":%q,"consumer":"operated"}`, queue))
		return tables.has(use{"DeliveryFunction", "dynamodb:UpdateItem", "table/streamsort-messages"})
	})
	call("GET", "/consumers?queue=orders", "")
	for i, op := range []string{`"action":"pause"`, `"action":"resume"`,
		`"action":"rewind","start":"first"`, `"action":"remove"`} {
		call("POST", "/operations",
			fmt.Sprintf(`{%s,"queue":"orders","consumer":"operated","reason":"trial","id":"op-%d"}`, op, i))
	}
	call("GET", "/operations?queue=orders", "")
	call("GET", "/consumers?state=paused", "")

	// Arrival order: put, read, delivered, waited for.
	call("POST", "/messages", `{"queue":"arrived","id":"a","body":1}`)
	call("GET", "/messages?queue=arrived&after=0", "")
	idle()
	call("POST", "/operations",
		`{"action":"pause","queue":"arrived","consumer":"receiver","reason":"trial"}`)
	call("POST", "/messages", `{"queue":"arrived","id":"b","body":2}`)
	idle()
	call("GET", "/consumers?queue=arrived&consumer=receiver", "")

	keyedQueues(t, sorter, call)
	idle()

	answers(t, consumers, call)
	idle()

	erases(t, store, dead, call, idle)
	idle()

	// ack
	call("POST", "/acks", `{"operation":"create","tag":"job","deadline":"1s"}`)
	call("GET", "/chains?tag=job", "")
	call("GET", "/chains?state=open", "")
	broken := call("POST", "/acks", `{"operation":"create","tag":"broken"}`)["edges"].([]any)
	call("POST", "/acks", fmt.Sprintf(`{"operation":"fail","edge":%q,"reason":"trial"}`, broken[0]))
	await.True(t, "the chain that failed to be listed", func() bool {
		return len(call("GET", "/chains?state=failed", "")["list"].([]any)) == 1
	})
	call("POST", "/acks", `{"operation":"create","tag":"stamped","id":"1","stamp":"01"}`)
	call("POST", "/acks", `{"operation":"delete","tag":"stamped"}`)
	trackedDelivery(t, client, put, sweep)

	// Gaps are due by the end of the chain; the second sweep announces what became of what the
	// first one announced.
	await.True(t, "the end of what is due", func() bool {
		sweep()
		return call("GET", "/chains?tag=job", "")["chain"].(map[string]any)["endedAt"] != nil
	})
	sweep()
	sweep()
	idle()
}

// keyedQueues has messages sorted by their keys, at once and by the timer: so many that the cursor
// hands order items on; they are read, and delivered.
func keyedQueues(t *testing.T, sorter *cursor.Sorter,
	call func(method, path, body string) map[string]any) {
	t.Helper()
	kind, keyType := cursor.KindKeyed, sortkey.KeyType("number")
	for queue, settle := range map[string]time.Duration{"keyed": 0, "keyed-later": time.Second} {
		check.Get(sorter.Configure(t.Context(), queue,
			cursor.Change{Kind: &kind, KeyType: &keyType, Settle: &settle}))
		var group []cursor.Message
		for n := range 2 * queuelog.OrderItemEntries {
			group = append(group, cursor.Message{KeyParts: []any{n}, Queue: queue, ID: fmt.Sprint(n),
				Body: []byte("1")})
		}
		check.OK(t, sorter.Put(t.Context(), group...)[0].Err)
		await.True(t, queue+" to be settled", func() bool {
			it, err := sorter.Status(t.Context(), queue)
			return err == nil && it.Position >= int64(len(group))
		})
	}
	call("GET", "/messages?queue=keyed&after=0", "")
}

// erases has queues erased: by delivery, by the sweep, and by sort what comes late.
func erases(t *testing.T, store *cursor.Store, dead func(string, int64, time.Duration),
	call func(method, path, body string) map[string]any, idle func()) {
	t.Helper()
	for _, queue := range []string{"bin", "swept"} {
		call("POST", "/messages", fmt.Sprintf(`{"queue":%q,"seq":1,"body":1}`, queue))
		call("POST", "/consumers", fmt.Sprintf(`{"queue":%q,"consumer":"binned"}`, queue))
		call("POST", "/messages", fmt.Sprintf(`{"queue":"%s-arrived","id":"a","body":1}`, queue))
	}
	idle() // so that sort has seen what the sweep is to delete
	for _, queue := range []string{"bin", "bin-arrived"} {
		call("DELETE", "/queues?queue="+queue+"&dryRun=true", "")
		call("DELETE", "/queues?queue="+queue+"&reason=trial", "")
	}
	call("DELETE", "/queues?tenant=nobody&reason=trial", "")
	dead("bin", 2, time.Hour)
	for _, queue := range []string{"swept", "swept-arrived"} {
		_, err := store.Requests(queuelog.Inside{}).MarkErased(t.Context(), queue, "op",
			time.Now().Add(-2*cursor.EraseGrace))
		check.Need(t, err == nil, "%v", err)
	}
}
