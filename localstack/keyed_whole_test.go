//go:build whole

package localstack

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/localstack/eventsource"
)

// window is the settle window of these tests' queues.
const window = time.Second

// sorted is a message as a consumer, or a reader, is given it.
type sorted struct {
	queue string
	seq   int64
	key   int
	late  bool
	id    string
	at    time.Time
}

// sortedOut are the messages that a consumer was given, each the first time.
type sortedOut struct {
	mu  sync.Mutex
	all map[string]sorted
}

func (o *sortedOut) line(l Line) {
	var m sorted
	var ms int64
	if n, _ := fmt.Sscanf(l.Text, "sorted %s %d %d %t %s %d", &m.queue, &m.seq, &m.key, &m.late, &m.id, &ms); n != 6 {
		return
	}
	m.at = time.UnixMilli(ms)
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

// makeKeyed makes queues k/0, k/1 and so on, which are sorted by numbers.
func makeKeyed(t *testing.T, s *Stack, queues int) {
	t.Helper()
	for i := range queues {
		body := fmt.Sprintf(`{"queue":"k/%d","kind":"keyed","keyType":"number","settle":%q}`, i, window)
		persist(t, s, "PUT", "/queues", body)
	}
}

// persist makes a request until it is answered as it should be: a process that is killed answers
// nothing.
func persist(t *testing.T, s *Stack, method, path, body string) map[string]any {
	t.Helper()
	var answer map[string]any
	await.True(t, path, func() bool {
		var status int
		status, answer = fetch[map[string]any](t, method, s.URL()+path, body)
		check.Need(t, status < 400 || status >= 500, "%s: %d %v", path, status, answer)
		return status < 400
	})
	return answer
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
		all = append(all, fmt.Sprintf(`{"queue":"k/%d","key":%d,"id":"m%d","body":%d}`, key%queues, key, key, key))
	}
	return `{"messages":[` + strings.Join(all, ",") + `]}`
}

// checkSorted checks what came out: each message once, in contiguous seqs; those that are not late
// by their keys, and those that are behind a greater one.
func checkSorted(t *testing.T, out []sorted, n int) (late int) {
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
		if ids[m.id] = true; m.late {
			late++
		}
		high, before = max(high, m.key), m
	}
	check.That(t, len(out) == n && len(ids) == n, "%d %d %d", len(out), len(ids), n)
	return late
}

// TestMessagesComeOutByTheirKeys: what is put out of order comes to a consumer in the order of its
// keys, when its settle window is over, by the timer alone: no sweep runs. SORTED_SECONDS says for
// how long 200 messages a second are put to 50 queues, and must be out a second after their window
// at the median; without it there are fewer of both, and no figure is checked.
func TestMessagesComeOutByTheirKeys(t *testing.T) {
	rate, queues, seconds, measures := 50, 5, 4, false
	if long, err := strconv.Atoi(os.Getenv("SORTED_SECONDS")); err == nil {
		rate, queues, seconds, measures = 200, 50, long, true
	}
	s := run(t, Config{
		Templates: []string{"testdata/streamsort.quiet.patch.json", "testdata/moody.template.json"},
		Env:       map[string]string{"STREAMSORT_EVENT_BUS": ""},
	})
	out := sortedOut{all: map[string]sorted{}}
	defer s.Subscribe(out.line)()
	makeKeyed(t, s, queues)
	warm := 2 * queues // before the figure, so that no process has to start
	n := warm + rate*seconds
	keys := disordered(n)
	persist(t, s, "POST", "/messages", messagesOf(keys[:warm], queues))
	await.True(t, "the first messages", func() bool { return out.count() == warm })

	const group = 10
	put, tick := map[string]time.Time{}, time.NewTicker(group*time.Second/time.Duration(rate))
	defer tick.Stop()
	var calls sync.WaitGroup
	for from := warm; from < n; from += group {
		<-tick.C
		part := keys[from:min(from+group, n)]
		for _, key := range part {
			put[fmt.Sprint("m", key)] = time.Now()
		}
		calls.Go(func() { persist(t, s, "POST", "/messages", messagesOf(part, queues)) })
	}
	calls.Wait()
	await.True(t, "all messages", func() bool { return out.count() == n })

	out.mu.Lock()
	defer out.mu.Unlock()
	var all []sorted
	var took []time.Duration
	for id, m := range out.all {
		all = append(all, m)
		if at, timed := put[id]; timed {
			took = append(took, m.at.Sub(at))
		}
	}
	late := checkSorted(t, all, n)
	slices.Sort(took)
	median, p99 := took[len(took)/2], took[(len(took)*99-1)/100]
	t.Logf("window %v, %d messages a second in %d queues: out after %.2f windows at the median, %.2f at p99 (the least %.2f); %d late; %d wake-ups for %d messages",
		window, rate, queues, median.Seconds()/window.Seconds(), p99.Seconds()/window.Seconds(), took[0].Seconds()/window.Seconds(), late, s.Queues()[0].Stats.Sent, n)
	if measures && (median > 2*window || p99 > 3*window) {
		t.Errorf("out after %v at the median and %v at p99; want %v and %v at most", median, p99, 2*window, 3*window)
	}
}

// TestKeyedQueuesInChaos: with wake-ups that are dropped, doubled and late, stream records
// likewise, and processes that are killed, one sweep later nothing waits, and nothing is lost or
// out of order.
func TestKeyedQueuesInChaos(t *testing.T) {
	const queues, n = 20, 800
	s := run(t, Config{
		Templates: []string{"testdata/streamsort.quiet.patch.json"},
		Env:       map[string]string{"STREAMSORT_EVENT_BUS": "", "SweepFunction.STREAMSORT_SWEEP_EVERY": "30s"},
		Chaos: Chaos{
			Seed: 7, Kill: 0.1, Duplicate: 0.2, Drop: 0.2, Late: 0.3, LateBy: time.Second,
			Queues: eventsource.Chaos{Drop: 0.3, Duplicate: 0.3, Late: 0.3, LateBy: 2 * time.Second},
		},
	})
	makeKeyed(t, s, queues)
	keys, tick := disordered(n), time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	for from := 0; from < n; from += 20 {
		<-tick.C
		persist(t, s, "POST", "/messages", messagesOf(keys[from:from+20], queues))
	}
	var all []sorted
	await.Until(t, "a sweep that settles all, and is not killed", func() (bool, any) {
		responses, err := s.Trigger(t.Context(), "SweepSchedule")
		all = nil
		for i := range queues {
			all = append(all, readSorted(t, s, fmt.Sprint("k/", i))...)
		}
		return err == nil && len(responses) == 1 && responses[0].FunctionError == "" && len(all) == n, len(all)
	})
	late := checkSorted(t, all, n)
	stats := s.Queues()[0].Stats
	t.Logf("%d of %d late; wake-ups: %+v", late, n, stats)
	check.That(t, stats.Dropped != 0 && stats.Doubled != 0, "%+v", stats)
}

// readSorted reads a whole queue.
func readSorted(t *testing.T, s *Stack, queue string) (all []sorted) {
	t.Helper()
	for after := int64(0); ; {
		answer := persist(t, s, "GET", fmt.Sprintf("/messages?queue=%s&after=%d", queue, after), "")
		text := check.Get(json.Marshal(answer["messages"]))
		var page []struct {
			Seq  int64
			Key  int
			Late bool
			ID   string
		}
		check.OK(t, json.Unmarshal(text, &page))
		if len(page) == 0 {
			return all
		}
		for _, m := range page {
			all, after = append(all, sorted{queue: queue, seq: m.Seq, key: m.Key, late: m.Late, id: m.ID}), m.Seq
		}
	}
}
