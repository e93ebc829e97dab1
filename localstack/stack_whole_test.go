//go:build whole

package localstack

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/cursor"
)

func run(t *testing.T, c Config) *Stack {
	t.Helper()
	c.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	s, err := Run(t.Context(), c)
	check.OK(t, err)
	t.Cleanup(s.Close)
	return s
}

// ask makes a request with these headers, and returns its answer as it came.
func ask(t *testing.T, method, url, body string, header map[string]string) (int, string) {
	t.Helper()
	request := check.Get(http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body)))
	for name, value := range header {
		request.Header.Set(name, value)
	}
	request.Host = request.Header.Get("Host")
	response, err := http.DefaultClient.Do(request)
	check.OK(t, err)
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode, string(check.Get(io.ReadAll(response.Body)))
}

// fetch makes a request and decodes its JSON answer.
func fetch[T any](t *testing.T, method, url, body string) (status int, value T) {
	t.Helper()
	status, text := ask(t, method, url, body, nil)
	err := json.Unmarshal([]byte(text), &value)
	check.Need(t, err == nil || text == "", "%s %s: %s: %v", method, url, text, err)
	return status, value
}

// caller asks a stack for what has to be answered with success.
func caller(t *testing.T, s *Stack) func(method, path, body string) map[string]any {
	return func(method, path, body string) map[string]any {
		t.Helper()
		status, answer := fetch[map[string]any](t, method, s.URL()+path, body)
		check.Need(t, status == 200 || status == 202, "%s %s: %d %v", path, body, status, answer)
		return answer
	}
}

// database is a client of the stack's tables.
func database(t *testing.T, s *Stack) *dynamodb.Client {
	t.Helper()
	return check.Get(dynamo.New(&dynamo.Options{Endpoint: s.DynamoDB()}))
}

// sorterOf is the store of the stack's queues, and a sorter on it.
func sorterOf(t *testing.T, s *Stack, options *cursor.Options) (*cursor.Store, *cursor.Sorter) {
	t.Helper()
	store := check.Get(cursor.NewDynamo(database(t, s), cursor.Names{}))
	sorter := check.Get(cursor.New(store, options))
	return store, sorter
}

// sweep triggers the sweep, which must not fail.
func sweep(t *testing.T, s *Stack) {
	t.Helper()
	responses, err := s.Trigger(t.Context(), "SweepSchedule")
	check.Need(t, err == nil && len(responses) == 1 && responses[0].FunctionError == "",
		"sweep: %+v, %v", responses, err)
}

// idle waits until all that is written so far is handled.
func idle(t *testing.T, s *Stack) {
	t.Helper()
	since := time.Now()
	await.True(t, "the streams to be dealt with", func() bool { return s.Idle(since) })
}

func put(t *testing.T, s *Stack, ids ...string) {
	t.Helper()
	client := database(t, s)
	for _, id := range ids {
		check.Get(client.PutItem(t.Context(), &dynamodb.PutItemInput{
			TableName: aws.String("shop-Orders"),
			Item:      map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}},
		}))
	}
}

// the importing one first
var shop = []string{"testdata/consumer.template.json", "testdata/shop.template.json"}

// byAnotherSite has a browser ask for an address as another site can have it: by a form, and by a
// name that the site points here.
func byAnotherSite(t *testing.T, address string) {
	t.Helper()
	for want, header := range map[int]map[string]string{
		http.StatusForbidden:          {"Origin": "https://evil.example"},
		http.StatusMisdirectedRequest: {"Host": "evil.example:3000"},
	} {
		header["Content-Type"] = "text/plain"
		status, _ := ask(t, http.MethodPost, address, "{}", header)
		check.Is(t, status, want, address)
	}
}

func TestFrontDoors(t *testing.T) {
	s := run(t, Config{
		Templates: shop, Parameters: map[string]string{"Greeting": "moin"},
		Env: map[string]string{"EVERYWHERE": "1", "Echo.OVERRIDDEN": "by the test",
			"OVERRIDDEN": "by all"},
	})
	status, event := fetch[map[string]any](t, "POST", s.URL()+"/some/where", `{"a":1}`)
	check.That(t, status == 200 && event["rawPath"] == "/some/where" &&
		event["routeKey"] == "$default", "API: %d %v", status, event)
	outputs := s.Outputs()["shop"]
	wantAddresses := []Address{{"DynamoDB", s.DynamoDB()},
		{"function URL EchoUrl", strings.TrimSuffix(outputs["EchoUrl"], "/")}}
	diff := cmp.Diff(wantAddresses, s.Addresses())
	check.That(t, diff == "" && !s.HasServices(), "addresses (-want +got):\n%s", diff)
	check.Is(t, outputs["ApiUrl"], s.URL())
	status, event = fetch[map[string]any](t, "GET", outputs["EchoUrl"]+"a%20b", "")
	check.That(t, status == 200 && event["rawPath"] == "/a%20b", "function URL: %d %v", status, event)
	for _, name := range []string{"Echo", "shop-Echo",
		"arn:aws:lambda:us-east-1:000000000000:function:shop-Echo"} {
		status, answer := fetch[map[string]any](t, "POST",
			s.URL()+"/2015-03-31/functions/"+name+"/invocations", `{"direct":true}`)
		check.That(t, status == 200 && answer["direct"] == true, "%s %d %v", name, status, answer)
	}
	for _, path := range []string{"/some/where", "/2015-03-31/functions/Echo/invocations",
		"/_streamsort/schedules/none"} {
		byAnotherSite(t, s.URL()+path)
	}
	byAnotherSite(t, outputs["EchoUrl"])
	_, list := fetch[[]string](t, "GET", s.URL()+"/env", "")
	env := map[string]string{}
	for _, entry := range list {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	for name, want := range map[string]string{
		"GREETING": "moin", "OVERRIDDEN": "by the test", "EVERYWHERE": "1", "SELF": outputs["EchoUrl"],
		"STREAM": s.streams["shop-Orders"], "AWS_ENDPOINT_URL_DYNAMODB": s.DynamoDB(), "AWS_ENDPOINT_URL": s.URL(),
		"AWS_LAMBDA_FUNCTION_NAME": "shop-Echo",
	} {
		check.Is(t, env[name], want, name)
	}
	text := check.Get(os.ReadFile(filepath.Join(env["LAMBDA_TASK_ROOT"], "prices.txt")))
	check.Is(t, string(text), "7 and up", text)
	check.That(t, s.streams["shop-Orders"] != "" && outputs["Stream"] == s.streams["shop-Orders"],
		"stream = %q, output %q; want the server's", s.streams["shop-Orders"], outputs["Stream"])
	request := check.Get(http.NewRequest("POST", s.URL(), nil))
	request.Header.Set("X-Amz-Target", "AWSEvents.PutEvents")
	response, err := http.DefaultClient.Do(request)
	check.OK(t, err)
	_ = response.Body.Close()
	check.That(t, response.StatusCode == 400 &&
		response.Header.Get("X-Amzn-Errortype") == "UnknownOperationException",
		"a service that does not run answered %d", response.StatusCode)
}

// TestStream has a consumer's own template behind the stream of another template's table: records
// arrive, and a poisonous one ends in the queue for failures, alone.
func TestStream(t *testing.T) {
	for _, kind := range ddbtest.Servers(t) {
		t.Run(string(kind), func(t *testing.T) {
			testStream(t, run(t, Config{Templates: shop, Server: string(kind)}))
		})
	}
}

func testStream(t *testing.T, s *Stack) {
	seen := map[string]int{}
	cancel := s.Subscribe(func(l Line) { seen[l.LogicalID+" "+l.Text]++ })
	put(t, s, "a", "poison", "b", "c")
	await.True(t, "the failure", func() bool { return len(s.Failures()) == 1 })
	idle(t, s)
	cancel()
	for _, id := range []string{"a", "b", "c"} {
		check.Is(t, seen["Tally INSERT "+id], 1, id)
	}

	type failure struct {
		Queue   string
		Message struct {
			DDBStreamBatchInfo struct{ BatchSize int }
		}
	}
	status, failures := fetch[[]failure](t, "GET", s.URL()+"/_streamsort/failures", "")
	check.That(t, status == 200 && len(failures) == 1 && failures[0].Queue == "consumer-Failures" &&
		failures[0].Message.DDBStreamBatchInfo.BatchSize == 1, "failures: %d %+v", status, failures)
	status, mappings := fetch[[]Mapping](t, "GET", s.URL()+"/_streamsort/mappings", "")
	check.That(t, status == 200 && len(mappings) == 1 && mappings[0].Stats.Delivered == 3 &&
		mappings[0].Stats.Failed == 1 && mappings[0].Failed == "", "mappings: %d %+v", status, mappings)
}

func TestState(t *testing.T) {
	dir := t.TempDir()
	s := run(t, Config{Templates: shop[1:], LogDir: dir})
	status, health := fetch[map[string]string](t, "GET", s.URL()+"/_streamsort/health", "")
	check.That(t, status == 200 && health["status"] == "ok", "health: %d %v", status, health)
	type answer struct{ FunctionError, Payload string }
	status, answers := fetch[[]answer](t, "POST", s.URL()+"/_streamsort/schedules/Daily", "")
	if want := `{"at":"noon"}`; status != 200 || len(answers) != 1 || answers[0].Payload != want {
		t.Errorf("trigger: %d %+v", status, answers)
	}
	status, _ = fetch[map[string]string](t, "POST", s.URL()+"/_streamsort/schedules/Never", "")
	check.Is(t, status, 404)
	_, functions := fetch[[]Function](t, "GET", s.URL()+"/_streamsort/functions", "")
	check.That(t, len(functions) == 1 && functions[0].LogicalID == "Echo" &&
		functions[0].Stats.Requests == 1, "functions: %+v", functions)
	fetch[map[string]any](t, "GET", s.URL()+"/for/the/log", "")
	_, lines := fetch[[]string](t, "GET", s.URL()+"/_streamsort/logs?function=Echo&lines=1", "")
	check.That(t, len(lines) == 1 && lines[0] == "path /for/the/log", "log: %q", lines)
	for path, want := range map[string]int{
		"logs?function=Nobody": 404, "logs?function=Echo&lines=-1": 400, "outputs": 200, "schedules": 200, "elsewhere": 404,
	} {
		status, _ := ask(t, "GET", s.URL()+"/_streamsort/"+path, "", nil)
		check.Is(t, status, want, path)
	}
	s.Close()
	text, err := os.ReadFile(filepath.Join(dir, "shop-Echo.log"))
	check.That(t, err == nil && bytes.HasSuffix(text, []byte("path /for/the/log\n")),
		"log file = %q, %v", text, err)
}

// TestClose leaves no process and no port behind.
func TestClose(t *testing.T) {
	s := run(t, Config{Templates: shop})
	check.Get(s.Invoke(t.Context(), "Echo", nil))
	ours := func() []string {
		out, _ := exec.Command("pgrep", "-P", strconv.Itoa(os.Getpid()), "-f", "/[.]build/localstack/").
			Output()
		return strings.Fields(string(out))
	}
	check.Need(t, len(ours()) != 0, "no function runs")
	url, database := s.URL(), s.DynamoDB()
	s.Close()
	check.Is(t, len(ours()), 0)
	for _, address := range []string{url, database} {
		if response, err := http.Get(address); err == nil {
			_ = response.Body.Close()
			check.That(t, os.Getenv("DYNAMODB_ENDPOINT") != "" && address != url, "%s", address)
		}
	}
}

// TestServices has resources of SNS and SQS beside a function, which gets their names and where the
// services are.
func TestServices(t *testing.T) {
	s := run(t, Config{Templates: []string{"testdata/services.template.json"}})
	at := s.Addresses()
	check.That(t, len(at) >= 2 && at[1].URL == s.services.Endpoint && s.HasServices(), "%v", at)
	response := check.Get(s.Invoke(t.Context(), "Echo", []byte(`{"rawPath":"/env"}`)))
	for _, want := range []string{
		`"TOPIC=arn:aws:sns:us-east-1:000000000000:orders"`, `"QUEUE=services-Work-`,
		`"AWS_ENDPOINT_URL=` + s.services.Endpoint + `"`, `"AWS_ENDPOINT_URL_DYNAMODB=` + s.DynamoDB() + `"`,
	} {
		check.That(t, strings.Contains(string(response.Payload), want), "%s %s", want, response.Payload)
	}
}

func TestRunErrors(t *testing.T) {
	dir := t.TempDir()
	const function = `{"Resources": {"F": {"Type": "AWS::Lambda::Function", "Metadata": {"streamsort:source": "f"}, "Properties": {"Runtime": "provided.al2023"}}}}`
	write(t, dir, map[string]string{
		"go.mod":    "module example.com/user\n\ngo 1.26\n",
		"f/main.go": "package main\n\nfunc main() { does not compile }\n", "broken.json": function,
		"folder.json":   strings.Replace(function, `"f"`, `"g"`, 1),
		"url.json":      `{"Resources": {"U": {"Type": "AWS::Lambda::Url", "Properties": {"AuthType": "NONE", "TargetFunctionArn": "nobody"}}}}`,
		"schedule.json": `{"Resources": {"S": {"Type": "AWS::Events::Rule", "Properties": {"ScheduleExpression": "now", "Targets": [{"Arn": "nobody"}]}}}}`,
	})
	file := func(name string) Config { return Config{Templates: []string{filepath.Join(dir, name)}} }
	cases := []struct {
		name   string
		config Config
		want   string
	}{
		{"consumers without process", Config{Templates: shop, Consumers: []Consumer{{Name: "books", url: "http://x/"}}}, "no template has process, consumersFile"},
		{"missing file", Config{Templates: []string{"nowhere.json"}}, "nowhere.json"},
		{"same stack twice", Config{Templates: []string{"a/x.json", "b/x.json"}}, "a/x.json, b/x.json, stack x"},
		{"port", Config{Templates: shop, Port: 70000}, "Port, 65535, 70000"},
		{"unknown parameter", Config{Templates: shop, Parameters: map[string]string{"Greting": "x"}}, "parameter Greting"},
		{"unknown function in Env", Config{Templates: shop, Env: map[string]string{"Ecko.X": "1"}}, "function Ecko"},
		{"missing export", Config{Templates: shop[:1]}, `exports, "shop-stream"`},
		{"does not compile", file("broken.json"), "build ./f"},
		{"missing folder", file("folder.json"), "Resources.F, metadata streamsort:source, folder g"},
		{"function elsewhere", file("url.json"), `Resources.U, "nobody"`},
		{"schedule", file("schedule.json"), "Arn, function"},
		{"kill rate", Config{Templates: shop, Chaos: Chaos{Kill: 2}}, "Chaos.Kill, 0, 1, 2"},
		{"duplicates", Config{Templates: shop, Chaos: Chaos{Duplicate: 2}}, "Chaos.Duplicate"},
		{"server", Config{Templates: shop, Server: "oracle"}, "oracle"},
		{"data", Config{Templates: shop, Server: "http://127.0.0.1:1", Data: dir}, "config.Data"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.config.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
			s, err := Run(t.Context(), c.config)
			if err == nil {
				s.Close()
			}
			for name := range strings.SplitSeq(c.want, ", ") {
				check.Says(t, err, name)
			}
		})
	}
}

// TestDataIsKept: a stack that is started again has the items of the one before, and its functions
// are given what the one before had not given them.
func TestDataIsKept(t *testing.T) {
	for _, kind := range ddbtest.Servers(t) {
		t.Run(string(kind), func(t *testing.T) {
			if kind == localdb.Given {
				return // it keeps its data as it likes
			}
			config := Config{Templates: shop, Server: string(kind), Data: filepath.Join(t.TempDir(), "data")}
			first := run(t, config)
			config.Logger = slog.New(slog.DiscardHandler)
			if s, err := Run(t.Context(), config); err == nil || !strings.Contains(err.Error(), "in use") {
				t.Errorf("a second stack on the same folder: %v", err)
				if err == nil {
					s.Close()
				}
			}
			put(t, first, "a")
			first.Close()

			second := run(t, config)
			items, err := database(t, second).Scan(t.Context(),
				&dynamodb.ScanInput{TableName: aws.String("shop-Orders")})
			check.That(t, err == nil && len(items.Items) == 1, "kept %v, %v", items, err)
			put(t, second, "b")
			await.True(t, "both records", func() bool { return second.Mappings()[0].Stats.Delivered == 2 })
			second.Close()
		})
	}
}

// TestTables: the tables are known by the functions that work on them, also where an app names
// them, and has no outputs.
func TestTables(t *testing.T) {
	own := check.Get(filepath.Abs("streamsort.template.json"))
	root := t.TempDir()
	write(t, root, map[string]string{"app.json": `{"Base": "` + own + `", "Patch": [{"op": "remove", "path": "/Outputs"},
		{"op": "replace", "path": "/Resources/MessagesTable/Properties/TableName", "value": "Shop-Orders-1"},
		{"op": "remove", "path": "/Resources/TroubleTable/Properties/TableName"}]}`})
	tables := readOnly(t, slog.DiscardHandler, filepath.Join(root, "app.json")).Tables()
	for name, want := range map[string]string{
		"Messages": "Shop-Orders-1", "Cursors": "streamsort-cursors",
		"Arrivals": "streamsort-arrivals", "Consumers": "streamsort-consumers", "Chains": "streamsort-chains",
		"Audit": "streamsort-audit", "Trouble": "app-TroubleTable",
	} {
		check.Is(t, tables[name], want, name)
	}
}
