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
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dynamo"
)

// TestDataIsKept: a stack that is started again has the items of the one before, and its
// functions are given what the one before had not given them.
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
			client, err := dynamo.New(&dynamo.Options{Endpoint: second.DynamoDB()})
			if err != nil {
				t.Fatal(err)
			}
			items, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("shop-Orders")})
			if err != nil || len(items.Items) != 1 {
				t.Errorf("kept %v, %v", items, err)
			}
			put(t, second, "b")
			await.True(t, "both records", func() bool { return second.Mappings()[0].Stats.Delivered == 2 })
			second.Close()
		})
	}
}

func TestDataNeedsAServerOfItsOwn(t *testing.T) {
	_, err := Run(t.Context(), Config{Templates: shop, Server: "http://127.0.0.1:1", Data: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "config.Data") {
		t.Errorf("error %v", err)
	}
}
