package stamps

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/clause"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
)

// at is a moment that all parts of the table keep exactly. It is far ahead: a chain whose time has
// come may be deleted at any moment.
var at = time.Date(2126, 3, 4, 5, 6, 7, 0, time.UTC)

// TestStore holds the store on each engine to what its methods say. All tests share a table: each
// has tags of its own.
func TestStore(t *testing.T) {
	ddbtest.Each(t, func(t *testing.T, kind ddbtest.Kind) {
		names := xorack.Names{Chains: "stamps" + ddbtest.Suffix()}
		definition := names.Tables()[0]
		// Its stream is not read here.
		definition.Stream = table.NoStream
		s := storeOn(t, ddbtest.Open(t, kind, definition), names)
		for _, c := range []struct {
			name string
			test func(*testing.T, *store)
		}{
			{"create", testCreate},
			{"create refused", testCreateRefused},
			{"add", testAdd},
			{"add refused", testAddRefused},
			{"settle", testSettle},
			{"delete", testDelete},
		} {
			t.Run(c.name, func(t *testing.T) { c.test(t, s) })
		}
	})
}

func storeOn(t *testing.T, engine ddb.Engine, names xorack.Names) *store {
	t.Helper()
	return New(check.Get(xorack.New(xorack.NewStore(engine, names), nil))).store
}

// inc is the incarnation of all chains of these tests but strangers.
var inc = [8]byte{1, 2, 3, 4, 5, 6, 7, 8}

// stranger is another one.
var stranger = [8]byte{9, 9, 9, 9, 9, 9, 9, 9}

func op(n byte) [8]byte { return [8]byte{n} }

// newChain is a chain of stamps of two bytes at its creation, each behind its mark.
func newChain(tag string, marked ...string) xorack.Chain {
	return xorack.Chain{
		Tag: tag, Incarnation: inc, StampLen: 2, Stamps: bytesOf(marked...), Created: at,
		Deadline: at.Add(time.Hour), Seen: at, Due: at.Add(time.Minute), ExpiresOn: chains.Never,
	}
}

func bytesOf(texts ...string) [][]byte {
	var all [][]byte
	for _, text := range texts {
		all = append(all, []byte(text))
	}
	return all
}

// stamp is a stamp behind its mark.
func stamp(tag, marked string) addition {
	return addition{tag: tag, marked: []byte(marked), room: 3, now: at.Add(time.Minute),
		orphan: at.Add(24 * time.Hour)}
}

// same fails the test where two values differ.
func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	check.Is(t, cmp.Diff(want, got, cmp.AllowUnexported(xorack.Edge{})), "", what)
}

func standing(t *testing.T, s *store, tag string) xorack.Chain {
	t.Helper()
	a := check.Get(s.Engine.Do(t.Context(), ddb.Get{Op: s.Op("get"), Key: s.Key(tag), Strong: true}))
	c, _ := check.Get2(s.Decoded(a.Item, true, nil))
	return c
}

// answers fails the test unless a write answers with this chain and this word on whether it changed
// it, and the chain stands there.
func answers(t *testing.T, s *store, what string, want xorack.Chain,
	changes bool) func(xorack.Chain, bool, error) {
	t.Helper()
	return func(got xorack.Chain, changed bool, err error) {
		t.Helper()
		check.OK(t, err)
		same(t, what+": changed", changed, changes)
		same(t, what, got, want)
		if want.Tag != "" {
			same(t, what+": standing", standing(t, s, want.Tag), want)
		}
	}
}

func create(t *testing.T, s *store, c xorack.Chain) xorack.Chain {
	t.Helper()
	same(t, "created", check.Get(s.Create(t.Context(), c)), c)
	return c
}

// edges makes a chain of edges, or what is left of one.
func edges(t *testing.T, s *store, tag string, also ddb.Fields) xorack.Chain {
	t.Helper()
	fields := ddb.Fields{
		chains.Tag: ddb.Text(tag), chains.Version: ddb.Int(chains.Layout),
		chains.Incarnation: ddb.Blob(inc[:]), chains.Sum: ddb.Int(5),
	}
	check.Get(s.Engine.Do(t.Context(),
		ddb.Put{Op: s.Op("put"), Item: fields.Item().Merge(also.Item())}))
	return standing(t, s, tag)
}

func testCreate(t *testing.T, s *store) {
	orphan := xorack.Chain{
		Tag: "create a", StampLen: 2, Stamps: bytesOf("mark01bb"),
		Seen: at.Add(time.Minute), ExpiresOn: at.Add(24 * time.Hour),
	}
	answers(t, s, "before creation", orphan, true)(s.add(t.Context(), stamp("create a", "mark01bb")))
	want := newChain("create a", "mark01bb", "mark02cc")
	want.Seen = orphan.Seen
	same(t, "created over it",
		check.Get(s.Create(t.Context(), newChain("create a", "mark02cc"))), want)
	same(t, "standing", standing(t, s, "create a"), want)
}

// refuses fails the test unless a create is answered with this error and leaves the chain.
func refuses(t *testing.T, s *store, left, c xorack.Chain, want error) {
	t.Helper()
	check.Fails(t, check.Err(s.Create(t.Context(), c)), want)
	same(t, "standing", standing(t, s, c.Tag), left)
}

func testCreateRefused(t *testing.T, s *store) {
	first := create(t, s, newChain("refused a", "mark01aa"))
	again := newChain("refused a", "mark02aa")
	same(t, "twice", check.Get(s.Create(t.Context(), again)), first)
	other := newChain("refused a", "mark02bbb")
	other.StampLen, other.Incarnation = 3, stranger
	refuses(t, s, first, other, xorack.ErrTagExists)

	check.Get2(s.add(t.Context(), stamp("refused b", "mark01aa")))
	other.Tag = "refused b"
	refuses(t, s, standing(t, s, "refused b"), other, xorack.ErrOtherKind)
	failed := edges(t, s, "refused c", ddb.Fields{chains.Recorded: ddb.Text("FAILED")})
	other.Tag = "refused c"
	check.Get(s.Create(t.Context(), other))
	same(t, "in the place of edges", standing(t, s, failed.Tag), other)

	left := edges(t, s, "refused d", nil)
	same(t, "over edges", check.Get(s.Create(t.Context(), newChain(left.Tag, "mark01aa"))), left)

	check.Get2(s.delete(t.Context(), "refused b", op(5), at, at))
	create(t, s, newChain("refused b", "mark02aa"))
}

func testAdd(t *testing.T, s *store) {
	want := create(t, s, newChain("add a", "mark05aa"))
	want.Stamps, want.Seen = bytesOf("mark01bb", "mark05aa"), at.Add(time.Minute)
	answers(t, s, "stamp", want, true)(s.add(t.Context(), stamp("add a", "mark01bb")))
	answers(t, s, "repeated", want, true)(s.add(t.Context(), stamp("add a", "mark01bb")))
	want.Stamps = bytesOf("mark01bb", "mark02bb", "mark05aa")
	answers(t, s, "the same stamp of another operation", want,
		true)(s.add(t.Context(), stamp("add a", "mark02bb")))
	same(t, "XOR", want.XOR(), []byte("aa"))
}

func testAddRefused(t *testing.T, s *store) {
	open := create(t, s, newChain("add refused a", "mark01aa"))
	answers(t, s, "another length", open,
		false)(s.add(t.Context(), stamp("add refused a", "mark02bbb")))
	left := edges(t, s, "add refused b", nil)
	answers(t, s, "on edges", left, false)(s.add(t.Context(), stamp("add refused b", "mark01aa")))
	for _, marked := range []string{"mark02aa", "mark03aa", "mark04aa"} {
		_, added := check.Get2(s.add(t.Context(), stamp("add refused a", marked)))
		same(t, "added", added, true)
	}
	full := standing(t, s, "add refused a")
	answers(t, s, "one too many", full, false)(s.add(t.Context(), stamp("add refused a", "mark05aa")))
}

func testSettle(t *testing.T, s *store) {
	open := create(t, s, newChain("settle a", "mark01aa"))
	answers(t, s, "not acked", open, false)(s.Settle(t.Context(), open))
	want, _ := check.Get2(s.add(t.Context(), stamp("settle a", "mark02aa")))
	got, settled := check.Get2(s.Settle(t.Context(), want))
	same(t, "settled", settled && got.Recorded == xorack.Done, true)
	answers(t, s, "repeated", got, false)(s.Settle(t.Context(), want))
	answers(t, s, "and a stamp", got, false)(s.add(t.Context(), stamp("settle a", "mark03aa")))
}

func testDelete(t *testing.T, s *store) {
	now, expires := at.Add(time.Minute), at.Add(48*time.Hour)
	want := create(t, s, newChain("delete a", "mark01aa"))
	want.Recorded, want.LastOp, want.EndedAt, want.ExpiresOn, want.Due = xorack.Deleted, op(5), now,
		expires, time.Time{}
	answers(t, s, "delete", want, true)(s.delete(t.Context(), "delete a", op(5), now, expires))
	answers(t, s, "again", want, false)(s.delete(t.Context(), "delete a", op(6), now, expires))
	answers(t, s, "and a stamp", want, false)(s.add(t.Context(), stamp("delete a", "mark02aa")))
	answers(t, s, "nothing", xorack.Chain{},
		false)(s.delete(t.Context(), "delete b", op(5), now, expires))
	left := edges(t, s, "delete c", nil)
	answers(t, s, "of edges", left, false)(s.delete(t.Context(), "delete c", op(5), now, expires))
}

// TestNewerLayoutIsNotWritten: an item that a later version wrote stays as it is under each write,
// and one of an older layout is not brought to this one.
func TestNewerLayoutIsNotWritten(t *testing.T) {
	ctx := t.Context()
	stamped := func(s *store) (xorack.Chain, bool, error) {
		c, err := s.Create(ctx, newChain("t", "mark01aa"))
		return c, true, err
	}
	orphan := func(s *store) (xorack.Chain, bool, error) { return s.add(ctx, stamp("t", "mark02aa")) }
	for name, c := range map[string]struct {
		before, write func(*store) (xorack.Chain, bool, error)
	}{
		"add":    {stamped, orphan},
		"delete": {stamped, func(s *store) (xorack.Chain, bool, error) { return s.delete(ctx, "t", op(1), at, at) }},
	} {
		for v, refused := range map[int64]bool{0: false, 2: true} {
			memory := ddb.NewMemory(xorack.Names{}.Tables()...)
			s := storeOn(t, clause.Layer(memory), xorack.Names{})
			check.Get2(c.before(s))
			items := func() ddb.Item { return memory.Items(xorack.Names{}.Tables()[0].Name)[0] }
			it := items().Merge(ddb.Fields{chains.Version: ddb.Int(v)}.Item())
			check.Get(memory.Do(ctx, ddb.Put{Op: s.Op("put"), Item: it}))
			_, changed, err := c.write(s)
			check.That(t, changed != refused && errors.Is(err, table.ErrNewerLayout) == refused,
				"%s of layout %d: changed %v, %v", name, v, changed, err)
			check.That(t, !refused || items().Equal(it), "%s: it was %v, and is %v", name, it, items())
			if is, _ := items().Get("v").Int64(); is != v && !strings.HasPrefix(name, "replace") {
				t.Errorf("after %s: layout %d, and it was %d", name, is, v)
			}
			check.That(t, name != "delete" || refused || !items().Has("due") && !items().Has("dueShard"),
				"it is deleted, and in the index: %v", items())
		}
	}
}
