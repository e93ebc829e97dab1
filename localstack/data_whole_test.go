//go:build whole

package localstack

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dev/localdb"
)

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
