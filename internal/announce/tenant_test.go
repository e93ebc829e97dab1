package announce_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/announce"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// The tenant of a queue or a tag stands beside the whole name.
func TestTenantIsPublished(t *testing.T) {
	details := bus(t, `{"FailedEntryCount":0,"Entries":[{"EventId":"1"}]}`)
	a := check.Get(announce.New("people", "", ""))
	gap, chain := said(), failedChain()
	gap.Queue, chain.Tag = "@acme/q", "@acme/tree"
	check.OK(t, errors.Join(
		a.Queue(t.Context(), gap),
		a.Consumer(t.Context(), delivery.Announcement{Kind: "consumer.blocked", Queue: "@acme/q", Consumer: "c"}),
		a.Chain(t.Context(), chain),
	))
	for i, want := range []string{`"queue":"@acme/q","tenant":"acme",`, `"queue":"@acme/q","tenant":"acme",`, `"tag":"@acme/tree","tenant":"acme",`} {
		if i >= len(*details) || !strings.Contains((*details)[i], want) {
			t.Errorf("no %s in %v", want, *details)
		}
	}
}
