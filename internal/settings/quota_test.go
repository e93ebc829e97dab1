package settings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/settings"
)

func TestQuotas(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	t.Setenv("LAMBDA_TASK_ROOT", t.TempDir())
	client, err := dynamo.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	if keeper, err := settings.NewQuotas(client); keeper != nil || err != nil {
		t.Errorf("%v, %v; want none without a table", keeper, err)
	}
	t.Setenv("STREAMSORT_QUOTAS_TABLE", "q-1")
	if _, err := settings.NewQuotas(client); err == nil || !strings.Contains(err.Error(), quota.File) {
		t.Errorf("error %v, want that there is no file", err)
	}
	for text, want := range map[string]string{
		`{"quotas": []}`: "quotas.json: quotas has 0",
		`{"quotas": [{"name": "acme", "messages": 1}]}`: "",
	} {
		if err := os.WriteFile(filepath.Join(os.Getenv("LAMBDA_TASK_ROOT"), quota.File), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		keeper, err := settings.NewQuotas(client)
		if want == "" && (err != nil || !keeper.Bounds("acme", quota.Messages) || keeper.Bounds("zoo", quota.Messages)) {
			t.Errorf("%v, %v", keeper, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
