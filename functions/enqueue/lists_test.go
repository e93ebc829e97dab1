package main

import (
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// TestListQueues: each queue once, by state and without one, and nobody another's.
func TestListQueues(t *testing.T) {
	sorter := check.Get(cursor.New(cursor.NewMemory(), nil))
	on := trouble.Definition(trouble.DefaultName)
	s := &service{sorter: sorter, trouble: trouble.NewStore(ddb.NewMemory(on), on), now: time.Now}
	operators := httpapitest.New(t, runtime.Around(io.Discard, headroom, s.api().Handle))
	ofTenants := *s
	ofTenants.tenantClaim = "org"
	tenants := httpapitest.New(t, runtime.Around(io.Discard, headroom, ofTenants.api().Handle))
	for _, queue := range []string{"@acme/a", "@acme/b", "@acme-eu/a", "a", "b"} {
		check.Get(sorter.Configure(t.Context(), queue, cursor.Change{}))
		check.OK(t,
			s.trouble.Put(t.Context(), trouble.Row{State: trouble.Gap, Queue: queue, Since: time.Now()}))
	}
	list := func(as string, query url.Values) string {
		var all []string
		for {
			a := operators.Request("GET", "/queues", query.Encode(), "")
			if as != "" {
				a = tenants.RequestAs("org", as, "GET", "/queues", query.Encode(), "")
			}
			tenants.Want(query.Encode(), a, 200)
			var page struct {
				List []struct{ Queue string }
				Next string
			}
			check.OK(t, json.Unmarshal([]byte(a.Body), &page))
			for _, row := range page.List {
				all = append(all, row.Queue)
			}
			if page.Next == "" {
				slices.Sort(all)
				return strings.Join(all, " ")
			}
			query.Set("after", page.Next)
		}
	}
	query := func(prefix, state, limit string) url.Values {
		q := url.Values{"prefix": {prefix}, "limit": {limit}}
		if state != "" {
			q.Set("state", state)
		}
		return q
	}
	for _, c := range []struct{ as, prefix, want string }{
		{"", "", "@acme-eu/a @acme/a @acme/b a b"},
		{"", "@acme/", "@acme/a @acme/b"},
		{"acme", "", "a b"},
		{"acme", "b", "b"},
		{"globex", "", ""},
	} {
		for _, state := range []string{"", "gap"} {
			for _, limit := range []string{"1", "2", "100"} {
				got := list(c.as, query(c.prefix, state, limit))
				check.That(t, got == c.want, "%q sees %q of %q, state %q, limit %s; want %q", c.as, got,
					c.prefix, state, limit, c.want)
			}
		}
	}
}
