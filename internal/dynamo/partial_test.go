package dynamo_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/table"
)

// TestWhatABatchLeavesIsSaid: of a batch DynamoDB may do a part only.
func TestWhatABatchLeavesIsSaid(t *testing.T) {
	def := &table.Definition{Name: "t", Partition: table.Key{Name: "p", Type: table.String}, Sort: table.Key{Name: "s", Type: table.Number}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const key = `{"p":{"S":"a"},"s":{"N":"%d"}}`
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		if r.Header.Get("X-Amz-Target") == "DynamoDB_20120810.BatchGetItem" {
			fmt.Fprintf(w, `{"Responses":{"t":[]},"UnprocessedKeys":{"t":{"Keys":[`+key+`]}}}`, 1)
			return
		}
		fmt.Fprintf(w, `{"UnprocessedItems":{"t":[{"DeleteRequest":{"Key":`+key+`}},{"PutRequest":{"Item":`+key+`}}]}}`, 1, 2)
	}))
	t.Cleanup(server.Close)
	client := check.Get(dynamo.New(&dynamo.Options{Endpoint: server.URL, MaxAttempts: 1}))
	engine, op, three := dynamo.NewEngine(client), ddb.Op{Op: "batch", Table: def}, manyKeys(3)
	for _, c := range []struct {
		r    ddb.Request
		left []ddb.Item
	}{
		{ddb.BatchGet{Op: op, Keys: three}, three[1:2]},
		{ddb.BatchWrite{Op: op, Deletes: three[:2], Puts: three[2:]}, three[1:]},
	} {
		a, err := engine.Do(t.Context(), c.r)
		check.That(t, err == nil && fmt.Sprint(a.Left) == fmt.Sprint(c.left),
			"%T: left %v, %v; want %v", c.r, a.Left, err, c.left)
	}
}
