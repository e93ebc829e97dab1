package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/internal/runtime/runtimetest"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/stamps"
)

func init() { slog.SetDefault(slog.New(slog.DiscardHandler)) }

// server is the handler on a table in memory, with a client that holds every answer to the
// contract.
type server struct {
	*httpapitest.Client
	t         *testing.T
	table     *ddb.Memory
	store     *xorack.Store
	handle    httpapitest.Handler
	announced []string
	refuse    error
	logs      bytes.Buffer
	now       time.Time
}

// inMemory is a chains' table in memory, and the Store on it.
func inMemory(t *testing.T) (*ddb.Memory, *xorack.Store) {
	t.Helper()
	table := ddb.NewMemory(xorack.Names{}.Tables()...)
	store := xorack.NewStore(table, xorack.Names{})
	return table, store
}

// tagsIn are the tags of all chains of such a table.
func tagsIn(table *ddb.Memory) []string {
	var tags []string
	for _, it := range table.Items(xorack.Names{}.Tables()[0].Name) {
		tags = append(tags, it.Get("tag").Str())
	}
	return tags
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{t: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	clock := func() time.Time { return s.now }
	options := &xorack.Options{Now: clock}
	s.table, s.store = inMemory(t)
	acker := check.Get(xorack.New(s.store, options))
	announce := func(_ context.Context, c xorack.Chain) error {
		s.announced = append(s.announced, c.Tag+" "+string(c.End()))
		return s.refuse
	}
	service := &service{acker: acker, stamper: stamps.New(acker), announce: announce, now: clock}
	s.handle = runtime.Around(&s.logs, runtime.Headroom, service.handler())
	s.Client = httpapitest.New(t, s.handle)
	return s
}

func (s *server) ack(operation, members string) httpapitest.Answer {
	s.t.Helper()
	if members != "" {
		members = "," + members
	}
	return s.Request("POST", "/acks", "", fmt.Sprintf(`{"operation":%q%s}`, operation, members))
}

// done ends an edge, with more in the document.
func (s *server) done(edge any, more string) httpapitest.Answer {
	s.t.Helper()
	return s.ack("done", fmt.Sprintf(`"edge":%q`, edge)+more)
}

func (s *server) edges(a httpapitest.Answer) []string {
	s.t.Helper()
	var document struct{ Edges []string }
	err := json.Unmarshal([]byte(a.Body), &document)
	check.Need(s.t, err == nil && len(document.Edges) != 0, "no edges in %s: %v", a.Body, err)
	return document.Edges
}

// TestNoTokensOfWhatWasNotStarted: a worker that gets an edge passes work on.
func TestNoTokensOfWhatWasNotStarted(t *testing.T) {
	s := newServer(t)
	root := s.edges(s.ack("create", `"tag":"t","edges":2`))[0]
	s.edges(s.done(root, `,"children":2`))
	for name, c := range map[string]struct{ document, problem string }{
		"more children": {`{"operation":"done","edge":%q,"children":3}`, "other-children"},
		"names":         {`{"operation":"done","edge":%q,"children":["a"]}`, "other-children"},
		"a fan":         {`{"operation":"fan","edge":%q,"edges":3}`, "other-children"},
		"a wide fan":    {`{"operation":"fan","edge":%q,"edges":300}`, "other-children"},
		"an add":        {`{"operation":"add","edge":%q,"batch":"b","children":1}`, "ended"},
	} {
		t.Run(name, func(t *testing.T) {
			document := fmt.Sprintf(c.document, root)
			alone := s.Request("POST", "/acks", "", document)
			s.Want("alone", alone, map[string]int{"other-children": 409, "ended": 410}[c.problem],
				"problems/"+c.problem)
			batch := s.Request("POST", "/acks", "", `{"operations":[`+document+`]}`)
			s.Want("in a batch", batch, 200, "problems/"+c.problem)
			for _, a := range []httpapitest.Answer{alone, batch} {
				check.That(t, !strings.Contains(a.Body, `"edges":[`), "answers tokens: %s", a.Body)
			}
		})
	}
	s.Want("unchanged", s.ack("get", `"tag":"t"`), 200, `"edges":4,"edgesEnded":1`)
	s.Want("the same", s.done(root, `,"children":2`), 200, `"outcome":"applied"`, `"edges":[`)
	s.ack("delete", `"tag":"t"`)
	a := s.Request("POST", "/acks", "", `{"operations":[{"operation":"create","tag":"t","edges":2}]}`)
	check.That(t, !strings.Contains(a.Body, `"edges":[`), "a chain that has ended: %s", a.Body)
}

func TestOutstanding(t *testing.T) {
	s := newServer(t)
	root := s.edges(s.ack("create", `"tag":"t"`))[0]
	files := s.edges(s.done(root, `,"children":2`))
	words := s.edges(s.done(files[1], `,"children":["a","b"]`))
	s.done(words[0], "")
	ask := func(tree string) httpapitest.Answer {
		return s.ack("outstanding", `"tag":"t","tree":`+tree)
	}
	whole := `[[1,{"a":[],"b":{}}]]`
	s.Want("two wait", ask(whole), 200, `"outstanding":[{"path":[0,0],"edge":"`+files[0]+
		`"},{"path":[0,1,"b"],"edge":"`+words[1]+`"}],"chain":`)
	s.Want("one is enough", s.ack("outstanding", `"limit":1,"tag":"t","tree":`+whole), 200,
		`"outstanding":[{"path":[0,0],`, `"more":true`)
	s.Want("roots only", ask(`1`), 200, `"outstanding":[],"chain":`)
	s.Want("a root that is not there", ask(`[0,0]`), 200, `"path":[1]`)
	s.Want("in a batch",
		s.Request("POST", "/acks", "", `{"operations":[{"operation":"outstanding","tag":"t","tree":`+
			whole+`}]}`), 200, `"path":[0,1,"b"]`)
	s.Want("no chain", s.ack("outstanding", `"tag":"none","tree":1`), 404, "problems/no-chain")
	s.ack("create", `"tag":"s","stamp":"01"`)
	s.Want("stamps", s.ack("outstanding", `"tag":"s","tree":1`), 409, "problems/other-kind")
	for _, bad := range []string{
		`{"a":1}`, `{}`, `[]`, `0`, `"1"`, `-1`, `1001`, `[[null]]`, `[{"a":1,"a":1}]`, `true`,
		strings.Repeat("[", 101) + strings.Repeat("]", 101), `[` + strings.Repeat("1000,", 10) + `1]`,
	} {
		s.Want("tree "+bad[:min(len(bad), 20)], ask(bad), 400, `"field":"tree"`)
	}
	s.Want("limit", s.ack("outstanding", `"tag":"t","tree":1,"limit":0`), 400, `"field":"limit"`)
	s.Want("long paths",
		s.ack("outstanding", `"tag":"t","limit":1000,"tree":[{"`+strings.Repeat("x", 5000)+`":1000}]`),
		400, `"field":"limit"`)
	s.Want("fewer long paths", s.ack("outstanding",
		`"tag":"t","limit":100,"tree":[{"`+strings.Repeat("x", 5000)+`":1000}]`), 200)
}

func TestATree(t *testing.T) {
	s := newServer(t)
	created := s.ack("create", `"tag":"db"`)
	s.Want("created", created, 200, `"outcome":"applied"`, `"state":"OPEN"`, `"edges":1`)
	root := s.edges(created)[0]
	split := s.done(root, `,"children":2`)
	s.Want("split", split, 200, `"outcome":"applied"`, `"edges":3,"edgesEnded":1`)
	files := s.edges(split)
	named := s.ack("done", fmt.Sprintf(`"children":["a","é"],"edge":%q`, files[0]))
	s.Want("named", named, 200, `"edges":5`)
	words := s.edges(named)
	s.Want("repeated", s.done(root, `,"children":2`), 200, `"outcome":"applied"`, `"edges":5`)
	added := s.ack("add", fmt.Sprintf(`"edge":%q,"batch":"1","children":1`, files[1]))
	s.Want("added", added, 200, `"edges":6`)
	for _, e := range append(words, files[1]) {
		s.Want("done", s.done(e, ""), 200, `"outcome":"applied"`)
	}
	s.Want("fails after its end", s.ack("fail", fmt.Sprintf(`"edge":%q,"reason":"r"`, files[1])), 200,
		`"outcome":"edge-ended"`)
	s.now = s.now.Add(time.Minute)
	s.Want("extended", s.ack("extend", fmt.Sprintf(`"edge":%q,"until":"2026-01-04T00:00:00Z"`, root)),
		200, `"deadline":"2026-01-04T00:00:00Z"`)
	last := s.edges(added)[0]
	for range 2 {
		s.Want("ended", s.done(last, ""), 200, `"outcome":"ended"`, `"state":"DONE"`, `"eventId":"`)
	}
	s.Want("status", s.Request("GET", "/chains", "tag=db", ""), 200, `"state":"DONE"`,
		`"edges":6,"edgesEnded":6`, `"ageSeconds":60`)
	s.Want("get", s.ack("get", `"tag":"db"`), 200, `"state":"DONE"`)
	other := check.Get(xorack.ParseEdge(root))
	s.Want("too late", s.done(other.Child(7), ""), 410, "problems/ended", `"outcome":"already-done"`)
	s.Want("too late to fail", s.ack("fail", fmt.Sprintf(`"edge":%q,"reason":"r"`, other.Child(7))),
		410, "problems/ended")
	// Two adds with a count, and a done with one, start three edges, and the chain is done when all
	// have ended.
	root = s.edges(s.ack("create", `"tag":"z"`))[0]
	var all []string
	for _, batch := range []string{"b1", "b2"} {
		all = append(all,
			s.edges(s.ack("add", fmt.Sprintf(`"edge":%q,"batch":%q,"children":1`, root, batch)))...)
	}
	all = append(all, s.edges(s.done(root, `,"children":1`))...)
	check.Need(t, len(all) == 3 && all[0] != all[1] && all[0] != all[2] && all[1] != all[2],
		"edges %v, want three of their own", all)
	for _, e := range all {
		s.Want("ended", s.done(e, ""), 200)
	}
	s.Want("done", s.Request("GET", "/chains", "tag=z", ""), 200, `"state":"DONE"`)
	// A chain that failed, or is deleted, is over; its tag is not taken by other options.
	root = s.edges(s.ack("create", `"tag":"t","id":"1","edges":2,"deadline":"1h","idle":"5m"`))[0]
	s.Want("other options", s.ack("create", `"tag":"t","id":"1"`), 409, "problems/tag-exists")
	s.Want("failed", s.ack("fail", fmt.Sprintf(`"edge":%q,"reason":"disk full"`, root)), 200,
		`"outcome":"ended"`, `"state":"FAILED"`, `"reason":"disk full"`)
	s.Want("created again", s.ack("create",
		`"tag":"t","id":"1","edges":2,"deadline":"1h","idle":"5m"`), 410, `"outcome":"already-failed"`)
	nested := s.ack("create", fmt.Sprintf(`"tag":"u","parent":%q`, root))
	s.Want("nested", nested, 200, `"outcome":"applied"`)
	s.Want("deleted", s.ack("delete", `"tag":"u"`), 200, `"outcome":"ended"`, `"state":"DELETED"`)
	s.Want("deleted again", s.ack("delete", `"tag":"u"`), 410, `"outcome":"already-deleted"`)
	s.Want("delete of nothing", s.ack("delete", `"tag":"none"`), 404, "problems/no-chain")
	s.Want("get of nothing", s.Request("GET", "/chains", "tag=none", ""), 404, "problems/no-chain",
		`under this tag (tag \"none\")`)
	s.Want("extend before create",
		s.ack("extend", fmt.Sprintf(`"edge":%q,"until":"2026-01-02T04:00:00Z"`, xorack.Root("v", "", 0))),
		404, "problems/no-chain")
	s.Want("another chain's edge", s.done(xorack.Root("t", "2", 0), ""), 409, "problems/other-chain")
}

func TestFan(t *testing.T) {
	s := newServer(t)
	root := s.edges(s.ack("create", `"tag":"t"`))[0]
	for range 2 {
		fan := s.ack("fan", fmt.Sprintf(`"edge":%q,"edges":200`, root))
		s.Want("fan", fan, 200, `"outcome":"applied"`, `"edges":4,"edgesEnded":1`)
		check.Is(t, len(s.edges(fan)), 200)
	}
	check.Is(t, len(tagsIn(s.table)), 4)
	s.Want("too wide", s.ack("fan", fmt.Sprintf(`"edge":%q,"edges":10001`, root)), 400,
		`"field":"edges"`)
	s.Want("no width", s.ack("fan", fmt.Sprintf(`"edge":%q`, root)), 400, `"field":"edges"`)
}

func TestStamps(t *testing.T) {
	s := newServer(t)
	s.Want("created", s.ack("create", `"tag":"t","stamp":"29ff","deadline":"1h"`), 200,
		`"stamp":"29ff","acked":false`)
	s.Want("stamped", s.ack("stamp", `"tag":"t","stampBase64":"KQA="`), 200, `"stamp":"00ff"`)
	for range 2 {
		s.Want("under an id", s.ack("stamp", `"tag":"t","stamp":"0001","id":"1"`), 200, `"stamp":"00fe"`)
	}
	s.Want("another length", s.ack("stamp", `"tag":"t","stamp":"01"`), 409, "problems/stamp-length")
	s.Want("other kind", s.done(xorack.Root("t", "", 0), ""), 409, "problems/other-kind")
	s.Want("acked", s.ack("stamp", `"tag":"t","stamp":"00FE"`), 200, `"stamp":"0000","acked":true`,
		`"outcome":"ended"`)
	s.Want("too late", s.ack("stamp", `"tag":"t","stamp":"00fe"`), 410, `"outcome":"already-done"`)
	s.Want("status", s.Request("GET", "/chains", "tag=t", ""), 200, `"stamps":4`, `"state":"DONE"`)
	s.Want("deleted", s.ack("delete", `"tag":"t"`), 200, `"outcome":"ended"`)
	s.Want("deleted again", s.ack("delete", `"tag":"t"`), 404, "problems/no-chain")
	s.Want("zeros", s.ack("create", `"tag":"t","stamp":"00"`), 400, `"field":"stamp"`)
}

func TestBatch(t *testing.T) {
	s := newServer(t)
	root := xorack.Root("t", "", 0)
	a := s.Request("POST", "/acks", "", fmt.Sprintf(`{"operations":[
		{"operation":"get","tag":"t"},
		{"operation":"done","edge":%q},
		{"operation":"done","edge":%q,"children":2},
		{"operation":"create","tag":"t"},
		{"operation":"done","edge":%q},
		{"operation":"fail","edge":%q,"reason":"r"},
		{"operation":"stamp","tag":"s","stamp":"01"},
		{"operation":"delete","tag":"none"},
		{"operation":"done","edge":%q}]}`,
		root.Child(0), root, root.Child(1), root.Child(0), xorack.Root("s", "", 0)))
	s.Want("batch", a, 200,
		`"results":[{"status":200,"operation":"get","chain":{"tag":"t","state":"DONE"`,
		`{"status":200,"operation":"done","outcome":"ended"`,
		`{"status":200,"operation":"fail","outcome":"edge-ended"`,
		`{"status":200,"operation":"stamp","outcome":"applied","stamp":"01"`,
		`{"status":404,"operation":"delete","type":"https://streamsort.dev/problems/no-chain"`,
		`{"status":409,"operation":"done","type":"https://streamsort.dev/problems/other-kind"`)
	check.That(t, strings.Contains(s.logs.String(), `"Acks":4`) &&
		strings.Contains(s.logs.String(), `"ChainsCreated":1`), "metrics: %s", s.logs.String())
}

func TestBadInput(t *testing.T) {
	s := newServer(t)
	root := xorack.Root("t", "", 0).String()
	long := strings.Repeat("x", 1025)
	for _, c := range []struct{ field, document string }{
		{"request body", ``},
		{"operation", `{"operation":"destroy"}`},
		{"tag", `{"operation":"create"}`},
		{"tag", `{"operation":"create","tag":"` + long + `"}`},
		{"tags", `{"operation":"get","tag":"t","tags":1}`},
		{"tag", `{"operation":"create","tag":"delivery/x"}`},
		{"tag", `{"operation":"delete","tag":"@acme/delivery/x"}`},
		{"id", `{"operation":"create","tag":"t","id":"` + long + `"}`},
		{"edges", `{"operation":"create","tag":"t","edges":0}`},
		{"edges", `{"operation":"create","tag":"t","edges":1001}`},
		{"deadline", `{"operation":"create","tag":"t","deadline":"-1s"}`},
		{"deadline", `{"operation":"create","tag":"t","deadline":"721h"}`},
		{"idle", `{"operation":"create","tag":"t","idle":"1ns"}`},
		{"parent", `{"operation":"create","tag":"t","parent":"x"}`},
		{"parent", `{"operation":"create","tag":"t","parent":"` + root + `"}`},
		{"stamp", `{"operation":"create","tag":"t","stamp":"1"}`},
		{"stamp", `{"operation":"create","tag":"t","stamp":"01","edges":1}`},
		{"stamp", `{"operation":"stamp","tag":"t"}`},
		{"stamp", `{"operation":"stamp","tag":"t","stamp":"0000"}`},
		{"stampBase64", `{"operation":"stamp","tag":"t","stampBase64":"A"}`},
		{"stampBase64", `{"operation":"stamp","tag":"t","stamp":"01","stampBase64":"AQ=="}`},
		{"edge", `{"operation":"done"}`},
		{"edge", `{"operation":"done","edge":"` + root[:20] + `"}`},
		{"children", `{"operation":"done","edge":"` + root + `","children":1001}`},
		{"children[0]", `{"operation":"done","edge":"` + root + `","children":[7]}`},
		{"children[1]", `{"operation":"done","edge":"` + root + `","children":["a","a"]}`},
		{"children", `{"operation":"add","edge":"` + root + `","batch":"1","children":0}`},
		{"batch", `{"operation":"add","edge":"` + root + `","children":1}`},
		{"reason", `{"operation":"fail","edge":"` + root + `"}`},
		{"until", `{"operation":"extend","edge":"` + root + `","until":"tomorrow"}`},
		{"until", `{"operation":"extend","edge":"` + root + `","until":"2020-01-01T00:00:00Z"}`},
		{"operations", `{"operations":[]}`},
		{"operations[0]", `{"operations":[7]}`},
		{"operations[1].tag", `{"operations":[{"operation":"create","tag":"x"},{"operation":"get"}]}`},
		{"tag", `{"operations":[{"operation":"get","tag":"x"}],"tag":"t"}`},
		{"operations", `{"operations":[` + strings.Repeat(`{"operation":"get","tag":"x"},`, 500) + `{"operation":"get","tag":"x"}]}`},
		{"operations", `{"operations":[` + strings.Repeat(`{"operation":"done","edge":"`+root+`","children":1000},`, 150) + `{"operation":"get","tag":"x"}]}`},
	} {
		a := s.Request("POST", "/acks", "", c.document)
		s.Want(fmt.Sprintf("%.100s", c.document), a, 400, "problems/invalid",
			fmt.Sprintf(`"field":%q`, c.field))
	}
	s.Want("parameter", s.Request("GET", "/chains", "tag=t&x=1", ""), 400, `"field":"x"`)
	s.Want("no route", s.Raw(httpapitest.V2("GET", "/other", "", "", false)), 404, "problems/no-route")
	s.Want("no method", s.Raw(httpapitest.V2("DELETE", "/acks", "", "", false)), 405,
		"problems/no-method")
	check.Is(t, len(tagsIn(s.table)), 0)
}

func TestEveryShapeOfEvent(t *testing.T) {
	document := `{"operation":"create","tag":"t/ü"}`
	s := newServer(t)
	for event, want := range map[string]string{
		document: `{"status":200,"operation":"create","outcome":"applied"`,
		`{"operations":[{"operation":"get","tag":"none"}]}`: `{"status":200,"results":[{"status":404`,
		`{"operation":"get","tag":"none"}`:                  `"status":404`,
		`{"Records":[]}`:                                    `"status":400`,
		`{"Records":[{"eventSource":"aws:sqs"}]}`:           `"status":400`,
		``: `"status":400`,
	} {
		check.Has(t, s.Invoke(event), want, event)
	}
	s.Want("REST API", s.Raw(httpapitest.V1("POST", "/acks", nil, document)), 200, `"state":"OPEN"`)
}

const endedRecord = `{"eventSource":"aws:dynamodb","eventName":"MODIFY","dynamodb":{"SequenceNumber":"%d","NewImage":{"tag":{"S":"t"},"v":{"N":"1"},
	"inc":{"B":"AQIDBAUGBwg="},"n":{"N":"%d"},"edges":{"N":"1"},"created":{"N":"1000"},"seen":{"N":"5000"},"due":{"N":"9000"},"dueShard":{"N":"3"}}}}`

func TestStream(t *testing.T) {
	s := newServer(t)
	batch := fmt.Sprintf(`{"Records":[`+endedRecord+`,`+endedRecord+`]}`, 1, 7, 2, 0)
	got := s.Invoke(batch)
	check.That(t, got == `{"batchItemFailures":null}` || got == `{"batchItemFailures":[]}`,
		"answer %s", got)
	check.That(t, len(s.announced) == 1 && s.announced[0] == "t DONE", "announced %q", s.announced)
	s.refuse = errors.New("the bus is down")
	check.Is(t, s.Invoke(batch), `{"batchItemFailures":[{"itemIdentifier":"2"}]}`)
	check.That(t, strings.Contains(s.logs.String(), `"Errors":1`), "metrics: %s", s.logs.String())
	check.That(t,
		check.Err(s.handle(t.Context(),
			json.RawMessage(`{"Records":[{"eventSource":"aws:dynamodb"}]}`))) != nil,
		"a record without a number: no error")
	// What the handler stored is sealed, and counted.
	s.refuse = nil
	s.logs.Reset()
	root := s.edges(s.ack("create", `"tag":"t"`))[0]
	s.done(root, "")
	c := check.Get(s.store.Chain(t.Context(), "t"))
	image := fmt.Sprintf(`{"Records":[{"eventSource":"aws:dynamodb","eventName":"MODIFY","dynamodb":{"SequenceNumber":"1","NewImage":{"tag":{"S":"t"},"v":{"N":"1"},
		"inc":{"B":%q},"n":{"N":"0"},"edges":{"N":"1"},"created":{"N":"%d"},"seen":{"N":"%d"},"due":{"N":"%d"},"dueShard":{"N":"3"}}}}]}`,
		mustJSON(c.Incarnation[:]), c.Created.UnixMilli(), c.Seen.UnixMilli(), c.Due.UnixMilli())
	s.Invoke(image)
	c, _ = s.store.Chain(t.Context(), "t")
	check.That(t, c.Sealed(), "%+v", c)
	check.That(t, strings.Contains(s.logs.String(), `"ChainsDone":1`), "metrics: %s", s.logs.String())
}

// mustJSON is bytes as JSON has them, without the quotes.
func mustJSON(b []byte) string {
	raw, _ := json.Marshal(b)
	return strings.Trim(string(raw), `"`)
}

// TestNothingIsLogged looks for a tag's work in what the function prints.
func TestNothingIsLogged(t *testing.T) {
	s := newServer(t)
	runtimetest.Logs(t, &s.logs)
	root := s.edges(s.ack("create", `"tag":"t"`))[0]
	s.ack("fail", fmt.Sprintf(`"edge":%q,"reason":"canary"`, root))
	s.Request("POST", "/acks", "", `{"operations":[{"operation":"get","tag":"canary"}]}`)
	text := s.logs.String()
	check.That(t, !strings.Contains(text, "canary") &&
		strings.Contains(text, `"answered","status":200,"refused":1`), "the log: %s", text)
}

func TestRoutesAreTheContract(t *testing.T) {
	httpapitest.Routes(t, (&service{}).api().Routes)
}

func TestStart(t *testing.T) {
	runtimetest.Starts(t, newHandler, "MESSAGES", "CURSORS", "TROUBLE", "CONSUMERS", "AUDIT", "CHAINS")
}
