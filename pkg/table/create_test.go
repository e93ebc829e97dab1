package table_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/table"
)

// TestCreate makes tables, makes them again, and goes on where a call stopped before it switched
// the TTL on.
func TestCreate(t *testing.T) {
	onEachServer(t, func(t *testing.T, client *dynamodb.Client) {
		plain := table.Definition{Name: "plain" + ddbtest.Suffix(),
			Partition: table.Key{Name: "p", Type: table.String}}
		check.OK(t, table.Create(t.Context(), client, plain))
		half := plain // made, and nothing more
		half.TTL = "expires"
		check.OK(t, table.Create(t.Context(), client, whole(), half))
		d := whole()
		for range 2 {
			check.OK(t, table.Create(t.Context(), client, d, half))
		}
		for _, name := range []string{d.Name, half.Name} {
			ttl, err := client.DescribeTimeToLive(t.Context(),
				&dynamodb.DescribeTimeToLiveInput{TableName: &name})
			check.That(t, err == nil && aws.ToString(ttl.TimeToLiveDescription.AttributeName) == "expires",
				"TTL of %s: %+v, %v", name, ttl, err)
		}
		is, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &d.Name})
		check.OK(t, err)
		if s := is.Table.StreamSpecification; s == nil ||
			s.StreamViewType != types.StreamViewTypeKeysOnly {
			t.Errorf("stream %+v, want keys only", s)
		}
	})
}

// TestCreateDiffers finds a table of the same name that is another one.
func TestCreateDiffers(t *testing.T) {
	onEachServer(t, func(t *testing.T, client *dynamodb.Client) {
		d := whole()
		check.OK(t, table.Create(t.Context(), client, d))
		for want, change := range map[string]func(*table.Definition){
			`with the key p S, s N; want p S, s S`:                     func(o *table.Definition) { o.Sort.Type = table.String },
			`with the key p S, s N; want p S`:                          func(o *table.Definition) { o.Sort.Name = "" },
			`with the key "part N, at N" of its index due; want "p S"`: func(o *table.Definition) { o.Index.Partition, o.Index.Sort = o.Partition, table.Key{} },
			`with the key "" of its index more; want "part N, at N"`:   func(o *table.Definition) { o.Index.Name = "more" },
			`with the stream view "KEYS_ONLY"; want ""`:                func(o *table.Definition) { o.Stream = table.NoStream },
			`with the TTL attribute "expires"; want "at"`:              func(o *table.Definition) { o.TTL = "at" },
		} {
			other := d
			change(&other)
			err := table.Create(t.Context(), client, other)
			if err == nil || !strings.Contains(err.Error(), d.Name) || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v; want the table's name and %s", err, want)
			}
		}
	})
}

// whole is a definition that uses all that there is.
func whole() table.Definition {
	return table.Definition{
		Name: "whole" + ddbtest.Suffix(), Partition: table.Key{Name: "p", Type: table.String},
		Sort:   table.Key{Name: "s", Type: table.Number},
		Stream: table.KeysOnly, TTL: "expires",
		Index: table.Index{Name: "due", Partition: table.Key{Name: "part", Type: table.Number},
			Sort: table.Key{Name: "at", Type: table.Number}},
	}
}

func onEachServer(t *testing.T, test func(*testing.T, *dynamodb.Client)) {
	for _, kind := range ddbtest.Servers(t) {
		t.Run(string(kind), func(t *testing.T) {
			client := check.Get(dynamo.New(&dynamo.Options{Endpoint: ddbtest.Endpoint(t, kind)}))
			test(t, client)
		})
	}
}
