package quota_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/quota"
)

func TestRead(t *testing.T) {
	got, err := quota.Read([]byte(`{"quotas": [
		{"name": "*", "messages": 100, "bytes": 1000000, "newQueues": 60, "newChains": 600},
		{"name": "acme", "messages": 5000}
	]}`))
	want := []quota.Quota{
		{Name: "*", Limits: quota.Amounts{quota.Messages: 100, quota.Bytes: 1000000, quota.NewQueues: 60, quota.NewChains: 600}},
		{Name: "acme", Limits: quota.Amounts{quota.Messages: 5000}},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestReadNamesWhatIsWrong(t *testing.T) {
	for entry, want := range map[string]string{
		`{"name": "a/b", "messages": 1}`:                       "quotas[0].name has the character",
		`{"messages": 1}`:                                      "quotas[0].name has 0 bytes",
		`{"name": 1, "messages": 1}`:                           "quotas[0].name ",
		`{"name": "a"}`:                                        "without a quota",
		`{"name": "a", "messages": 0}`:                         "quotas[0].messages must be an integer from 1 to 1000000000000: it is 0",
		`{"name": "a", "bytes": 1000000000001}`:                "quotas[0].bytes must be an integer from 1 to 1000000000000: it is 1000000000001",
		`{"name": "a", "chains": 1}`:                           "quotas[0].chains is not known",
		`{"name": "a", "bytes": 1}, {"name": "a", "bytes": 2}`: "quotas[1].name",
		`{"name": "${A}", "bytes": 1}`:                         "quotas[0].name has the character",
	} {
		_, err := quota.Read(fmt.Appendf(nil, `{"quotas": [%s]}`, entry))
		check.That(t, err != nil && strings.Contains(err.Error(), want),
			"%s: error %v, want %q", entry, err, want)
	}
}
