//go:build whole

package localstack

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/localdb"
)

// asksForTenants is the access key of the functions that answer tenants. What those behind the
// streams ask for hangs on how many records come at once.
const asksForTenants = "AKTENANTS"

// counter stands before the tables, and counts the requests that name a tenant's things and that
// are made to answer it.
type counter struct {
	mu sync.Mutex
	of map[string]map[string]int // by tenant and action
}

// before makes the counter's server before another one.
func (c *counter) before(t *testing.T, endpoint string) string {
	t.Helper()
	to, err := url.Parse(endpoint)
	check.OK(t, err)
	proxy := httputil.NewSingleHostReverseProxy(to)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if strings.Contains(r.Header.Get("Authorization"), "Credential="+asksForTenants+"/") {
			c.count(r.Header.Get("X-Amz-Target"), body)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func (c *counter) count(target string, body []byte) {
	_, action, _ := strings.Cut(target, ".")
	c.mu.Lock()
	defer c.mu.Unlock()
	for tenant, counts := range c.of {
		if bytes.Contains(body, []byte(`"@`+tenant+`/`)) {
			counts[action]++
		}
	}
}

// total is how many requests were made for a tenant, and which.
func (c *counter) total(tenant string) (n int, which string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, action := range slices.Sorted(maps.Keys(c.of[tenant])) {
		n += c.of[tenant][action]
		which += fmt.Sprintf(" %d %s", c.of[tenant][action], action)
	}
	return n, which
}

// A tenant that floods the stack with messages, new queues and new chains, far beyond its quota,
// changes nothing for another one: all of its requests succeed, its messages come out, and as many
// requests to the tables are made for it as without the neighbour.
func TestANoisyNeighbour(t *testing.T) {
	tables := check.Get(localdb.Start(t.Context(), localdb.Choose(), ""))
	t.Cleanup(tables.Close)
	counts := &counter{of: map[string]map[string]int{"first": {}, "alone": {},
		"beside": {}, "noisy": {}}}
	// One process a function: a tenant whose requests come to several costs a read of its queue in
	// each, with a neighbour and without.
	s := runTenantsOn(t, Config{Server: counts.before(t, tables.Endpoint), Concurrency: 1,
		Env: map[string]string{
			"EnqueueFunction.AWS_ACCESS_KEY_ID":  asksForTenants,
			"DeliveryFunction.AWS_ACCESS_KEY_ID": asksForTenants,
			"AckFunction.AWS_ACCESS_KEY_ID":      asksForTenants,
		}})
	s.lives("first") // the processes are there, and know their tables
	delivered := s.lives("alone")
	over, flooded := make(chan struct{}), make(chan map[int]int)
	go func() { flooded <- s.floods(over) }()
	beside := s.lives("beside")
	close(over)
	statuses := <-flooded

	alone, which := counts.total("alone")
	t.Logf("alone %d requests:%s", alone, which)
	n, which := counts.total("beside")
	t.Logf("beside %d requests:%s; of the noisy one %v were answered so", n, which, statuses)
	check.Is(t, delivered, beside)
	check.That(t, 10*n <= 11*alone && 10*n >= 9*alone, "%d %d", n, alone)
	check.That(t, statuses[http.StatusOK] != 0 && len(statuses) == 2, "%v", statuses)
}

// floods makes requests of the noisy tenant's until they are to end, and 50 are refused, however
// slow the machine is, and counts the answers by their status.
func (s *tenants) floods(over <-chan struct{}) map[int]int {
	noisy, statuses := s.token("noisy", tokenScopes), map[int]int{}
	for n := 0; ; n++ {
		select {
		case <-over:
			if statuses[http.StatusTooManyRequests] >= 50 {
				return statuses
			}
		default:
		}
		for path, body := range map[string]string{
			"/messages": fmt.Sprintf(`{"messages":[{"queue":"new-%[1]d","id":"a","body":1},{"queue":"new-%[1]d","id":"b","body":1}]}`, n),
			"/queues":   fmt.Sprintf(`{"queue":"made-%d","maxAhead":9}`, n),
			"/acks":     fmt.Sprintf(`{"operation":"create","tag":"tree-%d"}`, n),
		} {
			method := http.MethodPost
			if path == "/queues" {
				method = http.MethodPut
			}
			status, _ := s.ask(noisy, method, path, body)
			statuses[status]++
		}
	}
}

// lives does what a tenant does in its day, and returns how many messages it has got.
func (s *tenants) lives(of string) (delivered int) {
	s.t.Helper()
	token := s.token(of, tokenScopes)
	s.must(token, "POST", "/consumers", `{"queue":"orders","consumer":"books","kind":"numbered"}`)
	for seq := range 20 {
		s.must(token, "POST", "/messages", fmt.Sprintf(`{"queue":"orders","seq":%d,"body":1}`, seq+1))
		if seq%5 != 4 {
			continue
		}
		s.must(token, "POST", "/messages", fmt.Sprintf(`{"queue":"more-%d","seq":1,"body":1}`, seq))
		chain := s.must(token, "POST", "/acks",
			fmt.Sprintf(`{"operation":"create","tag":"tree-%d"}`, seq))
		s.must(token, "POST", "/acks",
			fmt.Sprintf(`{"operation":"done","edge":%q}`, chain["edges"].([]any)[0]))
		claim := s.must(token, "POST", "/claims",
			fmt.Sprintf(`{"queue":"orders","consumer":"books","request":"r-%d"}`, seq))
		held := fmt.Sprintf(`"queue":"orders","consumer":"books","token":%q`, claim["token"])
		s.must(token, "PATCH", "/claims", `{"action":"prepare",`+held+`}`)
		s.must(token, "PATCH", "/claims", `{"action":"commit",`+held+`}`)
		delivered += len(claim["messages"].([]any))
	}
	s.idle()
	return delivered
}
