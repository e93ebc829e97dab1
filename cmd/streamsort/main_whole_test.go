//go:build whole

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/sink"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/localstack"
	"github.com/streamsort/streamsort/localstack/ministack"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/ui"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"streamsort": main})
}

// TestScripts runs each verb against the project's own template on the local stack.
func TestScripts(t *testing.T) { runScripts(t, "testdata") }

// TestLosses runs those that lose messages, on a stack of their own: whichever process reads the
// cursors' stream waits for what is missing.
func TestLosses(t *testing.T) { runScripts(t, filepath.Join("testdata", "losses")) }

func runScripts(t *testing.T, folder string) {
	t.Helper()
	root := check.Get(localdb.Root())
	stack := check.Get(localstack.Run(t.Context(), localstack.Config{
		Templates: []string{filepath.Join(root, "localstack", "streamsort.template.json")},
		Env:       map[string]string{"SweepFunction.STREAMSORT_EVENT_BUS": ""},
		Logger:    slog.New(slog.NewTextHandler(io.Discard, nil)),
	}))
	t.Cleanup(stack.Close)
	outputs := serve(t, func(w http.ResponseWriter, r *http.Request) {
		describeStack(w, r, stack.URL())
	})
	buckets := ministack.ForTest(t)
	check.Get(buckets.Request(t.Context(), "s3", http.MethodPut, "/books", nil))
	t.Setenv("AWS_ENDPOINT_URL_S3", buckets.Endpoint)
	testscript.Run(t, testscript.Params{
		Dir: folder,
		// page prints a screen of the live page; archive does what process does for a consumer that
		// is an archive; lose deletes what was stored; acks does an operation on a chain; position
		// waits until a queue has one.
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"archive": archive, "lose": lose, "page": showPage, "acks": operateChain, "position": awaitPosition,
		},
		Setup: func(env *testscript.Env) error {
			// Where `streamsort local` keeps what it fetches: testscript's own is /no-home, which
			// root can make.
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("STREAMSORT_URL", stack.URL())
			env.Setenv("CLOUDFORMATION", outputs)
			env.Setenv("AWS_ENDPOINT_URL_DYNAMODB", stack.DynamoDB())
			env.Setenv("AWS_ENDPOINT_URL_S3", buckets.Endpoint)
			return nil
		},
	})
}

// describeStack answers as CloudFormation does about the stack Streamsort, whose API is at a URL,
// about Empty, which has no outputs, and about others, which are not there.
func describeStack(w http.ResponseWriter, r *http.Request, api string) {
	output := ""
	switch r.FormValue("StackName") {
	case "Streamsort":
		output = "<Outputs><member><OutputKey>SortFunctionName</OutputKey><OutputValue>x</OutputValue></member>" +
			"<member><OutputKey>ArrivalsTableName</OutputKey><OutputValue>arrivals-of-prod</OutputValue></member>" +
			"<member><OutputKey>ApiUrl</OutputKey><OutputValue>" + api + "/</OutputValue></member></Outputs>"
	case "Empty":
	default:
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code>`+
			`<Message>Stack with id `+r.FormValue("StackName")+
			` does not exist</Message></Error></ErrorResponse>`)
		return
	}
	_, _ = io.WriteString(w, `<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><DescribeStacksResult><Stacks><member>`+
		`<StackName>`+r.FormValue("StackName")+`</StackName><StackStatus>CREATE_COMPLETE</StackStatus><CreationTime>2026-01-01T00:00:00Z</CreationTime>`+
		output+`</member></Stacks></DescribeStacksResult></DescribeStacksResponse>`)
}

func lose(ts *testscript.TestScript, _ bool, arguments []string) {
	client, err := dynamo.New(&dynamo.Options{Endpoint: ts.Getenv("AWS_ENDPOINT_URL_DYNAMODB")})
	ts.Check(err)
	seq, err := strconv.ParseInt(arguments[1], 10, 64)
	ts.Check(err)
	messages := cursor.Names{}.Tables()[0]
	_, err = dynamo.NewEngine(client).Do(context.Background(), ddb.Delete{
		Op:  ddb.Op{Op: "lose", Table: &messages},
		Key: ddb.Fields{"queue": ddb.Text(arguments[0]), "seq": ddb.Int(seq)}.Item(),
	})
	ts.Check(err)
}

// operateChain does an operation on a chain, a JSON document. The first and the last edge of the
// answer are the variables FIRST and LAST from then on.
func operateChain(ts *testscript.TestScript, _ bool, arguments []string) {
	api, err := client.New(ts.Getenv("STREAMSORT_URL"))
	ts.Check(err)
	var answer struct{ Edges []string }
	ts.Check(api.Call(context.Background(), http.MethodPost, "/acks", nil,
		[]byte(arguments[0]), &answer))
	if n := len(answer.Edges); n > 0 {
		ts.Setenv("FIRST", answer.Edges[0])
		ts.Setenv("LAST", answer.Edges[n-1])
	}
}

func awaitPosition(ts *testscript.TestScript, _ bool, arguments []string) {
	api, err := client.New(ts.Getenv("STREAMSORT_URL"))
	ts.Check(err)
	for ctx := context.Background(); ; {
		var answer struct{ Position json.Number }
		ts.Check(api.Call(ctx, http.MethodGet, "/queues",
			url.Values{"queue": {arguments[0]}}, nil, &answer))
		if answer.Position.String() == arguments[1] {
			return
		}
	}
}

// archive has a range of a queue be archived, in a batch.
func archive(ts *testscript.TestScript, _ bool, arguments []string) {
	ctx := context.Background()
	client, err := dynamo.New(&dynamo.Options{Endpoint: ts.Getenv("AWS_ENDPOINT_URL_DYNAMODB")})
	ts.Check(err)
	store, err := cursor.NewDynamo(client, cursor.Names{})
	ts.Check(err)
	sorter, err := cursor.New(store, nil)
	ts.Check(err)
	batch := delivery.Batch{Queue: arguments[0], Consumer: "archive"}
	for i, bound := range []*int64{&batch.From, &batch.To} {
		*bound, err = strconv.ParseInt(arguments[i+1], 10, 64)
		ts.Check(err)
	}
	batch.From--
	for m, err := range sorter.Read(ctx, batch.Queue, batch.From, batch.To) {
		ts.Check(err)
		batch.Messages = append(batch.Messages, m)
	}
	var config sink.Config
	ts.Check(config.UnmarshalJSON([]byte(`{"kind":"s3","arn":"arn:aws:s3:::books"}`)))
	to, err := sink.New(config, kind.Options{})
	ts.Check(err)
	ts.Check(to.Send(ctx, batch))
}

// showPage prints a screen of the live page, GET or, with a form, POST: page [operate] PATH [FORM].
// It fails where the status is not the one that is expected: 200, or 303 for a form.
func showPage(ts *testscript.TestScript, wrong bool, arguments []string) {
	operate := arguments[0] == "operate"
	if operate {
		arguments = arguments[1:]
	}
	shown, err := ui.New(ui.Options{URL: ts.Getenv("STREAMSORT_URL"), Operate: operate,
		Hosts: []string{"example.com"}})
	ts.Check(err)
	request := httptest.NewRequest(http.MethodGet, "/"+arguments[0], nil)
	if len(arguments) > 1 {
		page := httptest.NewRecorder()
		shown.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/bulk", nil))
		form := arguments[1]
		if _, after, found := strings.Cut(page.Body.String(), `name="token" value="`); found {
			form += "&token=" + after[:strings.IndexByte(after, '"')]
		}
		request = httptest.NewRequest(http.MethodPost, "/"+arguments[0], strings.NewReader(form))
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer := httptest.NewRecorder()
	shown.ServeHTTP(answer, request)
	_, err = fmt.Fprintln(ts.Stdout(), answer.Code, answer.Header().Get("Location"), answer.Body)
	ts.Check(err)
	if done := answer.Code == http.StatusOK || answer.Code == http.StatusSeeOther; done == wrong {
		ts.Fatalf("%s: %d %s", arguments[0], answer.Code, answer.Body)
	}
}
