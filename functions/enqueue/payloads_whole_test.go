//go:build whole

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/payloads"
)

// TestEventFiles: each event that aws-lambda-go has a file of is a message, by HTTP and by the
// alias put, whatever it is: those of API Gateway are no requests there.
func TestEventFiles(t *testing.T) {
	s := newServer(t, nil)
	query := "id=@digest&queue=" + url.QueryEscape("source | Records[0].eventSource | Records[0].EventSource | eventSource | 'other'")
	events := payloads.Lambda(t)
	for _, e := range events {
		s.Want(e.Kind, s.Request("POST", "/messages", query, string(e.Body)), 200, "advanced")
	}
	check.That(t, len(events) >= 100, "only %d files", len(events))
}

// TestThePagesExample takes each event of GitHub, under its digest: what has no repository, or no
// issue, too.
func TestThePagesExample(t *testing.T) {
	text := check.Get(os.ReadFile("../../docs/how-to/webhooks-in.md"))
	found := regexp.MustCompile(`/messages\?queue=(.*?)&key=(.*?)&keyType=time&id=id`).FindStringSubmatch(string(text))
	check.Need(t, found != nil, "the page has no example")
	query := url.Values{"queue": {found[1]}, "key": {found[2]}, "keyType": {"time"}, "id": {"@digest"}}.Encode()
	s := newServer(t, nil)
	for _, e := range payloads.GitHub(t, "../..") {
		a := s.Request("POST", "/messages", query, string(e.Body))
		check.That(t, a.Status == 202 || strings.Contains(a.Body, "duplicate"),
			"%s of %s: %d %s", e.Kind, e.From, a.Status, a.Body)
	}
}

// example is the mapping of pushes on the page.
var example = regexp.MustCompile("(?s)```json\n(\\{\"queue\": \"repository.full_name\".*?)```")

// TestPushesSortAsThePageSays: GitHub's, with two that its tools have no example of, shuffled, come
// out as they were made: by the second, and in one second what was made first and what was deleted
// last.
func TestPushesSortAsThePageSays(t *testing.T) {
	found := example.FindSubmatch(check.Get(os.ReadFile("../../docs/how-to/webhooks-in.md")))
	check.Need(t, found != nil, "the page has no example")
	var members map[string]string
	check.OK(t, json.Unmarshal(found[1], &members))
	query := url.Values{}
	for name, path := range members {
		query.Set(name, path)
	}

	type push struct {
		Created, Deleted bool
		Repository       struct {
			FullName string `json:"full_name"`
			PushedAt int64  `json:"pushed_at"`
		}
		place int
	}
	read := func(body []byte) (p push) {
		check.OK(t, json.Unmarshal(body, &p))
		p.place = 1
		if p.Created {
			p.place = 0
		} else if p.Deleted {
			p.place = 2
		}
		return p
	}
	var bodies []string
	for _, e := range payloads.GitHub(t, "../..") {
		if e.Kind != "push" {
			continue
		}
		bodies = append(bodies, string(e.Body))
		if read(e.Body).Created {
			// A force push onto an older commit, a second later, and a branch on the same commit.
			p := read(e.Body)
			later := strings.ReplaceAll(string(e.Body), fmt.Sprint(p.Repository.PushedAt), fmt.Sprint(p.Repository.PushedAt+1))
			forced := strings.Replace(strings.Replace(later, `"created":true`, `"created":false`, 1), `"forced":false`, `"forced":true`, 1)
			bodies = append(bodies, forced, strings.Replace(later, `"ref":"refs/`, `"ref":"refs/heads/second-`, 1))
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	random.Shuffle(len(bodies), func(i, j int) { bodies[i], bodies[j] = bodies[j], bodies[i] })
	s := newServer(t, nil)
	queues := map[string]int{}
	for i, body := range bodies {
		s.Want("a push", s.with(map[string]string{"X-GitHub-Delivery": fmt.Sprint(i)}, query.Encode(), body), 202, "waiting")
		queues[read([]byte(body)).Repository.FullName]++
	}
	s.now = s.now.Add(time.Minute)
	for queue, many := range queues {
		s.settle(t, queue)
		var answer struct {
			Messages []struct {
				Body       json.RawMessage
				BodyBase64 []byte
			}
		}
		a := s.get("/messages", "queue="+url.QueryEscape(queue)+"&limit=1000")
		if err := json.Unmarshal([]byte(a.Body), &answer); err != nil || len(answer.Messages) != many {
			t.Fatalf("%s has %d of %d, %v", queue, len(answer.Messages), many, err)
		}
		var got []push
		for _, m := range answer.Messages {
			got = append(got, read(append(m.Body, m.BodyBase64...)))
		}
		sorted := slices.IsSortedFunc(got, func(a, b push) int {
			return int(a.Repository.PushedAt-b.Repository.PushedAt)*10 + a.place - b.place
		})
		check.That(t, sorted, "%s: %+v", queue, got)
	}
	check.That(t, len(bodies) >= 10, "only %d pushes", len(bodies))
}
