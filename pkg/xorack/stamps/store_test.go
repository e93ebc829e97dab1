package stamps

import (
	"errors"
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
			test func(*bench)
		}{
			{"create", testCreate},
			{"create refused", testCreateRefused},
			{"add", testAdd},
			{"add refused", testAddRefused},
			{"settle", testSettle},
			{"delete", testDelete},
		} {
			t.Run(c.name, func(t *testing.T) { c.test(&bench{t, s}) })
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

// adds adds a stamp behind its mark.
func (b *bench) adds(tag, marked string) (xorack.Chain, bool, error) {
	return b.add(b.Context(), addition{tag: tag, marked: []byte(marked), room: 3,
		now: at.Add(time.Minute), orphan: at.Add(24 * time.Hour)})
}

// bench is a store under test.
type bench struct {
	*testing.T
	*store
}

func same[T any](b *bench, what string, got, want T) {
	b.Helper()
	check.Is(b, cmp.Diff(want, got, cmp.AllowUnexported(xorack.Edge{})), "", what)
}

func (b *bench) standing(tag string) xorack.Chain {
	b.Helper()
	a := check.Get(b.Engine.Do(b.Context(), ddb.Get{Op: b.Op("get"), Key: b.Key(tag), Strong: true}))
	c, _ := check.Get2(b.Decoded(a.Item, true, nil))
	return c
}

// answers fails the test unless a write answers with this chain and this word on whether it changed
// it, and the chain stands there.
func (b *bench) answers(what string, want xorack.Chain,
	changes bool) func(xorack.Chain, bool, error) {
	return func(got xorack.Chain, changed bool, err error) {
		b.Helper()
		check.OK(b, err)
		same(b, what+": changed", changed, changes)
		same(b, what, got, want)
		if want.Tag != "" {
			same(b, what+": standing", b.standing(want.Tag), want)
		}
	}
}

func (b *bench) made(what string, want xorack.Chain) func(xorack.Chain, bool, error) {
	return b.answers(what, want, true)
}

func (b *bench) not(what string, want xorack.Chain) func(xorack.Chain, bool, error) {
	return b.answers(what, want, false)
}

func (b *bench) creates(c xorack.Chain) xorack.Chain {
	b.Helper()
	same(b, "created", check.Get(b.Create(b.Context(), c)), c)
	return c
}

// edges makes a chain of edges, or what is left of one.
func (b *bench) edges(tag string, also ddb.Fields) xorack.Chain {
	b.Helper()
	fields := ddb.Fields{
		chains.Tag: ddb.Text(tag), chains.Version: ddb.Int(chains.Layout),
		chains.Incarnation: ddb.Blob(inc[:]), chains.Sum: ddb.Int(5),
	}
	check.Get(b.Engine.Do(b.Context(),
		ddb.Put{Op: b.Op("put"), Item: fields.Item().Merge(also.Item())}))
	return b.standing(tag)
}

func testCreate(b *bench) {
	orphan := xorack.Chain{
		Tag: "create a", StampLen: 2, Stamps: bytesOf("mark01bb"),
		Seen: at.Add(time.Minute), ExpiresOn: at.Add(24 * time.Hour),
	}
	b.made("before creation", orphan)(b.adds("create a", "mark01bb"))
	want := newChain("create a", "mark01bb", "mark02cc")
	want.Seen = orphan.Seen
	same(b, "created over it",
		check.Get(b.Create(b.Context(), newChain("create a", "mark02cc"))), want)
	same(b, "standing", b.standing("create a"), want)
}

// refuses fails the test unless a create is answered with this error and leaves the chain.
func (b *bench) refuses(left, c xorack.Chain, want error) {
	b.Helper()
	check.Fails(b, check.Err(b.Create(b.Context(), c)), want)
	same(b, "standing", b.standing(c.Tag), left)
}

func testCreateRefused(b *bench) {
	first := b.creates(newChain("refused a", "mark01aa"))
	again := newChain("refused a", "mark02aa")
	same(b, "twice", check.Get(b.Create(b.Context(), again)), first)
	other := newChain("refused a", "mark02bbb")
	other.StampLen, other.Incarnation = 3, stranger
	b.refuses(first, other, xorack.ErrTagExists)

	check.Get2(b.adds("refused b", "mark01aa"))
	other.Tag = "refused b"
	b.refuses(b.standing("refused b"), other, xorack.ErrOtherKind)
	failed := b.edges("refused c", ddb.Fields{chains.Recorded: ddb.Text("FAILED")})
	other.Tag = "refused c"
	check.Get(b.Create(b.Context(), other))
	same(b, "in the place of edges", b.standing(failed.Tag), other)

	left := b.edges("refused d", nil)
	same(b, "over edges", check.Get(b.Create(b.Context(), newChain(left.Tag, "mark01aa"))), left)

	check.Get2(b.delete(b.Context(), "refused b", op(5), at, at))
	b.creates(newChain("refused b", "mark02aa"))
}

func testAdd(b *bench) {
	want := b.creates(newChain("add a", "mark05aa"))
	want.Stamps, want.Seen = bytesOf("mark01bb", "mark05aa"), at.Add(time.Minute)
	b.made("stamp", want)(b.adds("add a", "mark01bb"))
	b.made("repeated", want)(b.adds("add a", "mark01bb"))
	want.Stamps = bytesOf("mark01bb", "mark02bb", "mark05aa")
	b.made("the same stamp of another operation", want)(b.adds("add a", "mark02bb"))
	same(b, "XOR", want.XOR(), []byte("aa"))
}

func testAddRefused(b *bench) {
	open := b.creates(newChain("add refused a", "mark01aa"))
	b.not("another length", open)(b.adds("add refused a", "mark02bbb"))
	left := b.edges("add refused b", nil)
	b.not("on edges", left)(b.adds("add refused b", "mark01aa"))
	for _, marked := range []string{"mark02aa", "mark03aa", "mark04aa"} {
		_, added := check.Get2(b.adds("add refused a", marked))
		same(b, "added", added, true)
	}
	full := b.standing("add refused a")
	b.not("one too many", full)(b.adds("add refused a", "mark05aa"))
}

func testSettle(b *bench) {
	open := b.creates(newChain("settle a", "mark01aa"))
	b.not("not acked", open)(b.Settle(b.Context(), open))
	want, _ := check.Get2(b.adds("settle a", "mark02aa"))
	got, settled := check.Get2(b.Settle(b.Context(), want))
	same(b, "settled", settled && got.Recorded == xorack.Done, true)
	b.not("repeated", got)(b.Settle(b.Context(), want))
	b.not("and a stamp", got)(b.adds("settle a", "mark03aa"))
}

func testDelete(b *bench) {
	now, expires := at.Add(time.Minute), at.Add(48*time.Hour)
	want := b.creates(newChain("delete a", "mark01aa"))
	want.Recorded, want.LastOp, want.EndedAt, want.ExpiresOn, want.Due = xorack.Deleted, op(5), now,
		expires, time.Time{}
	b.made("delete", want)(b.delete(b.Context(), "delete a", op(5), now, expires))
	b.not("again", want)(b.delete(b.Context(), "delete a", op(6), now, expires))
	b.not("and a stamp", want)(b.adds("delete a", "mark02aa"))
	b.not("nothing", xorack.Chain{})(b.delete(b.Context(), "delete b", op(5), now, expires))
	left := b.edges("delete c", nil)
	b.not("of edges", left)(b.delete(b.Context(), "delete c", op(5), now, expires))
}

// TestNewerLayoutIsNotWritten: an item that a later version wrote stays as it is under each write,
// and one of an older layout is not brought to this one.
func TestNewerLayoutIsNotWritten(t *testing.T) {
	for name, write := range map[string]func(*bench) (xorack.Chain, bool, error){
		"add": func(b *bench) (xorack.Chain, bool, error) { return b.adds("t", "mark02aa") },
		"delete": func(b *bench) (xorack.Chain, bool, error) {
			return b.delete(b.Context(), "t", op(1), at, at)
		},
	} {
		for v, refused := range map[int64]bool{0: false, 2: true} {
			memory := ddb.NewMemory(xorack.Names{}.Tables()...)
			b := &bench{t, storeOn(t, clause.Layer(memory), xorack.Names{})}
			b.creates(newChain("t", "mark01aa"))
			items := func() ddb.Item { return memory.Items(xorack.Names{}.Tables()[0].Name)[0] }
			it := items().Merge(ddb.Fields{chains.Version: ddb.Int(v)}.Item())
			check.Get(memory.Do(t.Context(), ddb.Put{Op: b.Op("put"), Item: it}))
			_, changed, err := write(b)
			check.That(t, changed != refused && errors.Is(err, table.ErrNewerLayout) == refused,
				"%s of layout %d: changed %v, %v", name, v, changed, err)
			check.That(t, !refused || items().Equal(it), "%s: it was %v, and is %v", name, it, items())
			if is, _ := items().Get("v").Int64(); is != v {
				t.Errorf("after %s: layout %d, and it was %d", name, is, v)
			}
			check.That(t, name != "delete" || refused || !items().Has("due") && !items().Has("dueShard"),
				"it is deleted, and in the index: %v", items())
		}
	}
}
