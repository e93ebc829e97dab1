package localstack

import (
	"testing"
)

func TestSources(t *testing.T) {
	s := run(t, Config{Templates: []string{"testdata/sources.patch.json"}})
	t.Log(s.URL(), s.services.Endpoint)
}
