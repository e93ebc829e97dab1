package ddbtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/localdb"
)

// TestServers: none without the variable, all with the tag, those that it names, and an error for
// what is no server.
func TestServers(t *testing.T) {
	t.Setenv("DYNAMODB_ENDPOINT", "")
	for _, c := range []struct {
		names string
		whole bool
		want  []Kind
	}{
		{"", false, nil},
		{"", true, []Kind{Dynoxide, DynamoDBLocal}},
		{"any", true, []Kind{localdb.Choose()}},
		{"dynamodb-local", false, []Kind{DynamoDBLocal}},
		{"dynoxide,dynamodb-local", false, []Kind{Dynoxide, DynamoDBLocal}},
	} {
		got := check.Get(servers(c.names, c.whole))
		check.That(t, slices.Equal(got, c.want), "%+v %+v %+v %+v", c.names, c.whole, got, c.want)
	}
	for _, name := range []string{"dynamo", "memory", "given", "dynoxide,"} {
		if got, err := servers(name, false); err == nil ||
			!strings.Contains(err.Error(), "STREAMSORT_SERVERS names") {
			t.Errorf("%q: %v, %v", name, got, err)
		}
	}
	t.Setenv("DYNAMODB_ENDPOINT", "http://127.0.0.1:1")
	for _, name := range []string{"", "any", "given"} {
		got := check.Get(servers(name, true))
		check.That(t, slices.Equal(got, []Kind{Given}), "%+v %+v", name, got)
	}
}
