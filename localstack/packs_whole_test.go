//go:build whole

package localstack

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/await"
)

// TestBatchesInOrderInChaos: batches of 25, each sent until all of it is accepted, are one item
// each where nothing goes wrong; with processes killed and records dropped, doubled and late,
// a consumer is given every message, in order.
func TestBatchesInOrderInChaos(t *testing.T) {
	const queues, batches, size = 5, 8, 25
	s := run(t, Config{
		Templates: []string{"testdata/streamsort.quiet.patch.json", "testdata/moody.template.json"},
		Env:       map[string]string{"STREAMSORT_EVENT_BUS": ""},
		Chaos:     Chaos{Seed: 3, Kill: 0.1, Duplicate: 0.2, Late: 0.3, LateBy: 50 * time.Millisecond},
	})
	var mu sync.Mutex
	got := map[string][]int{}
	defer s.Subscribe(func(l Line) {
		var queue string
		var seq int
		if n, _ := fmt.Sscanf(l.Text, "packed %s %d", &queue, &seq); n != 2 {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if !slices.Contains(got[queue], seq) { // not what is given again
			got[queue] = append(got[queue], seq)
		}
	})()
	var senders sync.WaitGroup
	for i := range queues {
		queue := fmt.Sprint("packed/", i)
		persist(t, s, "PUT", "/queues", fmt.Sprintf(`{"queue":%q,"packs":"on"}`, queue))
		senders.Go(func() {
			for first := 1; first < batches*size; first += size {
				sendBatch(t, s, queue, first, size)
			}
		})
	}
	senders.Wait()
	out := func() (all int) {
		mu.Lock()
		defer mu.Unlock()
		for _, seqs := range got {
			all += len(seqs)
		}
		return all
	}
	await.True(t, "all messages, and the sweep where one was forgotten", func() bool {
		if out() == queues*batches*size {
			return true
		}
		_, _ = s.Trigger(t.Context(), "SweepSchedule")
		return false
	})
	for queue, seqs := range got {
		if !slices.IsSorted(seqs) {
			t.Errorf("%s was delivered as %v", queue, seqs)
		}
	}
}

// sendBatch puts messages of a queue from a seq on, until all are accepted.
func sendBatch(t *testing.T, s *Stack, queue string, first, size int) {
	var all []string
	for seq := first; seq < first+size; seq++ {
		all = append(all, fmt.Sprintf(`{"queue":%q,"seq":%d,"body":%d}`, queue, seq, seq))
	}
	await.True(t, queue, func() bool {
		status, answer := fetch[struct {
			Results []struct{ Status int }
		}](t, "POST", s.URL()+"/messages", `{"messages":[`+strings.Join(all, ",")+`]}`)
		if status >= 400 && status < 500 {
			t.Fatalf("%s: %d %+v", queue, status, answer)
		}
		return status < 400 && !slices.ContainsFunc(answer.Results, func(r struct{ Status int }) bool { return r.Status >= 400 })
	})
}
