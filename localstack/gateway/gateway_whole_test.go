//go:build whole

package gateway

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/sources"
	"github.com/streamsort/streamsort/localstack/lambda"
	"github.com/streamsort/streamsort/localstack/template"
)

var echo string // path of the built function

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "streamsort-gateway-*")
	if err == nil {
		echo = filepath.Join(dir, "bootstrap")
		build := exec.Command("go", "build", "-tags", "lambda.norpc", "-o", echo,
			"../lambda/testdata/probe")
		build.Stderr = os.Stderr
		err = errors.Join(build.Run(),
			sources.Note(context.Background(), ".", "../lambda/testdata/probe"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "building echo:", err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// functions has "echo", and "closed", which may never run.
func functions(t *testing.T) *lambda.Service {
	t.Helper()
	s := lambda.New(lambda.Config{})
	t.Cleanup(s.Close)
	for _, f := range []template.Function{
		{Name: "echo", Reserved: -1, Timeout: 20 * time.Second}, {Name: "closed", Timeout: time.Second},
	} {
		s.Add(f, lambda.Program{Bootstrap: echo})
	}
	return s
}

func do(t *testing.T, method, url, contentType, body string) (int, http.Header, string) {
	t.Helper()
	r := check.Get(http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body)))
	r.Header.Set("Content-Type", contentType)
	response, err := http.DefaultClient.Do(r)
	check.OK(t, err)
	defer response.Body.Close()
	text := check.Get(io.ReadAll(response.Body))
	return response.StatusCode, response.Header, string(text)
}

func TestAPI(t *testing.T) {
	route := func(key, function string, timeout time.Duration) template.Route {
		method, path, _ := strings.Cut(key, " ")
		return template.Route{Key: key, Method: method, Path: path, Function: function, Timeout: timeout}
	}
	var warnings []string
	url := listen(t, NewAPI(template.API{
		ID: "a1", Endpoint: "http://a1.example:99", Stages: []template.Stage{{Name: "$default"}},
		Routes: []template.Route{
			route("GET /event/{id}", "echo", 20*time.Second),
			route("POST /raw", "echo", 20*time.Second),
			route("GET /error", "echo", 20*time.Second),
			route("GET /sleep", "echo", 50*time.Millisecond),
			route("GET /closed", "closed", 20*time.Second),
			route("GET /missing", "missing", 20*time.Second),
		},
	}, functions(t), nil, func(message string) { warnings = append(warnings, message) }))

	status, header, body := do(t, "GET", url+"/event/a%2Fb?x=1", "", "")
	var got event
	err := json.Unmarshal([]byte(body), &got)
	check.Need(t, err == nil && status == 200 && header.Get("Content-Type") == "application/json",
		"event: %d %s %v", status, body, err)
	check.That(t, got.RawPath == "/event/a/b" && got.PathParameters["id"] == "a/b" &&
		got.RequestContext.DomainName == "a1.example" && got.RequestContext.Stage == "$default",
		"event = %+v", got)

	big := strings.Repeat("x", maxAPIBody+1)
	cases := []struct {
		name, method, path, contentType, body string
		status                                int
		want                                  string
	}{
		{"answer", "POST", "/raw", "application/json", `{"statusCode":418,"body":"tea"}`, 418, "tea"},
		{"binary body", "POST", "/raw", "application/octet-stream", `{"statusCode":200,"body":"in"}`, 200, "in"},
		{"no route", "GET", "/nothing", "", "", 404, `{"message":"Not Found"}`},
		{"other method", "PUT", "/raw", "", "", 404, `{"message":"Not Found"}`},
		{"function error", "GET", "/error", "", "", 500, `{"message":"Internal Server Error"}`},
		{"unreadable answer", "POST", "/raw", "application/json", `{"statusCode":1}`, 500, `{"message":"Internal Server Error"}`},
		{"time-out", "GET", "/sleep", "", "", 503, `{"message":"Service Unavailable"}`},
		{"throttled", "GET", "/closed", "", "", 503, `{"message":"Service Unavailable"}`},
		{"missing function", "GET", "/missing", "", "", 500, `{"message":"Internal Server Error"}`},
		{"10 MB", "POST", "/raw", "text/plain", big, 413, `{"message":"Request Entity Too Large"}`},
		{"6 MB as base64", "POST", "/raw", "image/png", big[:5<<20], 413, `{"message":"Request Entity Too Large"}`},
	}
	for _, c := range cases {
		status, _, body := do(t, c.method, url+c.path, c.contentType, c.body)
		check.That(t, status == c.status && body == c.want, "%s: %d %s", c.name, status, body)
	}
	all := strings.Join(warnings, "\n")
	check.That(t, len(warnings) == 5 && strings.Contains(all, "no luck"), "%d %s", len(warnings), all)
}

func TestURL(t *testing.T) {
	s := functions(t)
	warn := func(string) {}
	url := listen(t,
		NewURL(template.URL{LogicalID: "EchoUrl", Function: "echo", Endpoint: "http://u.example:1"}, s,
			warn))
	closed := listen(t, NewURL(template.URL{Function: "closed"}, s, warn))

	status, _, body := do(t, "GET", url+"/a%20b", "", "")
	var got event
	err := json.Unmarshal([]byte(body), &got)
	check.Need(t, err == nil && status == 200, "event: %d %s", status, body)
	check.That(t, got.RawPath == "/a%20b" && got.RouteKey == "$default" &&
		got.RequestContext.HTTP.Path == "/a%20b", "event = %+v; want the path still encoded", got)
	for _, c := range []struct {
		url, body string
		status    int
	}{
		{url + "/raw", `{"statusCode":201}`, 201},
		{url + "/raw", `{"statusCode":1}`, 502},
		{url + "/error", "", 502},
		{closed, "", 429},
		{url + "/raw", strings.Repeat("x", maxURLBody+1), 413},
	} {
		status, _, body := do(t, "POST", c.url, "application/json", c.body)
		check.Is(t, status, c.status, c.url, body)
	}
}

// TestInvokeBySDK calls functions as a user's program does.
func TestInvokeBySDK(t *testing.T) {
	url := listen(t, NewInvoke(functions(t), strings.ToLower))
	client := sdk.New(sdk.Options{
		Region: "us-east-1", BaseEndpoint: &url, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	ctx := context.Background()
	for _, name := range []string{"echo", template.FunctionARN("echo"),
		"000000000000:function:echo", "Echo"} {
		out, err := client.Invoke(ctx, &sdk.InvokeInput{FunctionName: &name,
			Payload: []byte(`{"rawPath":"/x"}`), LogType: types.LogTypeTail})
		check.Need(t, err == nil, "%s: %v", name, err)
		tail, _ := base64.StdEncoding.DecodeString(aws.ToString(out.LogResult))
		check.That(t, out.StatusCode == 200 && string(out.Payload) == `{"rawPath":"/x"}` &&
			out.FunctionError == nil && string(tail) == "path /x\n", "%s: %d %s %v %q", name,
			out.StatusCode, out.Payload, out.FunctionError, tail)
	}
	name := "echo"
	out, err := client.Invoke(ctx,
		&sdk.InvokeInput{FunctionName: &name, Payload: []byte(`{"fail":"so be it"}`)})
	check.That(t, err == nil && aws.ToString(out.FunctionError) == "Unhandled" &&
		strings.Contains(string(out.Payload), "so be it"), "failing function: %+v, %v", out, err)
	out, err = client.Invoke(ctx,
		&sdk.InvokeInput{FunctionName: &name, InvocationType: types.InvocationTypeEvent})
	check.That(t, err == nil && out.StatusCode == 202, "Event: %+v, %v; want 202", out, err)
	out, err = client.Invoke(ctx,
		&sdk.InvokeInput{FunctionName: &name, InvocationType: types.InvocationTypeDryRun})
	check.That(t, err == nil && out.StatusCode == 204, "DryRun: %+v, %v; want 204", out, err)
	invoke := func(name, payload string) error {
		_, err := client.Invoke(ctx, &sdk.InvokeInput{FunctionName: &name, Payload: []byte(payload)})
		return err
	}
	check.IsA[*types.ResourceNotFoundException](t, invoke("nobody", "{}"))
	check.IsA[*types.TooManyRequestsException](t, invoke("closed", "{}"))
	check.IsA[*types.InvalidRequestContentException](t, invoke("echo", "{"))
	large := `"` + strings.Repeat("x", lambda.MaxPayload) + `"`
	check.IsA[*types.RequestTooLargeException](t, invoke("echo", large))
}
