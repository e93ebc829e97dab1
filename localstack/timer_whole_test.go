//go:build whole

package localstack

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
)

// given is when a consumer was given its batches, by queue and attempt.
type given struct {
	mu sync.Mutex
	at map[string]time.Time
}

func (g *given) line(l Line) {
	var queue string
	var seq, attempt, ms int64
	if n, _ := fmt.Sscanf(l.Text, "given %s %d %d %d", &queue, &seq, &attempt, &ms); n != 4 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if key := fmt.Sprintf("%s %d", queue, attempt); g.at[key].IsZero() {
		g.at[key] = time.UnixMilli(ms)
	}
}

func (g *given) when(queue string, attempt int) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.at[fmt.Sprintf("%s %d", queue, attempt)]
}

// measured is how late what was due was done, by kind.
type measured map[string][]time.Duration

// tells checks that nothing came early, and logs how late it was: the median, and the 99th of a
// hundred.
func (m measured) tells(t *testing.T) {
	t.Helper()
	for _, kind := range slices.Sorted(maps.Keys(m)) {
		all := m[kind]
		slices.Sort(all)
		median, p99 := all[len(all)/2], all[(len(all)*99-1)/100]
		t.Logf("%-9s %3d, done %4d ms after they were due at the median, %4d ms at p99", kind, len(all), median.Milliseconds(), p99.Milliseconds())
		check.That(t, all[0] >= -100*time.Millisecond, "%s: %v after they were due", kind, all)
	}
}

// TestWhatIsDueHappensWhenItIsDue: retries, skips, takeovers of what a dead process claimed,
// chains' deadlines, and holes that last, by the timer alone: no sweep runs. TIMER_THINGS says how
// many of each, and has the wake-ups counted.
func TestWhatIsDueHappensWhenItIsDue(t *testing.T) {
	n, measures := 4, false
	if things, err := strconv.Atoi(os.Getenv("TIMER_THINGS")); err == nil {
		n, measures = things, true
	}
	s := run(t, Config{
		Templates: []string{"testdata/streamsort.quiet.patch.json", "testdata/moody.template.json"},
		Env:       map[string]string{"STREAMSORT_EVENT_BUS": ""},
	})
	g := given{at: map[string]time.Time{}}
	defer s.Subscribe(g.line)()
	call := func(method, path, body string) map[string]any {
		status, answer := fetch[map[string]any](t, method, s.URL()+path, body)
		check.Need(t, status == 200 || status == 202, "%s: %d %v", path, status, answer)
		return answer
	}
	opened, deadlines := make([]time.Time, n), make([]time.Time, n)
	for i := range n {
		call("POST", "/messages", fmt.Sprintf(`{"queue":"retry/%d","seq":1,"body":1}`, i))
		call("PUT", "/queues", fmt.Sprintf(`{"queue":"skip/%d","policy":"skip","gapAfter":"5s"}`, i))
		opened[i] = time.Now() // at the earliest
		call("POST", "/messages", fmt.Sprintf(`{"queue":"skip/%d","seq":2,"body":1}`, i))
		call("POST", "/acks", fmt.Sprintf(`{"operation":"create","tag":"chain%d","deadline":"%ds"}`, i, 3+i%5))
		deadlines[i] = at(t, call("GET", fmt.Sprint("/chains?tag=chain", i), "")["chain"].(map[string]any), "deadline")
	}
	// Before a process dies: what it logged last is lost with it.
	await.True(t, "retries and skips", func() bool {
		for i := range n {
			if g.when(fmt.Sprint("retry/", i), 3).IsZero() || g.when(fmt.Sprint("skip/", i), 1).IsZero() {
				return false
			}
		}
		return true
	})
	leases := make([]time.Time, n)
	for i := range n {
		// One after the other: a process that dies has the rest of its batch begun anew, by one
		// that does not know what was sent.
		call("POST", "/messages", fmt.Sprintf(`{"queue":"die/%d","seq":1,"body":1}`, i))
		await.True(t, "a claim", func() bool {
			consumers, _ := call("GET", fmt.Sprintf("/consumers?queue=die/%d", i), "")["consumers"].([]any)
			if len(consumers) == 0 || consumers[0].(map[string]any)["claim"] == nil {
				return false
			}
			leases[i] = at(t, consumers[0].(map[string]any)["claim"].(map[string]any), "leaseUntil")
			return true
		})
	}
	await.True(t, "the takeovers", func() bool {
		for i := range n {
			if g.when(fmt.Sprint("die/", i), 2).IsZero() {
				return false
			}
		}
		return true
	})
	late := measured{}
	for i := range n {
		retry, die := fmt.Sprint("retry/", i), fmt.Sprint("die/", i)
		late["retries"] = append(late["retries"], g.when(retry, 3).Sub(g.when(retry, 2).Add(10*time.Second)))
		late["takeovers"] = append(late["takeovers"], g.when(die, 2).Sub(leases[i]))
		late["skips"] = append(late["skips"], g.when(fmt.Sprint("skip/", i), 1).Sub(opened[i].Add(5*time.Second)))
		var chain map[string]any
		await.True(t, "the end of a chain", func() bool {
			chain = call("GET", fmt.Sprint("/chains?tag=chain", i), "")["chain"].(map[string]any)
			return chain["endedAt"] != nil
		})
		late["chains"] = append(late["chains"], at(t, chain, "endedAt").Sub(deadlines[i]))
	}
	sent := s.Queues()[0].Stats.Sent
	t.Logf("%d wake-ups for %d due times", sent, 4*n)
	if measures && float64(sent) > 1.2*float64(4*n) { // a slow machine's are more
		t.Errorf("%d wake-ups for %d due times, want 1.2 each at most", sent, 4*n)
	}

	// Holes that last, 30 a call: those of a call are skipped together.
	const holes = 30
	call("PUT", "/queues", `{"queue":"holes","policy":"skip","gapAfter":"5s"}`)
	began := make([]time.Time, n)
	for i := range n {
		var messages []string
		for hole := range holes {
			seq := 2 * (holes*i + hole + 1)
			messages = append(messages, fmt.Sprintf(`{"queue":"holes","seq":%d,"body":1}`, seq))
		}
		began[i] = time.Now()
		call("POST", "/messages", `{"messages":[`+strings.Join(messages, ",")+`]}`)
	}
	for i := range n {
		await.True(t, "the holes of a call", func() bool {
			return call("GET", "/queues?queue=holes", "")["position"].(float64) >= float64(2*holes*(i+1))
		})
		late["holes"] = append(late["holes"], time.Since(began[i].Add(5*time.Second)))
	}
	// The timer's whole seconds, and what a put and a poll take.
	worst := slices.Max(late["holes"])
	check.That(t, !measures || worst <= 1500*time.Millisecond, "%v", worst)
	late.tells(t)
}

// at is a time of a document.
func at(t *testing.T, document map[string]any, name string) time.Time {
	t.Helper()
	text, _ := document[name].(string)
	when, err := time.Parse(time.RFC3339Nano, text)
	check.Need(t, err == nil, "%s of %v: %v", name, document, err)
	return when
}
