package producertest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/pause"
)

// post puts messages, and returns the status of the answer and those of the results.
func post(url string, messages ...string) (int, []string) {
	response, err := http.Post(url+"/messages", "application/json",
		strings.NewReader(`{"messages":[`+strings.Join(messages, ",")+`]}`))
	if err != nil {
		return 0, nil
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, nil
	}
	var answer struct {
		Results []struct {
			Status  int
			Outcome string
		}
	}
	if json.Unmarshal(text, &answer) != nil {
		return 0, nil
	}
	var outcomes []string
	for _, r := range answer.Results {
		if r.Status < 300 {
			outcomes = append(outcomes, r.Outcome)
		} else {
			outcomes = append(outcomes, fmt.Sprint(r.Status))
		}
	}
	return response.StatusCode, outcomes
}

// singly sends one message after the other, each until it is answered.
func singly(ctx context.Context, url string, messages []json.RawMessage) ([]string, error) {
	var outcomes []string
	for _, m := range messages {
		for {
			status, results := post(url, string(m))
			if status == http.StatusOK && results[0] != "503" && results[0] != "429" {
				outcomes = append(outcomes, results[0])
				break
			}
			_ = pause.For(ctx, 15*time.Millisecond)
		}
	}
	return outcomes, nil
}

// TestWrongProducers: each rule notices a producer that breaks it, and none one that keeps to all.
func TestWrongProducers(t *testing.T) {
	all := check.Get(Cases())
	for _, c := range []struct {
		name, in string
		drive    Drive
		want     string
	}{
		{"right, if dear", "conflict", singly, ""},
		{"right, if dear", "503", singly, ""},
		{"dear", "together", singly, "40 requests, want 0 to 3"},
		{"does not wait", "503",
			func(_ context.Context, url string, messages []json.RawMessage) (all []string, _ error) {
				for _, m := range messages {
					for {
						if status, results := post(url, string(m)); status == 200 {
							all = append(all, results...)
							break
						}
					}
				}
				return all, nil
			}, "goes again after"},
		{"side by side", "slow",
			func(_ context.Context, url string, messages []json.RawMessage) ([]string, error) {
				outcomes := make([]string, len(messages))
				var running sync.WaitGroup
				for half := range slices.Chunk([]int{0, 1}, 1) {
					running.Go(func() {
						from := half[0] * 300
						var texts []string
						for _, m := range messages[from : from+300] {
							texts = append(texts, string(m))
						}
						_, results := post(url, texts...)
						copy(outcomes[from:], results)
					})
				}
				running.Wait()
				return outcomes, nil
			}, "another of queue a is under way"},
		{"gives up", "503",
			func(_ context.Context, url string, messages []json.RawMessage) (all []string, _ error) {
				for _, m := range messages {
					if _, results := post(url, string(m)); results != nil {
						all = append(all, results...)
					} else {
						all = append(all, "0")
					}
				}
				return all, nil
			}, "outcomes map["},
		{"changes a message", "lost answer",
			func(_ context.Context, url string, messages []json.RawMessage) (all []string, _ error) {
				for i, m := range messages {
					for try := 0; ; try++ {
						if status, results := post(url, strings.Replace(string(m), `"body"`,
							fmt.Sprintf(`"id":"%d-%d","body"`, i, try), 1)); status == 200 {
							all = append(all, results...)
							break
						}
					}
				}
				return all, nil
			}, "and was {"},
		{"new ids", "no id",
			func(_ context.Context, url string, messages []json.RawMessage) ([]string, error) {
				for try := range 2 {
					for i := range messages {
						_, _ = post(url, fmt.Sprintf(`{"queue":"a","id":"%d-%d","body":1}`, try, i))
					}
				}
				return []string{"duplicate", "duplicate"}, nil
			}, "messages are stored, and 2 were accepted"},
		{"sends twice", "conflict",
			func(ctx context.Context, url string, messages []json.RawMessage) ([]string, error) {
				_, _ = singly(ctx, url, messages)
				return singly(ctx, url, messages)
			}, "is sent again, and was answered for good"},
		{"out of order", "lost answer",
			func(ctx context.Context, url string, messages []json.RawMessage) ([]string, error) {
				texts := []string{string(messages[1]), string(messages[0])}
				_, _ = post(url, texts...)
				return singly(ctx, url, messages)
			}, "stands behind one that was sent after it"},
		{"no put", "403",
			func(ctx context.Context, url string, messages []json.RawMessage) ([]string, error) {
				_, _ = post(url)
				return singly(ctx, url, messages)
			}, "with 0 messages"},
	} {
		t.Run(c.name+", "+c.in, func(t *testing.T) {
			i := slices.IndexFunc(all, func(known Case) bool { return known.Name == c.in })
			got := strings.Join(all[i].Serve(t.Context(), c.drive), "\n")
			check.That(t, (c.want != "" || got == "") && strings.Contains(got, c.want),
				"%q, want %q", got, c.want)
		})
	}
}
