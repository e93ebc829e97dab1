package trouble_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/tenant"
)

// TestANoisyTenant: where the partitions of one tenant's notes take nothing more, seven in eight of the other tenants, and callers
// without a tenant, note and list what they have; and an operator's pages, and those by age, show each row once, in whatever sizes.
func TestANoisyTenant(t *testing.T) {
	const tenants = 80
	on := trouble.Definition(trouble.DefaultName)
	tables := ddb.NewMemory(on)
	hot := map[string]bool{}
	learn := false
	s := trouble.NewStore(ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		put, ok := r.(ddb.Put)
		if !ok {
			return tables.Do(ctx, r)
		}
		partition := put.Item.Get("state").Str()
		if learn {
			hot[partition] = true
		} else if hot[partition] {
			return ddb.Answer{}, ddb.ErrUnavailable
		}
		return tables.Do(ctx, r)
	}), on)
	at := time.UnixMilli(1_700_000_000_000).UTC()
	row := func(queue string, n int) trouble.Row {
		return trouble.Row{State: trouble.HeldBy("hooks"), Queue: queue, Consumer: "hooks", Since: at.Add(time.Duration(n*7%41) * time.Second), N: 1}
	}
	learn = true
	for n := range 300 {
		check.OK(t, s.Put(t.Context(), row(fmt.Sprintf("@noisy/%d", n), n)))
	}
	learn = false
	noted := map[string]bool{}
	for n := range tenants {
		of := fmt.Sprintf("tenant-%d", n)
		queue := tenant.Name(of, "orders")
		if s.Put(t.Context(), row(queue, n)) != nil {
			continue
		}
		noted[queue] = true
		page, next, err := s.Page(t.Context(), row("", 0).State, tenant.Name(of, ""), "", 10)
		check.That(t, err == nil && next == "" && len(page) == 1 && page[0] == row(queue, n),
			"%s lists %+v, %v", of, page, err)
	}
	check.That(t, len(noted) >= tenants*3/4,
		"%d of %d tenants can note anything beside a noisy one", len(noted), tenants)
	if err := s.Put(t.Context(), row("orders", 3)); err != nil {
		t.Errorf("who is no tenant: %v", err)
	}
	noted["orders"] = true
	want := 300 + len(noted)
	for _, size := range []int{1, 7, 50, 1000, 0} {
		var pages, ages []string
		for after := ""; ; {
			page, next, err := s.Page(t.Context(), row("", 0).State, "", after, size)
			check.Need(t, err == nil && (size <= 0 || len(page) <= size),
				"%d rows in a page of %d: %v", len(page), size, err)
			for _, r := range page {
				pages = append(pages, r.Queue)
			}
			if after = next; next == "" {
				break
			}
		}
		since := time.Time{}
		for after := (trouble.Ages{}); ; {
			page, next, err := s.Oldest(t.Context(), row("", 0).State, after, size)
			check.Need(t, err == nil && (size <= 0 || len(page) <= size),
				"%d rows by age in a page of %d: %v", len(page), size, err)
			for _, r := range page {
				if ages = append(ages, r.Queue); r.Since.Before(since) {
					t.Errorf("%s stands behind a younger one", r.Queue)
				}
				since = r.Since
			}
			if after = next; next == (trouble.Ages{}) {
				break
			}
		}
		for by, all := range map[string][]string{"name": pages, "age": ages} {
			shown := len(all)
			slices.Sort(all)
			if distinct := len(slices.Compact(all)); shown != want || distinct != want {
				t.Errorf("pages of %d by %s show %d rows, %d queues; want %d", size, by, shown, distinct, want)
			}
		}
	}
	// A prefix that only begins a tenant's name is looked for everywhere, an incomplete one of nobody too.
	page, _, err := s.Page(t.Context(), row("", 0).State, "@tenant-1", "", 1000)
	if n := len(page); err != nil || n == 0 || n > 11 {
		t.Errorf("%d rows, %v", n, err)
	}
}
