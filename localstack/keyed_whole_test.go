//go:build whole

package localstack

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
)

// sorted is a message as a consumer is given it.
type sorted struct {
	queue string
	seq   int64
	key   int
	late  bool
	id    string
}

// sortedOut are the messages that a consumer was given, each the first time.
type sortedOut struct {
	mu  sync.Mutex
	all map[string]sorted
}

func (o *sortedOut) line(l Line) {
	var m sorted
	n, _ := fmt.Sscanf(l.Text, "sorted %s %d %d %t %s", &m.queue, &m.seq, &m.key, &m.late, &m.id)
	if n != 5 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, again := o.all[m.id]; !again {
		o.all[m.id] = m
	}
}

func (o *sortedOut) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.all)
}

// disordered are numbers from 0 on, each at most 40 places from its own.
func disordered(n int) []int {
	dice := rand.New(rand.NewPCG(1, 2))
	at, keys := make([]int, n), make([]int, n)
	for i := range n {
		at[i], keys[i] = i+dice.IntN(40), i
	}
	slices.SortStableFunc(keys, func(a, b int) int { return at[a] - at[b] })
	return keys
}

// messagesOf is a request that puts messages, whose queues and ids are made of their keys.
func messagesOf(keys []int, queues int) string {
	var all []string
	for _, key := range keys {
		all = append(all, fmt.Sprintf(`{"queue":"k/%d","key":%d,"id":"m%d","body":%d}`,
			key%queues, key, key, key))
	}
	return `{"messages":[` + strings.Join(all, ",") + `]}`
}

// checkSorted checks what came out: each message once, in contiguous seqs; those that are not late
// by their keys, and those that are behind a greater one.
func checkSorted(t *testing.T, out []sorted, n int) {
	t.Helper()
	slices.SortFunc(out, func(a, b sorted) int {
		return 2*strings.Compare(a.queue, b.queue) + min(1, max(-1, int(a.seq-b.seq)))
	})
	ids := map[string]bool{}
	high, before := -1, sorted{}
	for _, m := range out {
		if m.queue != before.queue {
			high, before = -1, sorted{}
		}
		check.That(t, m.seq == before.seq+1 && m.late == (m.key < high), "%+v %+v %d", m, before, high)
		ids[m.id] = true
		high, before = max(high, m.key), m
	}
	check.That(t, len(out) == n && len(ids) == n, "%d %d %d", len(out), len(ids), n)
}

// TestMessagesComeOutByTheirKeys: what is put out of order comes to a consumer in the order of its
// keys, when its settle window is over, by the timer alone: no sweep runs.
func TestMessagesComeOutByTheirKeys(t *testing.T) {
	const queues, n, group = 5, 200, 10
	s := run(t, Config{
		Templates: []string{"testdata/streamsort.quiet.patch.json", "testdata/moody.template.json"},
		Env:       map[string]string{"STREAMSORT_EVENT_BUS": ""},
	})
	out := sortedOut{all: map[string]sorted{}}
	defer s.Subscribe(out.line)()
	call := func(method, path, body string) {
		status, answer := fetch[map[string]any](t, method, s.URL()+path, body)
		check.Need(t, status < 400, "%s: %d %v", path, status, answer)
	}
	for i := range queues {
		body := `{"queue":"k/%d","kind":"keyed","keyType":"number","settle":"1s"}`
		call(http.MethodPut, "/queues", fmt.Sprintf(body, i))
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for part := range slices.Chunk(disordered(n), group) {
		<-tick.C
		call(http.MethodPost, "/messages", messagesOf(part, queues))
	}
	await.Until(t, "all messages", func() (bool, any) { return out.count() == n, out.count() })
	out.mu.Lock()
	defer out.mu.Unlock()
	checkSorted(t, slices.Collect(maps.Values(out.all)), n)
}
