//go:build whole

package localstack

import (
	"fmt"
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

// TestWhatIsDueHappensWhenItIsDue, and not before: retries, skips, takeovers of what a dead process
// claimed, and chains' deadlines, by the timer alone: no sweep runs.
func TestWhatIsDueHappensWhenItIsDue(t *testing.T) {
	const n = 4
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
		call("POST", "/acks",
			fmt.Sprintf(`{"operation":"create","tag":"chain%d","deadline":"%ds"}`, i, 3+i%5))
		deadlines[i] = at(t,
			call("GET", fmt.Sprint("/chains?tag=chain", i), "")["chain"].(map[string]any), "deadline")
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
	for i := range n {
		retry, die, skip := fmt.Sprint("retry/", i), fmt.Sprint("die/", i), fmt.Sprint("skip/", i)
		late := map[string]time.Duration{
			retry: g.when(retry, 3).Sub(g.when(retry, 2).Add(10 * time.Second)),
			die:   g.when(die, 2).Sub(leases[i]),
			skip:  g.when(skip, 1).Sub(opened[i].Add(5 * time.Second)),
		}
		var chain map[string]any
		await.True(t, "the end of a chain", func() bool {
			chain = call("GET", fmt.Sprint("/chains?tag=chain", i), "")["chain"].(map[string]any)
			return chain["endedAt"] != nil
		})
		late["chain"] = at(t, chain, "endedAt").Sub(deadlines[i])
		for what, by := range late {
			check.That(t, by >= -100*time.Millisecond, "%s was done %v after it was due", what, by)
		}
	}
}

// at is a time of a document.
func at(t *testing.T, document map[string]any, name string) time.Time {
	t.Helper()
	text, _ := document[name].(string)
	when, err := time.Parse(time.RFC3339Nano, text)
	check.Need(t, err == nil, "%s of %v: %v", name, document, err)
	return when
}
