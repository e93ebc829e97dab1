//go:build whole

package lambda

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/localstack/template"
)

func TestContext(t *testing.T) {
	s := serve(t, Config{}, template.Function{Reserved: -1, Timeout: 70 * time.Second})
	r := check.Get(s.Invoke(context.Background(), Request{
		Function: "probe", Qualifier: "live", Payload: []byte(`{"do":"context"}`),
		ClientContext: `{"custom":{"who":"me"}}`,
	}))
	got := decode[struct {
		ID, Arn, Trace string
		Left           int
		Client         map[string]string
	}](t, r)
	if got.ID != r.RequestID ||
		got.Arn != "arn:aws:lambda:us-east-1:000000000000:function:probe:live" ||
		got.Client["who"] != "me" {
		t.Errorf("context = %+v; want request id %s", got, r.RequestID)
	}
	check.That(t, got.Left > 0 && got.Left <= 70_000 && strings.HasPrefix(got.Trace, "Root=1-"),
		"context = %+v; want a deadline within 70 s and a trace id", got)
}

func TestVariables(t *testing.T) {
	t.Setenv("OF_THE_HOST", "secret")
	s := serve(t, Config{}, template.Function{
		Reserved: -1, Handler: "main", MemoryMB: 512, LogFormat: "JSON", LogLevel: "WARN",
		Env: map[string]string{"OWN": "yes", "AWS_REGION": "eu-west-1"},
	})
	got := map[string]string{}
	for _, entry := range decode[[]string](t, invoke(t, s, `{"do":"env"}`)) {
		name, value, _ := strings.Cut(entry, "=")
		got[name] = value
	}
	for _, varying := range []string{"PATH", "AWS_LAMBDA_RUNTIME_API", "AWS_LAMBDA_LOG_STREAM_NAME",
		"_X_AMZN_TRACE_ID"} {
		check.That(t, got[varying] != "", "%s is not set", varying)
		delete(got, varying)
	}
	want := map[string]string{
		"OWN": "yes", "AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "us-east-1", "_HANDLER": "main",
		"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_SESSION_TOKEN": "local",
		"AWS_LAMBDA_FUNCTION_NAME": "probe", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512", "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
		"AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand", "AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/probe",
		"AWS_LAMBDA_LOG_FORMAT": "JSON", "AWS_LAMBDA_LOG_LEVEL": "WARN", "AWS_XRAY_CONTEXT_MISSING": "LOG_ERROR",
		"LAMBDA_TASK_ROOT": filepath.Dir(probe), "LAMBDA_RUNTIME_DIR": "/var/runtime", "LANG": "en_US.UTF-8", "TZ": ":UTC",
	}
	check.Is(t, cmp.Diff(want, got), "")
}
