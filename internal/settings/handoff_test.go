package settings_test

import (
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/settings"
	"github.com/streamsort/streamsort/pkg/handoff"
)

func TestDeliverer(t *testing.T) {
	tables(t)
	t.Setenv("STREAMSORT_CONSUMERS_TABLE", "k-1")
	t.Setenv("STREAMSORT_AUDIT_TABLE", "a-1")
	t.Setenv("STREAMSORT_TROUBLE_TABLE", "t-1")
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	s, err := settings.FromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	if want := (handoff.Names{Consumers: "k-1", Audit: "a-1", Trouble: "t-1"}); s.Consumers != want {
		t.Errorf("tables %+v, want %+v", s.Consumers, want)
	}
	client, err := dynamo.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	deliverer, sorter, err := s.NewDeliverer(client, nil, nil)
	if err != nil || deliverer == nil || sorter == nil {
		t.Errorf("deliverer %v, sorter %v, error %v", deliverer, sorter, err)
	}
}

// TestOnlyWhatDeliversNeedsItsTables: the others start without them.
func TestOnlyWhatDeliversNeedsItsTables(t *testing.T) {
	tables(t)
	t.Setenv("STREAMSORT_CONSUMERS_TABLE", "")
	t.Setenv("STREAMSORT_AUDIT_TABLE", "")
	s, err := settings.FromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = s.NewDeliverer(nil, nil, nil)
	for _, name := range []string{"STREAMSORT_CONSUMERS_TABLE", "STREAMSORT_AUDIT_TABLE"} {
		if err == nil || !strings.Contains(err.Error(), name+" is not set") {
			t.Errorf("error %v, want one that names %s", err, name)
		}
	}
}
