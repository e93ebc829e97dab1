package dedup_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/pkg/dedup"
	"github.com/streamsort/streamsort/pkg/dedup/deduptest"
	"github.com/streamsort/streamsort/pkg/table"
)

// open makes a new table with these names on an engine of a kind.
func open(t testing.TB, kind ddbtest.Kind, names dedup.Names) (dedup.Store, ddb.Engine, dedup.Names) {
	t.Helper()
	names.Table = "processes" + ddbtest.Suffix()
	engine := ddbtest.Open(t, kind, names.Tables()...)
	return check.Get(dedup.NewTable(engine, names)), engine, names
}

// memory is an engine in memory with the table under its default names.
func memory() *ddb.Memory { return ddb.NewMemory(dedup.Names{}.Tables()...) }

// on is the Store on an engine, such as a layer around [memory].
func on(t testing.TB, engine ddb.Engine) dedup.Store {
	t.Helper()
	return check.Get(dedup.NewTable(engine, dedup.Names{}))
}

func TestTableConforms(t *testing.T) {
	ddbtest.Each(t, func(t *testing.T, kind ddbtest.Kind) {
		for name, names := range map[string]dedup.Names{
			"two keys": {},
			"one key":  {OneKey: true},
			"other names": {IDKey: "signal", ProcessorKey: "kind", Attributes: map[string]string{
				"token": "status", "expiresOn": "expiration", "result": "data", "v": "layout",
			}},
		} {
			t.Run(name, func(t *testing.T) {
				store, _, _ := open(t, kind, names)
				deduptest.Run(t, store)
			})
		}
	})
}

// TestKeyNamedAsAnAttribute: a table whose key has the name of an attribute can
// be used if the attribute gets another one.
func TestKeyNamedAsAnAttribute(t *testing.T) {
	ddbtest.Each(t, func(t *testing.T, kind ddbtest.Kind) {
		for _, name := range []string{"token", "v", "expiresOn"} {
			store, _, _ := open(t, kind, dedup.Names{IDKey: name, Attributes: map[string]string{name: "other"}})
			d := process(t, store, nil)
			for i := range 2 {
				out, err := d.Once(t.Context(), "a", func(context.Context) (string, error) { return incompressible(5000), nil })
				check.That(t, err == nil && len(out.Value) == 5000 && out.Replayed == (i == 1),
					"%s: %d bytes, replayed %v, %v", name, len(out.Value), out.Replayed, err)
			}
			for e, err := range d.List(t.Context()) {
				check.That(t, err == nil && e.Row.ID == "a", "%s: listed %+v, %v", name, e, err)
			}
		}
	})
}

// TestListOfATableWithOneKey: a broken row of another processor is not reported to
// this one; one without a processor is reported to all.
func TestListOfATableWithOneKey(t *testing.T) {
	ddbtest.Each(t, func(t *testing.T, kind ddbtest.Kind) {
		store, engine, names := open(t, kind, dedup.Names{OneKey: true})
		for _, key := range []string{"7:another:x", "8:payments:x", "nobody's"} {
			put(t, engine, names, ddb.Fields{"id": ddb.Text(key)}.Item())
		}
		var fields []string
		for _, err := range process(t, store, nil).List(t.Context()) {
			fields = append(fields, as[*dedup.RowError](t, err).Field)
		}
		slices.Sort(fields)
		check.Is(t, cmp.Diff([]string{"id", "v"}, fields), "")
	})
}

// TestListOfManyRows: those of all pages, each once, and none of another processor.
func TestListOfManyRows(t *testing.T) {
	for _, names := range []dedup.Names{{}, {OneKey: true}} {
		store := check.Get(dedup.NewTable(ddb.NewMemory(names.Tables()...), names))
		d, other := process(t, store, nil), check.Get(dedup.New[string, string](store, "other", nil))
		want := map[string]bool{}
		for i := range 700 {
			id := strconv.Itoa(i)
			check.Get(other.Once(t.Context(), id, answers("x")))
			check.Get(d.Once(t.Context(), id, answers("x")))
			want[id] = true
		}
		got := map[string]bool{}
		for e, err := range d.List(t.Context(), dedup.Completed) {
			check.That(t, err == nil && !got[e.Row.ID] && e.Row.Processor == "payments",
				"%s, twice: %v, %v", e.Row.Key, got[e.Row.ID], err)
			got[e.Row.ID] = true
		}
		check.That(t, maps.Equal(got, want), "%d rows listed, want %d", len(got), len(want))
		for e, err := range d.List(t.Context(), dedup.Running) {
			t.Errorf("%s listed as running, %v", e.Row.Key, err)
		}
	}
}

func put(t *testing.T, engine ddb.Engine, names dedup.Names, it ddb.Item) {
	t.Helper()
	check.Get(engine.Do(t.Context(), ddb.Put{Op: ddb.Op{Op: "put", Table: &names.Tables()[0]}, Item: it}))
}

// TestNewerLayout: no write changes a row that a later version of the package
// wrote, but it changes a row that differs from it by its version only.
func TestNewerLayout(t *testing.T) {
	at := time.Date(2126, 3, 4, 5, 6, 7, 0, time.UTC)
	claim := dedup.Claim{Token: dedup.Token{9}, Now: at, LeaseUntil: at.Add(time.Minute), ValidUntil: at.Add(time.Hour)}
	row := func(k dedup.Key, version int64, more ddb.Fields) ddb.Item {
		return ddb.Fields{
			"id": ddb.Text(k.ID), "processorId": ddb.Text(k.Processor), "v": ddb.Int(version), "fence": ddb.Int(1),
			"attempt": ddb.Int(1), "token": ddb.Blob(make([]byte, 16)), "startedAt": ddb.Int(0), "leaseUntil": ddb.Int(0),
			"validUntil": ddb.Millis(at.Add(time.Hour)),
		}.Item().Merge(more.Item())
	}
	completed := ddb.Fields{"completedAt": ddb.Int(1)}
	ddbtest.Each(t, func(t *testing.T, kind ddbtest.Kind) {
		store, engine, names := open(t, kind, dedup.Names{})
		for name, c := range map[string]struct {
			row   ddb.Fields
			write func(dedup.Key) (dedup.Row, bool, error)
		}{
			"claim": {nil, func(k dedup.Key) (dedup.Row, bool, error) {
				c := claim
				c.Key = k
				return store.Claim(t.Context(), c)
			}},
			"swap": {nil, func(k dedup.Key) (dedup.Row, bool, error) {
				seen := dedup.Row{Key: k, Fence: 1, LeaseUntil: time.UnixMilli(0)}
				return store.Swap(t.Context(), seen, seen)
			}},
			"swap of a completed row": {completed, func(k dedup.Key) (dedup.Row, bool, error) {
				seen := dedup.Row{Key: k, Fence: 1, LeaseUntil: time.UnixMilli(0), CompletedAt: time.UnixMilli(1)}
				return store.Swap(t.Context(), seen, seen)
			}},
		} {
			known, newer := dedup.Key{ID: "known", Processor: name}, dedup.Key{ID: "newer", Processor: name}
			put(t, engine, names, row(known, 1, c.row))
			_, done, err := c.write(known)
			check.That(t, done && err == nil, "%s of a row that is known: done %v, %v", name, done, err)
			want := row(newer, 2, c.row)
			put(t, engine, names, want)
			if _, done, err := c.write(newer); done || !errors.Is(err, table.ErrNewerLayout) {
				t.Errorf("%s: done %v, %v; want that a newer version wrote it", name, done, err)
			}
			definition := &names.Tables()[0]
			a, err := engine.Do(t.Context(), ddb.Get{
				Op: ddb.Op{Op: "read", Table: definition}, Key: ddb.KeyOf(definition, want), Strong: true,
			})
			check.That(t, err == nil && a.Item.Equal(want), "%s changed the row: %v, %v", name, a.Item, err)
		}
	})
}
