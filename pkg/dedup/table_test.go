package dedup_test

import (
	"errors"
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/pkg/dedup"
	"github.com/streamsort/streamsort/pkg/dedup/deduptest"
	"github.com/streamsort/streamsort/pkg/table"
)

// open makes a new table on an engine of a kind.
func open(t testing.TB, kind ddbtest.Kind) (dedup.Store, ddb.Engine, dedup.Names) {
	t.Helper()
	names := dedup.Names{Table: "processes" + ddbtest.Suffix()}
	engine := ddbtest.Open(t, kind, names.Tables()...)
	return dedup.NewTable(engine, names), engine, names
}

// memory is an engine in memory with the table under its default names.
func memory() *ddb.Memory { return ddb.NewMemory(dedup.Names{}.Tables()...) }

// on is the Store on an engine, such as a layer around [memory].
func on(t testing.TB, engine ddb.Engine) dedup.Store {
	t.Helper()
	return dedup.NewTable(engine, dedup.Names{})
}

func TestTableConforms(t *testing.T) {
	ddbtest.Each(t, func(t *testing.T, kind ddbtest.Kind) {
		store, _, _ := open(t, kind)
		deduptest.Run(t, store)
	})
}

// TestListOfManyRows: those of all pages, each once, and none of another processor.
func TestListOfManyRows(t *testing.T) {
	store := dedup.NewMemory()
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

func put(t *testing.T, engine ddb.Engine, names dedup.Names, it ddb.Item) {
	t.Helper()
	check.Get(engine.Do(t.Context(),
		ddb.Put{Op: ddb.Op{Op: "put", Table: &names.Tables()[0]}, Item: it}))
}

// TestNewerLayout: no write changes a row that a later version of the package wrote, but it changes
// a row that differs from it by its version only.
func TestNewerLayout(t *testing.T) {
	at := time.Date(2126, 3, 4, 5, 6, 7, 0, time.UTC)
	claim := dedup.Claim{Token: dedup.Token{9}, Now: at, LeaseUntil: at.Add(time.Minute),
		ValidUntil: at.Add(time.Hour)}
	row := func(k dedup.Key, version int64, more ddb.Fields) ddb.Item {
		return ddb.Fields{
			"id": ddb.Text(k.ID), "processorId": ddb.Text(k.Processor), "v": ddb.Int(version),
			"fence":   ddb.Int(1),
			"attempt": ddb.Int(1), "token": ddb.Blob(make([]byte, 16)), "startedAt": ddb.Int(0),
			"leaseUntil": ddb.Int(0),
			"validUntil": ddb.Millis(at.Add(time.Hour)),
		}.Item().Merge(more.Item())
	}
	completed := ddb.Fields{"completedAt": ddb.Int(1)}
	ddbtest.Each(t, func(t *testing.T, kind ddbtest.Kind) {
		store, engine, names := open(t, kind)
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
				seen := dedup.Row{Key: k, Fence: 1, LeaseUntil: time.UnixMilli(0),
					CompletedAt: time.UnixMilli(1)}
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
