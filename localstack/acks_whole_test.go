//go:build whole

package localstack

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/localstack/template"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// notified are the ends that a function of a user's was notified of, by tag.
type notified struct {
	mu   sync.Mutex
	ends map[string][]endLine
}

type endLine struct {
	Message, ID, Tag, Outcome, Reason string
	Edges, Ended                      int
}

func (w *notified) see(l Line) {
	var e endLine
	if json.Unmarshal([]byte(l.Text), &e) != nil || e.Message != "end" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ends[e.Tag] = append(w.ends[e.Tag], e)
}

// outcomes are the ends by tag, and whether all of a tag have one id.
func (w *notified) outcomes(t *testing.T) map[string]string {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]string{}
	for tag, ends := range w.ends {
		for _, e := range ends {
			check.That(t, e.ID != "" && e.ID == ends[0].ID && e.Outcome == ends[0].Outcome,
				"%s was announced as %+v", tag, ends)
		}
		// The reason of a time-out says when.
		reason, _, _ := strings.Cut(ends[0].Reason, " until ")
		out[tag] = strings.TrimSpace(ends[0].Outcome + " " + reason)
	}
	return out
}

// TestEndsOfChains has chains end in every way behind this project's own template, where batches
// come twice and late: a function of a user's is notified of each end through the table's stream,
// and nothing is left to do afterwards.
func TestEndsOfChains(t *testing.T) {
	s := run(t, Config{
		Templates: []string{"streamsort.template.json", "../examples/wordcount/wordcount.template.json"},
		Env: map[string]string{
			"AckFunction.STREAMSORT_EVENT_BUS": "", "SweepFunction.STREAMSORT_EVENT_BUS": "",
			"AckFunction.STREAMSORT_ANNOUNCE_FUNCTION": template.FunctionARN("EndFunction"),
		},
		Chaos: Chaos{Seed: 1, Duplicate: 0.5, Late: 0.5, LateBy: 20 * time.Millisecond},
	})
	w := &notified{ends: map[string][]endLine{}}
	t.Cleanup(s.Subscribe(w.see))
	want := endChains(t, s)
	await.True(t, "all ends to be announced", func() bool { return len(w.outcomes(t)) >= len(want) })
	idle(t, s)
	check.Is(t, cmp.Diff(want, w.outcomes(t)), "")
	check.Is(t, len(s.Failures()), 0)
	nothingIsDue(t, s)
	for tag := range want {
		status, answer := fetch[struct{ Chain struct{ State string } }](t, "GET",
			s.URL()+"/chains?tag="+tag, "")
		if outcome, _, _ := strings.Cut(want[tag], " "); status != 200 || answer.Chain.State != outcome {
			t.Errorf("chain %s: %d %+v, want %s", tag, status, answer, outcome)
		}
	}
}

// endChains ends chains through the API, and says how.
func endChains(t *testing.T, s *Stack) map[string]string {
	t.Helper()
	type answer struct {
		Outcome string
		Edges   []string
		Results []struct {
			Status int
			Type   string
		}
	}
	ack := func(format string, arguments ...any) answer {
		t.Helper()
		body := fmt.Sprintf(format, arguments...)
		status, a := fetch[answer](t, "POST", s.URL()+"/acks", body)
		check.Need(t, status == 200, "%.200s: %d %+v", body, status, a)
		for i, r := range a.Results {
			check.Need(t, r.Status == 200, "operation %d: %+v", i, r)
		}
		return a
	}
	create := func(tag string) string {
		t.Helper()
		return ack(`{"operation":"create","tag":%q}`, tag).Edges[0]
	}
	done := func(edge string) answer {
		t.Helper()
		return ack(`{"operation":"done","edge":%q}`, edge)
	}

	for _, edge := range ack(`{"operation":"done","edge":%q,"children":3}`, create("tree")).Edges {
		done(edge)
	}
	ack(`{"operation":"fail","edge":%q,"reason":"no luck"}`, create("failed"))
	create("deleted")
	ack(`{"operation":"delete","tag":"deleted"}`)
	ack(`{"operation":"create","tag":"stamps","stamp":"29"}`)
	ack(`{"operation":"stamp","tag":"stamps","stamp":"25"}`)
	ack(`{"operation":"stamp","tag":"stamps","stamp":"0c"}`)

	// Only the chain itself of a fan is announced, not its parts.
	fan := ack(`{"operation":"fan","edge":%q,"edges":200}`, create("fan")).Edges
	operations := make([]string, len(fan))
	for i, edge := range fan {
		operations[i] = fmt.Sprintf(`{"operation":"done","edge":%q}`, edge)
	}
	ack(`{"operations":[%s]}`, strings.Join(operations, ","))

	done(ack(`{"operation":"create","tag":"inner","parent":%q}`, create("outer")).Edges[0])
	inner := ack(`{"operation":"create","tag":"inner-failed","parent":%q}`, create("outer-failed")).
		Edges[0]
	ack(`{"operation":"fail","edge":%q,"reason":"no luck"}`, inner)

	// The work is done before the chain is created.
	done(xorack.Root("early", "", 0).String())
	if a := ack(`{"operation":"create","tag":"early"}`); a.Outcome != "ended" {
		t.Errorf("create after all work: %+v", a)
	}

	// One that is never done, found by the sweep once its deadline is over.
	ack(`{"operation":"create","tag":"late","deadline":"1ms"}`)
	await.True(t, "the deadline", func() bool {
		sweep(t, s)
		_, a := fetch[struct{ Chain struct{ State string } }](t, "GET", s.URL()+"/chains?tag=late", "")
		return a.Chain.State == "TIMED_OUT"
	})
	return map[string]string{
		"tree": "DONE", "failed": "FAILED no luck", "deleted": "DELETED", "stamps": "DONE", "fan": "DONE",
		"inner": "DONE", "outer": "DONE", "inner-failed": "FAILED no luck", "outer-failed": "FAILED no luck",
		"early": "DONE", "late": "TIMED_OUT no end",
	}
}

// nothingIsDue waits until the sweep need look at no chain: each end is announced before it is
// sealed.
func nothingIsDue(t *testing.T, s *Stack) {
	t.Helper()
	client := database(t, s)
	await.True(t, "all chains to be sealed", func() bool {
		due := check.Get(client.Scan(t.Context(), &dynamodb.ScanInput{
			TableName:        &xorack.Names{}.Tables()[0].Name,
			FilterExpression: aws.String("attribute_exists(due)"),
		}))
		return due.Count == 0
	})
}
