package settings_test

import (
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/settings"
	"github.com/streamsort/streamsort/pkg/xorack"
)

func TestAcks(t *testing.T) {
	t.Setenv("STREAMSORT_CHAINS_TABLE", "c-1")
	t.Setenv("STREAMSORT_TAG_KEY", "id")
	t.Setenv("STREAMSORT_TOMBSTONE", "90m")
	a, err := settings.AcksFromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	if want := (xorack.Names{Chains: "c-1", TagKey: "id"}); a.Names != want || a.Tombstone != 90*time.Minute {
		t.Errorf("%+v", a)
	}
}

func TestAcksNameWhatIsWrong(t *testing.T) {
	t.Setenv("STREAMSORT_CHAINS_TABLE", "")
	t.Setenv("STREAMSORT_TAG_KEY", "ops")
	t.Setenv("STREAMSORT_TOMBSTONE", "5m")
	_, err := settings.AcksFromEnvironment()
	for _, want := range []string{"STREAMSORT_CHAINS_TABLE is not set", "STREAMSORT_TAG_KEY tag key must not be ops", "STREAMSORT_TOMBSTONE must be at least 1h0m0s"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	t.Setenv("STREAMSORT_TOMBSTONE", "soon")
	if _, err := settings.AcksFromEnvironment(); err == nil || !strings.Contains(err.Error(), "STREAMSORT_TOMBSTONE must be a duration") {
		t.Errorf("error %v", err)
	}
}
