//go:build whole

package localstack

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/localstack/gateway/gatewaytest"
	"github.com/streamsort/streamsort/localstack/template"
	"github.com/streamsort/streamsort/pkg/tenant"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// What the template with tenants asks of a token.
const (
	tenantsTemplate = "testdata/tenants.patch.json"
	tokenIssuer     = "https://tokens.example/pool"
	tokenAudience   = "shop"
	tokenClaim      = "custom:tenant"
	tokenScopes     = "streamsort/produce streamsort/operate"
)

// tenants is the stack with tenants, and who issues their tokens.
type tenants struct {
	*Stack
	t      *testing.T
	issuer *gatewaytest.Issuer
	url    string // of the tenants' API
}

func runTenants(t *testing.T, chaos Chaos) *tenants {
	t.Helper()
	issuer := gatewaytest.NewIssuer(t)
	keys := httptest.NewServer(issuer)
	t.Cleanup(keys.Close)
	s := run(t, Config{
		Templates: []string{tenantsTemplate, "../examples/receiver/receiver.template.json"},
		Env: map[string]string{"AckFunction.STREAMSORT_EVENT_BUS": "",
			"SweepFunction.STREAMSORT_EVENT_BUS": ""},
		Issuers: map[string]string{tokenIssuer: keys.URL}, Chaos: chaos,
	})
	for _, outputs := range s.Outputs() {
		if address := outputs["TenantApiUrl"]; address != "" {
			return &tenants{s, t, issuer, address}
		}
	}
	t.Fatalf("no TenantApiUrl in %v", s.Outputs())
	return nil
}

// token is one that a tenant's user has.
func (s *tenants) token(of any, scopes string) string {
	claims := map[string]any{"iss": tokenIssuer, "aud": tokenAudience, "sub": "ann", "scope": scopes}
	if of != nil {
		claims[tokenClaim] = of
	}
	return "Bearer " + s.issuer.Sign(claims)
}

// ask makes a request of the tenants' API, and returns the answer as it came.
func (s *tenants) ask(authorization, method, path, body string) (int, string) {
	s.t.Helper()
	return ask(s.t, method, s.url+path, body, map[string]string{
		"Content-Type": "application/json", "Authorization": authorization,
		"X-Tenant": "globex", "Custom-Tenant": "globex", // where a tenant is never read
	})
}

// must asks for what has to be answered with success.
func (s *tenants) must(token, method, path, body string) map[string]any {
	s.t.Helper()
	status, text := s.ask(token, method, path, body)
	answer := map[string]any{}
	err := json.Unmarshal([]byte(text), &answer)
	check.Need(s.t, err == nil && status < 300, "%s %s %s: %d %s", method, path, body, status, text)
	return answer
}

func (s *tenants) idle() { idle(s.t, s.Stack) }

// belongings are a tenant's own things that a request may name.
type belongings struct {
	token, edge, page string
	// next is of a list of queues with consumers that are paused.
	next string
	// worked is a tracked consumer of the tenant's, batch the edge of what was delivered to it.
	worked *tracker
	batch  xorack.Edge
}

// chain is how the tenant names the chain of its batch.
func (b belongings) chain() string {
	_, tag := tenant.Split(b.batch.Tag())
	return tag
}

// settle gives a tenant one of everything. Each of its ids is the word, or has it, and each of its
// other texts has the word and "-text".
func (s *tenants) settle(of, token, word string) belongings {
	s.t.Helper()
	text := word + "-text"
	put := func(body string) { s.must(token, "POST", "/messages", body) }
	put(fmt.Sprintf(`{"messages":[{"queue":"orders","seq":1,"id":"%[1]s-1","body":"%[2]s"},{"queue":"orders","seq":2,"body":"%[2]s","attributes":{"k":"%[2]s"}},`+
		`{"queue":"orders","seq":4,"body":"%[2]s"},{"queue":"%[2]s","seq":1,"body":"%[2]s"}]}`, word, text))
	put(fmt.Sprintf(`{"queue":"inbox","id":"%s-a","body":"%s"}`, word, text))
	put(`{"queue":"orders/7","seq":1,"body":"` + text + `"}`)
	s.must(token, "POST", "/consumers", `{"queue":"orders","consumer":"books"}`)
	s.must(token, "POST", "/consumers", `{"queue":"orders","consumer":"`+text+`"}`)
	for n := range 3 {
		s.must(token, "POST", "/operations", fmt.Sprintf(`{"action":"pause","queue":"orders","consumer":"%[2]s","reason":"%[2]s %[3]d","id":"%[1]s-%[3]d"}`, word, text, n))
	}
	pause := func(action string) {
		s.must(token, "POST", "/operations",
			fmt.Sprintf(`{"action":%q,"queue":"orders","consumer":"books","reason":%q}`, action, text))
	}
	pause("pause")
	next := s.must(token, "GET", "/consumers?state=paused&limit=1", "")
	pause("resume")
	s.must(token, "PUT", "/endpoints", fmt.Sprintf(`{"consumer":"books","queue":"orders","url":"https://example.com/%[1]s","paused":"%[1]s"}`, text))
	claim := s.must(token, "POST", "/claims", `{"queue":"orders","consumer":"books","request":"`+word+
		`","leaseSeconds":3600}`)
	chain := s.must(token, "POST", "/acks", `{"operation":"create","tag":"tree","id":"`+word+`"}`)
	put(`{"messages":[{"queue":"worked","seq":1,"body":"` + text +
		`"},{"queue":"worked","seq":2,"body":"` + text + `"}]}`)
	worked := newTracker(s.t, database(s.t, s.Stack), tenant.Name(of, "worked"))
	batch := worked.takes(time.Hour)
	s.must(token, "POST", "/acks", `{"operation":"create","tag":"stamps","stamp":"00ff"}`)
	s.idle()
	return belongings{claim["token"].(string), chain["edges"].([]any)[0].(string), word + "-1",
		next["next"].(string), worked, batch}
}

// operations are all that the tenants' API does: by its route, with the places of what a request
// names. A place that does not stand in one is not varied.
var operations = []struct{ route, query, body string }{
	{"POST /messages", "", `{"queue":"{queue}","seq":{n},"id":"i-{n}","body":{n}}`},
	{"POST /messages", "", `{"messages":[{"queue":"{queue}","seq":1,"body":"other"},{"queue":"{queue}","seq":3,"body":"fills"}]}`},
	{"POST /messages", "", `{"queue":"inbox","id":"{id}","body":"other"}`},
	{"POST /messages", "", `{"queue":"{queue}","id":"{id}","body":"other"}`},
	{"POST /messages", "queue=to.queue&seq=n", `{"to":{"queue":"{queue}"},"n":{n}}`},
	{"POST /messages", "queue=to.queue&seq=n", `[{"to":{"queue":"{queue}"},"n":1}]`},
	{"GET /messages", "queue={queue}", ""},
	{"GET /messages", "queue={queue}&after=0&to=9", ""},
	{"GET /queues", "queue={queue}", ""},
	{"PUT /queues", "", `{"queue":"{queue}","policy":"alert","maxAhead":7}`},
	{"GET /gaps", "queue={queue}&limit=5", ""},
	{"GET /queues", "prefix={queue}", ""},
	{"GET /queues", "state=gap&prefix={queue}", ""},
	{"GET /queues", "state=gap&limit=1&after={next}", ""},
	{"GET /consumers", "prefix={queue}", ""},
	{"GET /consumers", "limit=1&after={next}", ""},
	{"GET /consumers", "state=paused&prefix={queue}", ""},
	{"GET /consumers", "state=paused&consumer=books&limit=1&after={next}", ""},
	{"GET /consumers", "state=held&consumer=books", ""},
	{"GET /summary", "prefix={queue}", ""},
	{"GET /consumers", "queue={queue}", ""},
	{"GET /consumers", "queue={queue}&consumer=books", ""},
	{"GET /consumers", "queue={queue}&after={after}&limit=1", ""},
	{"POST /consumers", "", `{"queue":"{queue}","consumer":"made-{n}","start":"latest"}`},
	{"GET /operations", "queue={queue}", ""},
	{"GET /operations", "queue={queue}&after={after}", ""},
	{"PUT /endpoints", "", `{"consumer":"books","queue":"{queue}","url":"https://example.com/{n}"}`},
	{"PUT /endpoints", "", `{"consumer":"books","prefix":"{queue}/","url":"https://example.com/{n}","rotate":true}`},
	{"GET /endpoints", "", ""},
	{"GET /endpoints", "consumer=books&limit=1", ""},
	{"DELETE /endpoints", "consumer=books&queue={queue}", ""},
	{"GET /claims", "queue={queue}&consumer=books", ""},
	{"POST /claims", "", `{"queue":"{queue}","consumer":"books","request":"{id}"}`},
	{"POST /claims", "", `{"queue":"{queue}","consumer":"books","request":"r-{n}"}`},
	{"PATCH /claims", "", `{"action":"extend","queue":"{queue}","consumer":"books","token":"{token}","leaseSeconds":60}`},
	{"PATCH /claims", "", `{"action":"prepare","queue":"{queue}","consumer":"books","token":"{token}"}`},
	{"PATCH /claims", "", `{"action":"abort","queue":"{queue}","consumer":"books","token":"{token}","reason":"r"}`},
	{"PATCH /claims", "", `{"action":"settle","queue":"{queue}","consumer":"books","token":"{token}","outcome":"ABORTED","reason":"r"}`},
	{"PATCH /claims", "", `{"action":"commit","queue":"{queue}","consumer":"books","token":"{token}"}`},
	{"POST /operations", "", `{"action":"skip","queue":"{queue}","consumer":"books","reason":"r","seq":1,"id":"{id}"}`},
	{"POST /operations", "", `{"action":"redrive","queue":"{queue}","consumer":"books","reason":"r","seq":1}`},
	{"POST /operations", "", `{"action":"pause","queue":"{queue}","consumer":"books","reason":"r"}`},
	{"POST /operations", "", `{"action":"resume","queue":"{queue}","consumer":"books","reason":"r"}`},
	{"POST /operations", "", `{"action":"settle","queue":"{queue}","consumer":"books","reason":"r","token":"{token}","outcome":"COMMITTED"}`},
	{"POST /operations", "", `{"action":"release","queue":"{queue}","consumer":"books","reason":"r","token":"{token}"}`},
	{"POST /operations", "", `{"action":"rewind","queue":"{queue}","consumer":"books","reason":"r","start":"first"}`},
	{"POST /operations", "", `{"action":"restart-keys","queue":"{queue}","reason":"r"}`},
	{"POST /operations", "", `{"action":"remove","queue":"{queue}","consumer":"books","reason":"r"}`},
	{"DELETE /queues", "queue={queue}&dryRun=true", ""},
	{"DELETE /queues", "queue=gone/{queue}&reason=r", ""},
	{"GET /chains", "tag={tag}", ""},
	{"GET /chains", "state=open&prefix={tag}", ""},
	{"GET /chains", "state=open&limit=1&after={next}", ""},
	{"GET /chains", "state=failed", ""},
	{"GET /chains", "state=timed-out&prefix={tag}", ""},
	{"POST /acks", "", `{"operation":"outstanding","tag":"{tag}","tree":2}`},
	{"POST /messages", "queue=to&id=id", `{"to":"{queue}","id":"{id}","body":"other"}`},
	{"POST /acks", "", `{"operation":"create","tag":"{tag}","id":"{id}"}`},
	{"POST /acks", "", `{"operation":"create","tag":"new-{n}","parent":"{edge}"}`},
	{"POST /acks", "", `{"operation":"stamp","tag":"{tag}","stamp":"00ff"}`},
	{"POST /acks", "", `{"operation":"stamp","tag":"stamps","id":"{id}","stamp":"00ff"}`},
	{"POST /acks", "", `{"operation":"add","edge":"{edge}","batch":"{id}","children":2}`},
	{"POST /acks", "", `{"operation":"extend","edge":"{edge}","until":"2099-01-01T00:00:00Z"}`},
	{"POST /acks", "", `{"operation":"fan","edge":"{edge}","edges":100}`},
	{"POST /acks", "", `{"operations":[{"operation":"get","tag":"{tag}"},{"operation":"done","edge":"{edge}","children":1}]}`},
	{"POST /acks", "", `{"operation":"done","edge":"{edge}","children":["{id}"]}`},
	{"POST /acks", "", `{"operation":"fail","edge":"{edge}","reason":"r"}`},
	{"POST /acks", "", `{"operation":"get","tag":"{tag}"}`},
	{"POST /acks", "", `{"operation":"delete","tag":"{tag}"}`},
}

// TestTenants is the matrix of tenants and operations: whatever one tenant names, and whatever
// tokens it holds, nothing of another's is changed or shown.
func TestTenants(t *testing.T) {
	s := runTenants(t, Chaos{})
	s.allIsCovered()
	acme, globex := s.token("acme", tokenScopes), s.token("globex", tokenScopes)
	const secret = "globex-secret"
	own, theirs := s.settle("acme", acme, "acme-word"), s.settle("globex", globex, secret)
	before := s.stored("@globex/")
	check.Need(t, len(before) >= 15, "the other tenant has only %d items", len(before))

	variants := map[string][]string{
		"{queue}": {"orders", "inbox", "@globex/orders", "globex/orders", "/@globex/orders", "../@globex/orders", "orders/../../@globex/orders", "../globex/orders"},
		"{tag}":   {"tree", "@globex/tree", "globex/tree", "/@globex/tree", own.chain(), theirs.chain(), "@globex/" + theirs.chain()},
		"{token}": {own.token, theirs.token},
		"{edge}":  {own.edge, theirs.edge, own.batch.String(), theirs.batch.String()},
		"{after}": {"", theirs.page, "@globex/" + theirs.page},
		"{next}":  {"", own.next, theirs.next},
		"{id}":    {"own", secret, secret + "-1", secret + "-a", "@globex/" + secret + "-a"},
	}
	asked, n := 0, 100
	for _, o := range operations {
		method, path, _ := strings.Cut(o.route, " ")
		for _, named := range product(variants, o.query+o.body) {
			n++
			named["{n}"] = fmt.Sprint(n)
			query, body := o.query, o.body
			for place, value := range named {
				query, body = strings.ReplaceAll(query, place, url.QueryEscape(value)),
					strings.ReplaceAll(body, place, value)
			}
			status, text := s.ask(acme, method, path+"?"+query, body)
			asked++
			what := fmt.Sprintf("%s ?%s %s: %d %s", o.route, query, body, status, text)
			sent, _ := url.QueryUnescape(query)
			tells := strings.Contains(text, secret+"-text")
			for _, theirs := range []string{theirs.edge, theirs.batch.String()} {
				tells = tells || strings.Contains(text, theirs) && !strings.Contains(sent+body, theirs)
			}
			check.That(t, !tells, "shows another's: %s", what)
			switch {
			case status >= 500 || status == 401:
				t.Error(what)
			case slices.Contains([]string{theirs.edge, theirs.batch.String()}, named["{edge}"]):
				check.That(t, status == http.StatusForbidden && strings.Contains(text, "not-yours"), "%s", what)
			case status == http.StatusForbidden:
				t.Errorf("its own is refused: %s", what)
			}
		}
	}
	s.reply(acme, variants["{queue}"])
	s.idle()
	check.Is(t, cmp.Diff(before, s.stored("@globex/")), "")
	t.Logf("%d requests, %d items of the other tenant as they were, %d of the caller's", asked,
		len(before), len(s.stored("@acme/")))
	check.That(t, asked >= 300, "only %d requests were made", asked)
	s.ownNames(acme, globex)
	s.ownBatch(globex, theirs)
}

// ownBatch acknowledges the work of a tracked batch with its tenant's token, and of the next one as
// the stack's own functions do: each is committed.
func (s *tenants) ownBatch(token string, its belongings) {
	s.t.Helper()
	status := s.must(token, "GET", "/consumers?queue=worked&consumer=tracker", "")
	if text := fmt.Sprint(status); !strings.Contains(text, "chain:"+its.chain()) ||
		strings.Contains(text, "@globex") {
		s.t.Errorf("its consumer is %s, want the chain %s", text, its.chain())
	}
	chain := s.must(token, "GET", "/chains?tag="+url.QueryEscape(its.chain()), "")
	text := fmt.Sprint(chain)
	check.That(s.t, strings.Contains(text, "state:OPEN") &&
		strings.Contains(text, "tag:"+its.chain()), "its chain is %s", text)
	done := s.must(token, "POST", "/acks", fmt.Sprintf(`{"operation":"done","edge":%q}`, its.batch))
	check.Is(s.t, done["outcome"], "ended", done)
	its.worked.comes(1, "", func() {})
	check.Get(its.worked.acker.Done(s.t.Context(), its.worked.takes(time.Hour)))
	its.worked.comes(2, "", func() {})
}

// reply commits a claim for each queue, with replies to it.
func (s *tenants) reply(token string, queues []string) {
	s.t.Helper()
	s.must(token, "POST", "/consumers", `{"queue":"asked","consumer":"books"}`)
	for i, queue := range queues {
		s.must(token, "POST", "/messages", fmt.Sprintf(`{"queue":"asked","seq":%d,"body":1}`, i+1))
		claim := s.must(token, "POST", "/claims",
			fmt.Sprintf(`{"queue":"asked","consumer":"books","request":"r-%d"}`, i))
		held := fmt.Sprintf(`"queue":"asked","consumer":"books","token":%q`, claim["token"])
		s.must(token, "PATCH", "/claims", `{"action":"prepare",`+held+`}`)
		replies := fmt.Sprintf(`{"queue":%q,"seq":3,"id":"globex-secret-1","body":4}`, queue)
		if queue == "inbox" {
			replies = `{"queue":"inbox","id":"globex-secret-a","body":4}`
		}
		done := s.must(token, "PATCH", "/claims", `{"action":"commit",`+held+`,"replies":[`+replies+`]}`)
		check.Is(s.t, done["outcome"], "OK", queue, done)
	}
}

// product is every choice of a value for each place that a text has.
func product(variants map[string][]string, text string) []map[string]string {
	all := []map[string]string{{}}
	for _, place := range slices.Sorted(maps.Keys(variants)) {
		if !strings.Contains(text, place) {
			continue
		}
		var longer []map[string]string
		for _, chosen := range all {
			for _, value := range variants[place] {
				one := maps.Clone(chosen)
				one[place] = value
				longer = append(longer, one)
			}
		}
		all = longer
	}
	return all
}

// stored are all items of all tables whose key begins with a tenant's name, without when the sweep
// notified consumers that lag, which it does as time passes.
func (s *tenants) stored(prefix string) map[string]string {
	s.t.Helper()
	client := database(s.t, s.Stack)
	items := map[string]string{}
	for _, l := range s.templates {
		for _, table := range l.Tables {
			pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &table.Name})
			for pages.HasMorePages() {
				page, err := pages.NextPage(s.t.Context())
				check.OK(s.t, err)
				for _, item := range page.Items {
					name := fmt.Sprint(item[table.Partition.Name])
					delete(item, "notify")
					whole := check.Get(json.Marshal(item))
					sort := check.Get(json.Marshal(item[table.Sort.Name]))
					if strings.Contains(name, "{"+prefix) ||
						strings.Contains(name, "{endpoints "+strings.Trim(prefix, "@/")) {
						items[fmt.Sprintf("%s %s %s", table.LogicalID, name, sort)] = string(whole)
					}
				}
			}
		}
	}
	return items
}

// ownNames looks at what a tenant is answered of its own, and operators of all.
func (s *tenants) ownNames(acme, globex string) {
	s.t.Helper()
	for path, want := range map[string]string{
		"/messages?queue=orders&after=0": `"id":"globex-secret-1"`,
		"/queues?queue=orders%2F7":       `"queue":"orders/7"`,
		"/operations?queue=orders":       `"queue":"orders"`,
		"/chains?tag=tree":               `"tag":"tree"`,
		"/consumers?queue=orders":        `"consumer":"books"`,
	} {
		status, text := s.ask(globex, "GET", path, "")
		check.That(s.t, status == 200 && strings.Contains(text, want) &&
			!strings.Contains(text, "@globex"), "%s: %d %s, want %s", path, status, text, want)
	}
	// To one who is not it, another's queue is as one that is not there.
	for _, queue := range []string{"globex-secret-text", "never"} {
		status, text := s.ask(acme, "GET", "/queues?queue="+queue, "")
		check.That(s.t, status == 404 && strings.Contains(text, "no-queue"), "%s: %d %s", queue, status,
			text)
	}
	status, queue := fetch[map[string]any](s.t, "GET", s.URL()+"/queues?queue=@globex/orders", "")
	check.That(s.t, status == 200 && queue["queue"] == "@globex/orders" && queue["position"] == 2.0,
		"an operator is answered %d %v", status, queue)
	long := strings.Repeat("q", 1019)
	status, text := s.ask(acme, "GET", "/queues?queue="+long, "")
	check.That(s.t, status == 400 && strings.Contains(text, "1018"), "%d %.300s", status, text)
}

// TestTenantsComeIn: nobody is let in by a token that is not good, or that names no tenant.
func TestTenantsComeIn(t *testing.T) {
	s := runTenants(t, Chaos{})
	other := gatewaytest.NewIssuer(t)
	forged := "Bearer " +
		other.Sign(map[string]any{"iss": tokenIssuer, "aud": tokenAudience, tokenClaim: "globex"})
	s.must(s.token("globex", tokenScopes), "POST", "/messages", `{"queue":"orders","seq":1,"body":1}`)
	for name, c := range map[string]struct {
		authorization, method, path, body string
		status                            int
		want                              string
	}{
		"good":                 {s.token("globex", ""), "GET", "/queues?queue=orders", "", 200, `"queue":"orders"`},
		"no token":             {"", "GET", "/queues?queue=orders", "", 401, "Unauthorized"},
		"signed":               {"AWS4-HMAC-SHA256 Credential=AKID/20261121/us-east-1/execute-api/aws4_request", "GET", "/queues?queue=orders", "", 401, "Unauthorized"},
		"forged":               {forged, "GET", "/queues?queue=orders", "", 401, "Unauthorized"},
		"no claim":             {s.token(nil, ""), "GET", "/queues?queue=orders", "", 403, "no-tenant"},
		"an empty claim":       {s.token("", ""), "GET", "/queues?queue=orders", "", 403, "no-tenant"},
		"a list":               {s.token([]string{"globex"}, ""), "GET", "/queues?queue=orders", "", 403, "no-tenant"},
		"two":                  {s.token([]string{"globex", "acme"}, ""), "GET", "/queues?queue=orders", "", 403, "no-tenant"},
		"a number is a text":   {s.token(7, ""), "GET", "/queues?queue=orders", "", 404, "no-queue"},
		"a name in it":         {s.token("globex/orders", ""), "GET", "/queues?queue=orders", "", 403, "no-tenant"},
		"its stored name":      {s.token("@globex/", ""), "GET", "/queues?queue=orders", "", 403, "no-tenant"},
		"other letters":        {s.token("GLOBEX", ""), "GET", "/queues?queue=orders", "", 404, "no-queue"},
		"a part of it":         {s.token("globe", ""), "GET", "/queues?queue=x/orders", "", 404, "no-queue"},
		"no scope to produce":  {s.token("globex", ""), "POST", "/messages", `{"queue":"orders","seq":2,"body":1}`, 403, "Forbidden"},
		"no scope to operate":  {s.token("globex", "streamsort/produce"), "PUT", "/queues", `{"queue":"orders"}`, 403, "Forbidden"},
		"a scope to produce":   {s.token("globex", "streamsort/produce"), "POST", "/messages", `{"queue":"orders","seq":2,"body":1}`, 200, "advanced"},
		"a scope to operate":   {s.token("globex", "streamsort/operate"), "PUT", "/queues", `{"queue":"orders"}`, 200, `"queue":"orders"`},
		"nothing there":        {s.token("globex", tokenScopes), "DELETE", "/messages", ``, 404, ""},
		"an operation by body": {s.token("globex", tokenScopes), "POST", "/messages", `{"operation":"status","queue":"@globex/orders"}`, 400, "operation"},
	} {
		status, text := s.ask(c.authorization, c.method, c.path, c.body)
		check.That(t, status == c.status && strings.Contains(text, c.want), "%s: %d %s, want %d %s",
			name, status, text, c.status, c.want)
	}
	// The first API is the account's own, tenants or not.
	status, queue := fetch[map[string]any](t, "GET", s.URL()+"/queues?queue=@globex/orders", "")
	check.Is(t, status, 200, queue)
}

// allIsCovered compares the matrix with what there is: the template's routes, and the operations
// that the functions themselves list.
func (s *tenants) allIsCovered() {
	s.t.Helper()
	text := check.Get(template.ReadFile(tenantsTemplate))
	var document struct {
		Resources map[string]struct{ Properties struct{ RouteKey string } }
	}
	check.OK(s.t, json.Unmarshal(text, &document))
	covered, bodies := map[string]bool{}, ""
	for _, o := range operations {
		covered[o.route] = true
		bodies += o.route + " " + o.body + "\n"
	}
	for id, r := range document.Resources {
		key := r.Properties.RouteKey
		check.That(s.t, !strings.HasPrefix(id, "Tenant") || key == "" || covered[key], "%s", key)
	}
	token := s.token("acme", tokenScopes)
	for route, member := range map[string]string{"POST /acks": "operation",
		"POST /operations": "action", "PATCH /claims": "action"} {
		method, path, _ := strings.Cut(route, " ")
		_, answer := s.ask(token, method, path, `{"`+member+`":"nothing"}`)
		_, list, _ := strings.Cut(answer, member+" must be ")
		list, _, _ = strings.Cut(list, ": it is")
		names := regexp.MustCompile(`[a-z-]+`).FindAllString(strings.ReplaceAll(list, " or ", " "), -1)
		check.That(s.t, len(names) >= 3, "%s: no list of %ss in %s", route, member, answer)
		for _, name := range names {
			check.That(s.t,
				regexp.MustCompile(regexp.QuoteMeta(route)+` .*"`+member+`":"`+name+`"`).MatchString(bodies),
				"the matrix has no %s of %s", name, route)
		}
	}
}

// canary stands in every payload of [TestNoPayloadInLogs], and in the tokens.
const canary = "canary-7f3a91-of-the-payload"

// forms are the canary as it would stand in a log: as it is, in hexadecimal digits, and in base64
// wherever it begins.
func forms() []string {
	all := []string{canary, hex.EncodeToString([]byte(canary)),
		strings.ToUpper(hex.EncodeToString([]byte(canary)))}
	for before := range 3 {
		coded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + canary))
		all = append(all, coded[4:len(coded)-4])
	}
	return all
}

// TestNoPayloadInLogs sends a canary through every function, by every kind of request, good and
// bad, while processes are killed and batches come twice, and reads all that was logged.
func TestNoPayloadInLogs(t *testing.T) {
	seen := map[string][]string{} // by the functions' logical ids
	runs := map[string]Chaos{"calm": {}, "chaos": {Seed: 3, Kill: 0.2, Duplicate: 0.3}}
	for name, chaos := range runs {
		t.Run(name, func(t *testing.T) {
			s := runTenants(t, chaos)
			t.Cleanup(s.Subscribe(func(l Line) { seen[l.LogicalID] = append(seen[l.LogicalID], l.Text) }))
			s.sing()
			s.idle()
		})
	}
	total := 0
	for _, function := range []string{"Enqueue", "Sort", "Sweep", "Process",
		"Delivery", "Ack", "Receiver"} {
		logged := seen[function+"Function"]
		total += len(logged)
		check.That(t, len(logged) != 0, "%s %v", function, slices.Sorted(maps.Keys(seen)))
		for _, line := range logged {
			for _, form := range forms() {
				check.That(t, !strings.Contains(line, form), "%s: %.500s", function, line)
			}
		}
	}
	t.Logf("%d lines", total)
}

// sing sends the canary. What processes that are killed do not answer is sent again.
func (s *tenants) sing() {
	token := s.token("acme", tokenScopes+" "+canary)
	ask := func(method, path, body string) string {
		s.t.Helper()
		for range 50 {
			if status, text := s.ask(token, method, path, body); status < 500 {
				return text
			}
		}
		s.t.Fatalf("%s %s is never answered", method, path)
		return ""
	}
	field := func(answer, name string) string {
		_, rest, _ := strings.Cut(answer, `"`+name+`":"`)
		value, _, _ := strings.Cut(rest, `"`)
		return value
	}
	body := `"body":{"secret":"` + canary + `"}`
	coded := base64.StdEncoding.EncodeToString([]byte(canary))

	// Taken, or refused for each of its reasons.
	for seq := 1; seq <= 12; seq++ {
		ask("POST", "/messages",
			fmt.Sprintf(`{"queue":"orders","seq":%d,%s,"attributes":{"k":%q}}`, seq, body, canary))
	}
	for _, request := range []struct{ query, body string }{
		{"", `{"queue":"orders","seq":1,` + body + `}`},                                     // another message: conflict
		{"", `{"queue":"orders","seq":99999999,` + body + `}`},                              // full
		{"", `{"queue":"orders","seq":50,` + body + `}`},                                    // parked
		{"", `{"queue":"orders","seq":51,"bodyBase64":"` + coded + `"}`},                    // bytes
		{"", `{"queue":"orders","seq":52,"bodyBase64":"` + coded + `!"}`},                   // no base64
		{"", `{"queue":"inbox","id":"a",` + body + `}`},                                     // arrival
		{"", `{"queue":"inbox","id":"a","body":"` + canary + `"}`},                          // another one under its id
		{"", `{"queue":"inbox","seq":1,` + body + `}`},                                      // of the other kind
		{"", `{"queue":"orders","seq":"x",` + body + `}`},                                   // no seq
		{"", `{"queue":"orders",` + body + `}`},                                             // neither seq nor id
		{"", `{"queue":"orders","seq":53,` + body + `,"more":"` + canary + `"}`},            // too many fields
		{"", `{"queue":"orders","seq":53,` + body + `,"contentType":7}`},                    // a wrong type
		{"", `{"messages":[{"queue":"orders","seq":1,` + body + `},{` + body + `}]}`},       // one of two
		{"", `{"queue":"orders","seq":54,` + body},                                          // cut off
		{"", `{"queue":"orders","seq":54,"body":"` + canary + "\xff" + `"}`},                // no UTF-8
		{"", `{"queue":"orders","seq":55,"body":"` + strings.Repeat(canary, 15_000) + `"}`}, // too large
		{"queue=q&seq=n", `{"q":"raw","n":1,"secret":"` + canary + `"}`},
		{"queue=q&seq=n", `{"q":{"` + canary + `":1},"n":1}`},
		{"queue=secret.x&seq=n", `{"secret":"` + canary + `","n":1}`},
	} {
		ask("POST", "/messages?"+request.query, request.body)
	}
	for _, event := range []string{`{"queue":"direct","seq":1,` + body + `}`, `{"operation":"` +
		canary + `"}`, `"` + canary + `"`, `[` + canary, `{"requestContext":"` + canary + `"}`} {
		for _, function := range []string{"EnqueueFunction", "DeliveryFunction", "AckFunction"} {
			_, _ = s.Invoke(s.t.Context(), function, []byte(event)) // whatever becomes of it
		}
	}

	// Read, claimed, replied to, failed.
	ask("GET", "/messages?queue=orders&after=0", "")
	ask("POST", "/consumers", `{"queue":"orders","consumer":"books"}`)
	claim := ask("POST", "/claims",
		`{"queue":"orders","consumer":"books","request":"r","maxMessages":2}`)
	held := fmt.Sprintf(`"queue":"orders","consumer":"books","token":%q`, field(claim, "token"))
	ask("PATCH", "/claims", `{"action":"prepare",`+held+`}`)
	ask("PATCH", "/claims", `{"action":"commit",`+held+`,"replies":[{"queue":"replies","seq":1,`+body+
		`},{"queue":"inbox","seq":1,`+body+`}]}`)
	ask("PATCH", "/claims", `{"action":"commit",`+held+
		`,"replies":[{"queue":"replies","seq":1,`+body+`}]}`)
	ask("PATCH", "/claims", `{"action":"commit",`+held+`,"replies":[{`+body+`}]}`)

	// Chains.
	edge := field(strings.Replace(ask("POST", "/acks",
		`{"operation":"create","tag":"tree","deadline":"1s"}`), `["`, `"`, 1), "edges")
	ask("POST", "/acks", `{"operation":"done","edge":"`+edge+`","children":["`+canary+`"]}`)
	ask("POST", "/acks", `{"operation":"done","edge":"`+canary+`"}`)
	ask("POST", "/acks", `{"operation":"stamp","tag":"stamps","stamp":"`+
		hex.EncodeToString([]byte(canary))+`"}`)
	ask("POST", "/acks", `{"operation":"get","tag":"tree","more":"`+canary+`"}`)

	// What is due in a second: the gap, and then the chain.
	ask("PUT", "/queues", `{"queue":"orders","policy":"skip","gapAfter":"1s"}`)
	sweep := func() {
		check.Get(s.Trigger(s.t.Context(), "SweepSchedule"))
	}
	await.True(s.t, "the end of the chain", func() bool {
		sweep()
		return strings.Contains(ask("GET", "/chains?tag=tree", ""), `"endedAt"`)
	})
	sweep()
}
