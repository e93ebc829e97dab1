package trouble_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/tenant"
)

var since = time.UnixMilli(1_780_000_000_000).UTC()

// bench is a store on a table of its own.
type bench struct {
	*testing.T
	*trouble.Store
	faults *ddbtest.Faults
	meter  *ddbtest.Meter
	table  table.Definition
}

// each runs a test on every engine.
func each(t *testing.T, test func(b *bench)) {
	t.Helper()
	ddbtest.Each(t, func(t *testing.T, kind ddbtest.Kind) {
		b := &bench{T: t, table: trouble.Definition("trouble" + ddbtest.Suffix())}
		b.meter = ddbtest.NewMeter(ddbtest.Open(t, kind, b.table))
		b.faults = ddbtest.NewFaults(b.meter)
		b.Store = trouble.NewStore(b.faults, b.table)
		test(b)
	})
}

func (b *bench) check(err error) {
	b.Helper()
	check.OK(b, err)
}

func (b *bench) is(what string, got, want any) {
	b.Helper()
	check.Is(b, cmp.Diff(want, got), "", what)
}

// stands checks which row stands there; the zero Row means none.
func (b *bench) stands(what string, want trouble.Row, state trouble.State, queue, consumer string) {
	b.Helper()
	got, found := check.Get2(b.Row(b.Context(), state, queue, consumer))
	b.is(what, got, want)
	b.is(what+": found", found, want != trouble.Row{})
}

func row(n int64) trouble.Row {
	return trouble.Row{State: trouble.Blocked, Queue: "a b", Consumer: "c", Since: since, N: n, Seq: 7,
		Error: "no account", Shown: 2}
}

// TestChanges: who is late changes no newer row, and each change is one request.
func TestChanges(t *testing.T) {
	each(t, func(b *bench) {
		stands := func(what string, want trouble.Row) {
			b.Helper()
			b.stands(what, want, trouble.Blocked, "a b", "c")
		}
		put := func(r trouble.Row) {
			b.Helper()
			b.meter.Take()
			b.check(b.Put(b.Context(), r))
			b.is("writes of a put", b.meter.Take().Writes, 1)
		}
		remove := func(n int64) {
			b.Helper()
			b.meter.Take()
			b.check(b.Delete(b.Context(), row(n)))
			b.is("writes of a delete", b.meter.Take().Writes, 1)
		}
		stands("none", trouble.Row{})
		remove(1)
		put(row(2))
		stands("put", row(2))
		put(row(1))
		stands("put late", row(2))
		same := row(2)
		same.Since = since.Add(time.Second)
		put(same)
		stands("put again", same)
		remove(1)
		stands("deleted late", same)
		remove(2)
		stands("deleted", trouble.Row{})
		put(row(3))
		remove(4)
		stands("deleted by a newer one", trouble.Row{})
	})
}

// TestWritesThatGoWrong: whatever becomes of a request, its repeat makes it good.
func TestWritesThatGoWrong(t *testing.T) {
	each(t, func(b *bench) {
		for _, fault := range []ddbtest.Fault{ddbtest.Refused, ddbtest.Throttled, ddbtest.Lost,
			ddbtest.Repeated} {
			twice := func(what string, write func() error) {
				b.Helper()
				b.faults.Fail(1, fault)
				err := write()
				check.That(b, (err != nil) == (fault != ddbtest.Repeated), "%s, %s: %v", what, fault, err)
				b.check(write())
			}
			twice("put", func() error { return b.Put(b.Context(), row(1)) })
			b.stands("put", row(1), trouble.Blocked, "a b", "c")
			twice("delete", func() error { return b.Delete(b.Context(), row(1)) })
			b.stands("deleted", trouble.Row{}, trouble.Blocked, "a b", "c")
			b.check(b.Put(b.Context(), row(9)))
			twice("forget", func() error {
				return b.Forget(b.Context(), "a b", "c", trouble.Paused, trouble.Blocked)
			})
			b.stands("forgotten", trouble.Row{}, trouble.Blocked, "a b", "c")
			place := trouble.Place{State: trouble.Blocked, After: string(fault)}
			twice("walk", func() error { return b.SaveWalked(b.Context(), place) })
			b.is("walked", check.Get(b.Walked(b.Context())), place)
		}
		b.faults.Fail(1, ddbtest.Refused)
		_, _, err := b.Page(b.Context(), trouble.Blocked, "", "", 1)
		check.That(b, errors.Is(err, ddb.ErrUnavailable), "page: %v", err)
	})
}

// names are the queues and consumers of rows.
func names(page []trouble.Row) (list []string) {
	for _, r := range page {
		list = append(list, r.Queue+"|"+r.Consumer)
	}
	return list
}

// TestPages: each row of a state and a prefix once, in the order of the names.
func TestPages(t *testing.T) {
	each(t, func(b *bench) {
		for i, name := range []string{"b", "@x/a", "a b", "@x/b", "a", "@xy/a"} {
			b.check(b.Put(b.Context(), trouble.Row{State: trouble.Lagging, Queue: name, Consumer: "c",
				Since: since.Add(-time.Duration(i) * time.Hour), N: 1}))
		}
		b.check(b.Put(b.Context(), row(1)))
		for _, c := range []struct {
			prefix string
			limit  int
			want   string
		}{
			{"", 1, "a b|c a|c b|c @xy/a|c @x/a|c @x/b|c"},
			{"", 4, "a b|c a|c b|c @xy/a|c @x/a|c @x/b|c"},
			{"@x/", 1, "@x/a|c @x/b|c"},
			{"@x/", 9, "@x/a|c @x/b|c"},
			{"a", 1, "a b|c a|c"},
			{"z", 1, ""},
		} {
			var all []string
			for after := ""; ; {
				page, next := check.Get2(b.Page(b.Context(), trouble.Lagging, c.prefix, after, c.limit))
				check.Need(b, len(page) <= c.limit, "%d rows in a page of %d", len(page), c.limit)
				all = append(all, names(page)...)
				if after = next; next == "" {
					break
				}
			}
			b.is(fmt.Sprintf("pages of %d of %q", c.limit, c.prefix), strings.Join(all, " "), c.want)
		}
		// The row that the page before ended with is gone.
		page, _ := check.Get2(b.Page(b.Context(), trouble.Lagging, "", "@xy/b c", 1))
		b.is("behind a row that is gone", names(page), []string{"@x/a|c"})

		var all []string
		for after := (trouble.Ages{}); ; {
			page, next := check.Get2(b.Oldest(b.Context(), trouble.Lagging, after, 2))
			all = append(all, names(page)...)
			if after = next; next == (trouble.Ages{}) {
				break
			}
		}
		b.is("the oldest first", strings.Join(all, " "), "@xy/a|c a|c @x/b|c a b|c @x/a|c b|c")

		// What comes, goes, and is written again meanwhile moves no other.
		page, next := check.Get2(b.Page(b.Context(), trouble.Lagging, "", "", 2))
		b.is("a page", names(page), []string{"a b|c", "a|c"})
		for _, name := range []string{"a a", "b", "@xy/a", "@xy/b"} {
			b.check(b.Put(b.Context(), trouble.Row{State: trouble.Lagging, Queue: name, Consumer: "c",
				Since: since.Add(time.Hour), N: 2}))
		}
		b.check(b.Delete(b.Context(),
			trouble.Row{State: trouble.Lagging, Queue: "a", Consumer: "c", N: 2}))
		page, _ = check.Get2(b.Page(b.Context(), trouble.Lagging, "", next, 9))
		b.is("the rest", strings.Join(names(page), " "), "b|c @xy/a|c @xy/b|c @x/a|c @x/b|c")
	})
}

// TestPageUnits: fifty rows cost one read unit at most, and say nothing of the others.
func TestPageUnits(t *testing.T) {
	on := trouble.Definition(trouble.DefaultName)
	meter := ddbtest.NewMeter(ddb.NewMemory(on))
	s := trouble.NewStore(meter, on)
	for i := range 200 {
		queue := fmt.Sprintf("shop/eu-central-1/orders/customer-%08d", i)
		check.OK(t,
			s.Put(t.Context(), trouble.Row{State: trouble.Quarantined, Queue: queue,
				Consumer: "notifications", Since: since, N: 1 << 40}))
	}
	meter.Take()
	for _, prefix := range []string{"shop/", ""} {
		page, _ := check.Get2(s.Page(t.Context(), trouble.Quarantined, prefix, "", 50))
		total := meter.Take()
		check.That(t, len(page) == 50 && total.Reads == 1 && total.Units.Reads <= 1,
			"%d rows for %+v", len(page), total)
	}
	// Whatever is looked for in all shards costs each of them half a unit.
	page, _ := check.Get2(s.Oldest(t.Context(), trouble.Quarantined, trouble.Ages{}, 50))
	total := meter.Take()
	check.That(t, len(page) == 50 && total.Reads == 9 && total.Units.Reads <= 5,
		"%d rows for %+v", len(page), total)
	page, next := check.Get2(s.Page(t.Context(), trouble.Blocked, "", "", 50))
	total = meter.Take()
	check.That(t, len(page) == 0 && next == "" && total.Reads == 9 && total.Units.Reads <= 4.5,
		"no rows for %+v", total)
	check.Get2(s.Page(t.Context(), trouble.Blocked, "@acme/", "", 50))
	check.Is(t, meter.Take().Reads, 1, "a tenant's own are looked for elsewhere")
}

// TestItems pins what stands in the table, which other versions read, and what is not read.
func TestItems(t *testing.T) {
	each(t, func(b *bench) {
		stored := func(state, at string) string {
			return check.Get(b.faults.Do(b.Context(), ddb.Get{
				Op:  ddb.Op{Table: &b.table},
				Key: ddb.Fields{"state": ddb.Text(state), "at": ddb.Text(at)}.Item(), Strong: true,
			})).Item.String()
		}
		b.check(b.Put(b.Context(), row(7)))
		b.is("row", stored("blocked", "a b c"), `{at:a b c error:no account n:7 seq:7 shown:2 since:1780000000000 state:blocked v:1}`)
		b.check(b.Put(b.Context(), trouble.Row{State: trouble.CircuitOpen, Consumer: "c", Since: since}))
		b.is("row of a consumer's name", stored("circuit-open", " c"),
			`{at: c n:0 since:1780000000000 state:circuit-open v:1}`)
		b.check(b.Put(b.Context(), trouble.Row{State: trouble.HeldBy("c"), Queue: "q", Consumer: "c",
			Since: since}))
		b.is("row of a queue that is held back", stored("circuit-open c", "q c"),
			`{at:q c n:0 since:1780000000000 state:circuit-open c v:1}`)
		b.check(b.Put(b.Context(), trouble.Row{State: trouble.Gap, Queue: "q", Since: since}))
		b.is("row of a gap", stored("gap", "q "), `{at:q  n:0 since:1780000000000 state:gap v:1}`)
		ended := trouble.Row{State: trouble.Failed, Queue: "a tag", Since: since, N: 7,
			ExpiresOn: since.Add(time.Hour)}
		b.check(b.Put(b.Context(), ended))
		b.is("row of a chain", stored("failed", "a tag "),
			`{at:a tag  expiresOn:1780003600 n:7 since:1780000000000 state:failed v:1}`)
		b.stands("a chain", ended, trouble.Failed, "a tag", "")
		for when, want := range map[time.Duration]bool{time.Hour - time.Second: false, time.Hour: true} {
			b.is("expired", ended.Expired(since.Add(when)), want)
		}
		b.is("never expired", trouble.Row{}.Expired(since), false)
		b.is("no walk", check.Get(b.Walked(b.Context())), trouble.Place{})
		b.check(b.SaveWalked(b.Context(), trouble.Place{State: trouble.Gap, After: "q "}))
		b.is("walk", stored(" walk", " walk"), `{after:q  at: walk in:gap state: walk v:1}`)

		change := func(do ddb.Action) {
			check.Get(b.faults.Do(b.Context(), ddb.Update{
				Op: ddb.Op{Table: &b.table}, Key: ddb.Fields{"state": ddb.Text("blocked"),
					"at": ddb.Text("a b c")}.Item(), Do: []ddb.Action{do},
			}))
		}
		change(ddb.Path("v").Set(ddb.Int(2)))
		_, _, err := b.Row(b.Context(), trouble.Blocked, "a b", "c")
		check.Fails(b, err, table.ErrNewerLayout)
		_, _, err = b.Page(b.Context(), trouble.Blocked, "", "", 1)
		check.Fails(b, err, table.ErrNewerLayout, "a page")
		change(ddb.Path("v").Set(ddb.Int(1)))
		change(ddb.Path("n").Set(ddb.Text("x")))
		_, found, err := b.Row(b.Context(), trouble.Blocked, "a b", "c")
		check.That(b, err != nil && !found, "a text that is no number was read")
	})
}

// TestNoRow: without a table, and for names that are too long for a key, nothing is written.
func TestNoRow(t *testing.T) {
	long := trouble.Row{State: trouble.Blocked, Queue: strings.Repeat("q", 1000),
		Consumer: strings.Repeat("c", 24), Since: since}
	on := trouble.Definition(trouble.DefaultName)
	meter := ddbtest.NewMeter(ddb.NewMemory(on))
	for what, s := range map[string]*trouble.Store{"no table": nil,
		"long names": trouble.NewStore(meter, on)} {
		_, found := check.Get2(s.Row(t.Context(), long.State, long.Queue, long.Consumer))
		check.Is(t, found, false, what)
		check.OK(t, errors.Join(s.Put(t.Context(), long), s.Delete(t.Context(), long),
			s.Forget(t.Context(), long.Queue, long.Consumer, long.State)))
	}
	total := meter.Take()
	check.That(t, total.Writes+total.Reads == 0, "%+v for names that are too long", total)
	var none *trouble.Store
	page, next, err := none.Page(t.Context(), trouble.Blocked, "", "", 1)
	oldest, after, wrong := none.Oldest(t.Context(), trouble.Blocked, trouble.Ages{}, 1)
	check.That(t, len(page)+len(oldest) <= 0 && next == "" && after == (trouble.Ages{}) &&
		errors.Join(err, wrong) == nil,
		"no table has %v and %v: %v, %v", page, oldest, err, wrong)
	long.Queue = long.Queue[1:]
	s := trouble.NewStore(meter, on)
	check.OK(t, s.Put(t.Context(), long))
	page, _ = check.Get2(s.Page(t.Context(), long.State, "", "", 1))
	check.That(t, len(page) == 1 && page[0] == long, "the longest names are listed as %+v", page)
}

// TestANoisyTenant: where the partitions of one tenant's notes take nothing more, seven in eight of
// the other tenants, and callers without a tenant, note and list what they have; and an operator's
// pages, and those by age, show each row once, in whatever sizes.
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
		return trouble.Row{State: trouble.HeldBy("hooks"), Queue: queue, Consumer: "hooks",
			Since: at.Add(time.Duration(n*7%41) * time.Second), N: 1}
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
	check.OK(t, s.Put(t.Context(), row("orders", 3))) // who is no tenant
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
				ages = append(ages, r.Queue)
				check.That(t, !r.Since.Before(since), "%s stands behind a younger one", r.Queue)
				since = r.Since
			}
			if after = next; next == (trouble.Ages{}) {
				break
			}
		}
		for by, all := range map[string][]string{"name": pages, "age": ages} {
			check.Is(t, len(all), want, "rows by", by, size)
			slices.Sort(all)
			check.Is(t, len(slices.Compact(all)), want, "queues by", by, size)
		}
	}
	// A prefix that only begins a tenant's name is looked for everywhere, an incomplete one of
	// nobody too.
	page, _ := check.Get2(s.Page(t.Context(), row("", 0).State, "@tenant-1", "", 1000))
	check.That(t, len(page) != 0 && len(page) <= 11, "%d rows", len(page))
}
