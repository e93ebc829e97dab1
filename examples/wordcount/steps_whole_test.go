//go:build whole

package main

import (
	"context"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// TestAnyOrderAndRepeats runs the functions as Lambda may: each work twice, in any order, some of
// them dying before they have passed all on. The tree is done once its last word is counted, and
// each word counts once.
func TestAnyOrderAndRepeats(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 6))
		acker, err := xorack.New(xorack.NewMemory(), nil)
		check.OK(t, err)
		counts := newCounts(t)
		counts.failing = "wolf"
		waiting := []work{{"database", []byte(`{"files":[{"name":"a","text":"A wolf, a sea"},{"name":"b","text":"A sea"},{"name":"c","text":""}]}`)}}
		waiting = append(waiting, waiting[0])
		for len(waiting) > 0 {
			i := random.IntN(len(waiting))
			at := waiting[i]
			s := &steps{acker: acker, counts: counts, next: func(_ context.Context, payload []byte) error {
				next := work{map[string]string{"database": "file", "file": "word"}[at.of], payload}
				switch random.IntN(6) {
				case 0:
					return errLost
				case 1:
					waiting = append(waiting, next)
					return errLost
				}
				waiting = append(waiting, next, next)
				return nil
			}}
			if err := do(t, s, at); err == nil { // else Lambda repeats it
				waiting = append(waiting[:i], waiting[i+1:]...)
			}
		}
		chain, err := acker.Get(t.Context(), tag)
		if err != nil || chain.End() != xorack.Done || chain.Edges != 10 || chain.EdgesEnded() != 10 {
			t.Errorf("seed %d: %s with %d edges, %d ended, error %v", seed, chain.End(), chain.Edges,
				chain.EdgesEnded(), err)
		}
		got, want := counts.of(t), map[string]int{"a": 3, "wolf": 1, "sea": 2}
		check.That(t, maps.Equal(got, want), "seed %d: counted %v, want %v", seed, got, want)
	}
}

// newCounts makes a table as the template does.
func newCounts(t *testing.T) *counts {
	t.Helper()
	client, err := dynamo.New(&dynamo.Options{Endpoint: ddbtest.Endpoint(t, localdb.Choose())})
	check.OK(t, err)
	c := &counts{client: client, table: "counts-" + ddbtest.Suffix()}
	check.Get(client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &c.table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: new("tag"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: new("word"), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: new("tag"), KeyType: types.KeyTypeHash}, {AttributeName: new("word"), KeyType: types.KeyTypeRange},
		},
	}))
	return c
}

// of are the counts in the table.
func (c *counts) of(t *testing.T) map[string]int {
	t.Helper()
	out, err := c.client.Scan(t.Context(),
		&dynamodb.ScanInput{TableName: &c.table, ConsistentRead: new(true)})
	check.OK(t, err)
	got := map[string]int{}
	for _, item := range out.Items {
		edges, _ := item["edges"].(*types.AttributeValueMemberSS)
		got[item["word"].(*types.AttributeValueMemberS).Value] = len(edges.Value)
	}
	return got
}
