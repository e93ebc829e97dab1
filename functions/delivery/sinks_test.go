package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/request"
)

// TestSinks: what is known of a consumer's sink, once for each name of the page; a tenant sees when
// it is asked again, and nothing of what others delivered.
func TestSinks(t *testing.T) {
	onEach(t, func(s *server) {
		s.put("@acme/q", 1)
		for _, consumer := range []string{"billing", "fine"} {
			s.Want("create", s.Request("POST", "/consumers", "", fmt.Sprintf(`{"queue":"@acme/q","consumer":%q}`, consumer)), 200)
		}
		opened := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
		known := request.Health{Consumer: "billing"}
		learn := func(next request.Health) {
			t.Helper()
			next.Consumer, next.By = "billing", "r"
			there, made, err := s.consumers.Requests(request.Inside{}).Learn(t.Context(), known, next)
			if known = there; err != nil || !made {
				t.Fatal(made, err)
			}
		}
		at := func(seconds int) time.Time { return opened.Add(time.Duration(seconds) * time.Second) }
		learn(request.Health{
			Failing: []request.FailingQueue{{Queue: "@globex/q", At: at(-10)}, {Queue: "secret", At: at(-5)}}, FailingSince: at(-10), TakenAt: at(-20),
			Circuit: request.Circuit{Opened: opened, ProbeAt: at(5), Probes: 2},
		})
		reads := 0
		s.before = func(r ddb.Request) {
			if r.Name() == "health" {
				reads++
				check.That(t, !r.(ddb.Get).Strong, "a strong read")
			}
		}
		const open = `"sink":{"openSince":"2026-05-06T07:08:09Z","probeAt":"2026-05-06T07:08:14Z"`
		want := func(what, as, query string, n int, sink string) {
			t.Helper()
			reads = 0
			s.Want(what, s.requestAs(as, "/consumers", query), 200, `"lag":1,"delivered":0,"position":1`+sink)
			check.That(t, reads == n, "%s: %d reads, want %d", what, reads, n)
		}
		all := `,"nextTry":"2026-05-06T07:08:14Z","rewinds":0,` + open + `,"probes":2,"failingSince":"2026-05-06T07:07:59Z","takenAt":"2026-05-06T07:07:49Z"}}`
		want("a page", "", "queue=@acme/q", 2, all+`,{"queue":"@acme/q","consumer":"fine","state":"catching-up","seq":1,"lag":1,"delivered":0,"position":1,"rewinds":0}]`)
		want("one whose page is shorter", "", "queue=@acme/q&limit=1", 1, all)
		want("a tenant", "acme", "queue=q", 2, `,"nextTry":"2026-05-06T07:08:14Z","rewinds":0,`+open+`}}`)
		learn(request.Health{TakenAt: at(9), Circuit: request.Circuit{Closed: at(9), Waking: true}})
		want("closed", "", "queue=@acme/q", 2, `,"rewinds":0,"sink":{"waking":true,"takenAt":"2026-05-06T07:08:18Z"}}`)
		want("closed, to a tenant", "acme", "queue=q", 2, `,"rewinds":0},{"queue":"q","consumer":"fine"`)
	})
}
