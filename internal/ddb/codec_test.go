package ddb_test

import (
	"math/big"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/table"
)

type parcel struct {
	Queue string            `ddb:"queue,key"`
	Seq   int64             `ddb:"seq,key"`
	State string            `ddb:"state,one=OPEN|SENT"`
	Until time.Time         `ddb:"until,omitzero"`
	Idle  time.Duration     `ddb:"idle,optional"`
	Mark  [4]byte           `ddb:"mark,optional"`
	To    [2]stop           `ddb:"to,omitzero"`
	Named map[string]string `ddb:"named,omitzero"`
	Total sum               `ddb:"total,optional,int128"`
	Old   bool              `ddb:"old,omitzero,is=1"`
	Bytes string            `ddb:"bytes,omitzero,b"`
	By    map[int]stop      `ddb:"by,omitzero"`
	Limit *int64            `ddb:"limit,omitzero"`
}

type stop struct {
	Name string `ddb:"name"`
}

type sum struct {
	Hi int64
	Lo uint64
}

var parcels = ddb.NewCodec[parcel]("parcel", 1, 2)

// TestCodecItem: what is written, and what is left out.
func TestCodecItem(t *testing.T) {
	p := parcel{Queue: "q", Seq: 1, State: "OPEN"}
	for _, c := range []struct{ is, want string }{
		{parcels.Item(&p).String(), `{idle:0 mark:0x00000000 queue:q seq:1 state:OPEN total:0 v:1}`},
		{parcels.Item(&p, ddb.Path("v").Set(ddb.Int(2)), ddb.Path("mark").Remove()).String(), `{idle:0 queue:q seq:1 state:OPEN total:0 v:2}`},
	} {
		check.That(t, c.is == c.want, "%s, want %s", c.is, c.want)
	}
	p.To[0].Name, p.Old, p.Idle, p.Total = "a", true, time.Second, sum{1, 0}
	p.Bytes, p.By, p.Limit, p.Named = "\x00", map[int]stop{7: {"x"}, 10: {}}, new(int64),
		map[string]string{}
	want := `{by:{10:{name:} 7:{name:x}} bytes:0x00 idle:1000 limit:0 mark:0x00000000 old:1 queue:q seq:1 state:OPEN to:[{name:a}] total:18446744073709551616 v:1}`
	check.Is(t, parcels.Item(&p).String(), want)
	p.Named = nil
	got, err := parcels.Decode(parcels.Item(&p))
	check.That(t, err == nil && reflect.DeepEqual(got, p), "%+v, %v, want %+v", got, err, p)
}

// TestCodecErrors name what the item is, its keys, the attribute, and what stands there.
func TestCodecErrors(t *testing.T) {
	stop := ddb.MapOf(ddb.Fields{"name": ddb.Text("a")})
	for _, c := range []struct {
		name  ddb.Path
		value ddb.Value
		want  string
	}{
		{"seq", ddb.Value{}, `parcel queue="q" seq="none": attribute "seq" is missing, and must be a number`},
		{"seq", ddb.Text("x"), `parcel queue="q" seq="x": attribute "seq" is a string, and must be a number`},
		{"seq", ddb.Int128(1, 0), `parcel queue="q" seq="18446744073709551616": attribute "seq" is 18446744073709551616, which is not an integer that fits`},
		{"state", ddb.Text("LOST"), `parcel queue="q" seq="1": attribute "state" is "LOST", which this version does not know`},
		{"until", ddb.Unreadable(), `parcel queue="q" seq="1": attribute "until" is of a kind that no item has, and must be a number`},
		{"idle", ddb.Int(1 << 62), `parcel queue="q" seq="1": attribute "idle" is 4611686018427387904, which is not an integer that fits`},
		{"mark", ddb.Blob([]byte("abc")), `parcel queue="q" seq="1": attribute "mark" is of 3 bytes, and must be of 4`},
		{"to", ddb.ListOf(stop, ddb.MapOf(nil)), `parcel queue="q" seq="1": attribute "to[1].name" is missing, and must be a string`},
		{"to", ddb.ListOf(stop, stop, stop), `parcel queue="q" seq="1": attribute "to" is a list of 3, and must be of 2 at most`},
		{"named", ddb.MapOf(ddb.Fields{"x": ddb.Bool(true)}), `parcel queue="q" seq="1": attribute "named.x" is a boolean, and must be a string`},
		{"by", ddb.MapOf(ddb.Fields{"x": stop}), `parcel queue="q" seq="1": attribute "by.x" is under what is no number`},
		{"by", ddb.MapOf(ddb.Fields{"7": ddb.MapOf(nil)}), `parcel queue="q" seq="1": attribute "by.7.name" is missing, and must be a string`},
		{"bytes", ddb.Text("x"), `parcel queue="q" seq="1": attribute "bytes" is a string, and must be binary`},
		{"v", ddb.Value{}, `parcel queue="q" seq="1": attribute "v" is missing, and must be a number`},
	} {
		p := parcel{Queue: "q", Seq: 1, State: "OPEN", Old: true}
		got, err := parcels.Decode(parcels.Item(&p, c.name.Set(c.value)))
		check.That(t, err != nil && err.Error() == c.want && got.Queue == "",
			"%s: %+v, %v, want %s", c.name, got, err, c.want)
	}
	p := parcel{State: "OPEN"}
	check.Fails(t, check.Err(parcels.Decode(parcels.Item(&p, ddb.Path("v").Set(ddb.Int(3))))),
		table.ErrNewerLayout)
}

// TestCodecPanics: a tag that can never be is found by any use of its codec.
func TestCodecPanics(t *testing.T) {
	it := ddb.Fields{"c": ddb.Int(1)}.Item()
	for what, use := range map[string]func(){
		"a channel": func() {
			ddb.NewCodec[struct {
				C chan int `ddb:"c"`
			}]("", 0, 0).Read(it)
		},
		"an option that there is not": func() {
			ddb.NewCodec[struct {
				C int `ddb:"c,omitempty"`
			}]("", 0, 0).Read(it)
		},
		"a truth whose zero would be written as true": func() {
			ddb.NewCodec[struct {
				C bool `ddb:"c,is=1"`
			}]("", 0, 0).Read(it)
		},
		"a pointer that is written where it is nil": func() {
			ddb.NewCodec[struct {
				C *int `ddb:"c"`
			}]("", 0, 0).Read(it)
		},
		"a field that is not exported": func() {
			ddb.NewCodec[struct {
				c int `ddb:"c"`
			}]("", 0, 0).Read(it)
		},
	} {
		func() {
			defer func() { check.That(t, recover() != nil, "a struct with %s has a codec", what) }()
			use()
		}()
	}
}

func TestEveryClauseCanBeDropped(t *testing.T) {
	a, b, c := ddb.Path("a"), ddb.Path("b"), ddb.Path("c").At("7").At("d")
	one := ddb.Int(1)
	r := ddb.Update{
		Op: ddb.Op{Op: "move"},
		If: ddb.And(a.Eq(one), ddb.Or(b.Missing(), b.Lt(a.Ref())),
			ddb.Not(ddb.Or(c.Contains(one), c.Contains(ddb.Int(2))))),
		Do: []ddb.Action{a.Set(one), b.Remove()},
	}
	want := []string{
		"move if (a = ? and (b missing or b < a) and not (c.*.d contains ?))",
		"move if a = ?",
		"move if (b missing or b < a)",
		"move if b missing",
		"move if b < a",
		"move if b < a (bound)",
		"move if not (c.*.d contains ?)",
		"move if (c.*.d contains ?)",
		"move if c.*.d contains ?",
		"move does a",
		"move does b",
	}
	got := ddb.Clauses(r)
	check.That(t, slices.Equal(got, want), "clauses %q\nwant %q", got, want)
	for clause, left := range map[string][]string{
		"move if a = ?":         {"(b missing or b < a)", "not (c.*.d contains ?)"},
		"move if b < a":         {"a = ?", "b missing", "not (c.*.d contains ?)"},
		"move if b < a (bound)": {"b <= a"},
		"move does a":           {"does b"},
	} {
		after := ddb.Clauses(ddb.Without(r, clause))
		for _, part := range left {
			check.That(t, slices.ContainsFunc(after, func(name string) bool {
				return name == "move if "+part || name == "move "+part
			}),
				"without %q: %q, want %q in it", clause, after, part)
		}
		check.That(t, !slices.Contains(after, clause) || clause == "move if b < a (bound)",
			"without %q it is still there: %q", clause, after)
	}
	other := (ddb.Get{Op: ddb.Op{Op: "move"}})
	check.That(t, len(ddb.Clauses(other)) == 0, "a read has no clauses")
}

// TestDecimal: a number of 128 bits is written as math/big writes it, and read again where it has
// at most 38 digits.
func TestDecimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hi, lo := rapid.Int64().Draw(t, "hi"), rapid.Uint64().Draw(t, "lo")
		want := new(big.Int).Lsh(big.NewInt(hi), 64)
		want.Add(want, new(big.Int).SetUint64(lo))
		v := ddb.Int128(hi, lo)
		if got := v.Decimal(); got != want.String() {
			t.Fatalf("%s, want %s", got, want)
		}
		if want.CmpAbs(new(big.Int).Exp(big.NewInt(10), big.NewInt(38), nil)) < 0 &&
			!ddb.ParseNumber(v.Decimal()).Equal(v) {
			t.Fatalf("%s is read as %s", want, ddb.ParseNumber(v.Decimal()))
		}
	})
}
