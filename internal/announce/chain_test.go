package announce_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/announce"
	"github.com/streamsort/streamsort/pkg/xorack"
)

func failedChain() xorack.Chain {
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return xorack.Chain{
		Tag: "night run", Incarnation: xorack.Incarnation{1}, Edges: 3, Ops: []xorack.Op{{1}}, Created: created,
		Recorded: xorack.Failed, Reason: "disk full", LastOp: xorack.Op{2}, EndedAt: created.Add(90 * time.Second),
	}
}

func wantChain() string {
	return `{"id":"` + failedChain().EventID() + `","kind":"chain.failed","tag":"night run","outcome":"FAILED","reason":"disk full",` +
		`"operation":"0200000000000000","edges":3,"edgesEnded":1,"createdAt":"2026-01-02T03:04:05Z","endedAt":"2026-01-02T03:05:35Z","ageSeconds":90}`
}

func TestAnnounceAChain(t *testing.T) {
	details := bus(t, `{"FailedEntryCount":0,"Entries":[{"EventId":"1"}]}`)
	a, err := announce.New("people", "", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Chain(t.Context(), failedChain()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"people streamsort chain.failed " + wantChain()}, *details); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
