//go:build whole

package localstack

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/await"
)

// TestStreamsort runs this project's own template, once as it is and once with
// processes killed and batches delivered twice: messages sent out of order,
// each until it is accepted, all end up under the cursor.
func TestStreamsort(t *testing.T) {
	runs := map[string]Chaos{
		"calm":  {},
		"chaos": {Seed: 1, Kill: 0.3, Duplicate: 0.3, Late: 0.3, LateBy: 20 * time.Millisecond},
	}
	for name, chaos := range runs {
		t.Run(name, func(t *testing.T) {
			s := run(t, Config{Templates: []string{"streamsort.template.json"}, Chaos: chaos})
			const n = 30
			for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(n) {
				send(t, s, i+1, chaos.Kill > 0)
			}
			await.True(t, "the cursor", func() bool { return position(t, s) == n })
			since := time.Now()
			await.True(t, "the stream to be dealt with", func() bool { return s.Idle(since) })
			if failures := s.Failures(); len(failures) != 0 {
				t.Errorf("failures: %+v", failures)
			}
			for _, mapping := range s.Mappings() {
				if mapping.LogicalID == "SortMapping" && mapping.Stats.Delivered < n {
					t.Errorf("sort was given %d records of %d", mapping.Stats.Delivered, n)
				}
			}
			if name == "chaos" {
				if s.Killed() == 0 {
					t.Error("no process was killed")
				}
				return
			}
			responses, err := s.Trigger(t.Context(), "SweepSchedule")
			if err != nil || len(responses) != 1 || responses[0].FunctionError != "" {
				t.Errorf("sweep: %+v, %v", responses, err)
			}
		})
	}
}

// send posts a message until it is accepted; where nothing goes wrong on
// purpose, the first try must do.
func send(t *testing.T, s *Stack, seq int, again bool) {
	t.Helper()
	for {
		status, answer := fetch[map[string]any](t, "POST", s.URL()+"/messages", fmt.Sprintf(`{"queue":"q","seq":%d,"body":"m%d"}`, seq, seq))
		switch {
		case status == 200 || status == 202:
			return
		case status < 500 || !again:
			t.Fatalf("message %d: %d %v", seq, status, answer)
		}
	}
}

// position is the queue's, -1 where the answer was lost on purpose.
func position(t *testing.T, s *Stack) float64 {
	t.Helper()
	status, queue := fetch[map[string]any](t, "GET", s.URL()+"/queues?queue=q", "")
	at, ok := queue["position"].(float64)
	switch {
	case status >= 500:
		return -1
	case status != 200 || !ok:
		t.Fatalf("status of the queue: %d %v", status, queue)
	}
	return at
}
