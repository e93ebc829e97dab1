package sortkey_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Stripe's created counts whole seconds: the rank puts what was created first, and what was deleted
// last.
func ExampleKeyType_Key() {
	keys, err := sortkey.ParseKeyType("time, rank(*.created | * | *.deleted)")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(keys)
	type event struct {
		created json.Number
		name    string
	}
	events := map[sortkey.Key]string{}
	for _, e := range []event{
		{"1700000000", "customer.subscription.deleted"},
		{"1700000000", "customer.subscription.updated"},
		{"1700000000", "customer.subscription.created"},
		{"1699999999.5", "customer.deleted"},
	} {
		key, err := keys.Key(e.created, e.name)
		if err != nil {
			fmt.Println(err)
			return
		}
		events[key] = e.name
	}
	inOrder := make([]sortkey.Key, 0, len(events))
	for key := range events {
		inOrder = append(inOrder, key)
	}
	slices.Sort(inOrder)
	for _, key := range inOrder {
		fmt.Printf("%s %s\n", key.JSON(), events[key])
	}
	_, err = keys.Key("2023-11-14 22:13:20", "customer.created")
	fmt.Println(strings.Replace(err.Error(), ", or", ",\nor", 1))
	// Output:
	// time,rank(*.created|*|*.deleted)
	// ["2023-11-14T22:13:19.5Z",2] customer.deleted
	// ["2023-11-14T22:13:20Z",0] customer.subscription.created
	// ["2023-11-14T22:13:20Z",1] customer.subscription.updated
	// ["2023-11-14T22:13:20Z",2] customer.subscription.deleted
	// key part 1 of 2 must be a time as RFC 3339 writes it, such as 2026-01-02T15:04:05.999Z,
	// or Unix seconds; the type utc takes it
}

// keyOf is the key of a JSON value.
func keyOf(t testing.TB, keys sortkey.KeyType, raw string) sortkey.Key {
	t.Helper()
	key, err := keys.ParseKey([]byte(raw))
	check.Need(t, err == nil, "%s %s: %v", keys, raw, err)
	return key
}

// TestKeysForReaders: each key has one form for readers, whatever the producer's was.
func TestKeysForReaders(t *testing.T) {
	for _, c := range [][]string{ // a type, a key as readers see it, and as producers write it
		{"number", `1`, `1.0`, `1e0`, `0.1E+1`, `100e-2`, ` 1 `},
		{"number", `0`, `-0`, `0.00`, `0e999999999999`, `-0.000e-5`},
		{"number", `9223372036854775807`},
		{"number", `-9223372036854775808`},
		{"number", `18446744073709551615`, `"18446744073709551615"`},
		{"number", `-12.5`, `-12.50`},
		{"number", `0.001`},
		{"number", `100000000000000000000`, `1e20`},
		{"number", `0.0000001`, `1e-7`},
		{"number", `1.2345678901234567890123456789012345678`},
		{"number", `0.` + strings.Repeat("0", 125) + `1`, `1e-126`},
		{"number", `-999` + strings.Repeat("0", 123), `-999e123`},
		{
			"time", `"2018-10-03T21:13:54Z"`, `"2018-10-03T21:13:54.000Z"`,
			`"2018-10-03t21:13:54z"`, `"2018-10-03T21:13:54-00:00"`, `1538601234`, `1.538601234e9`,
			`"2018-10-03T21:13:54-0000"`, `"1538601234"`,
		},
		{
			"time", `"2018-10-03T21:13:54.12Z"`, `"2018-10-03T23:13:54.120+02:00"`,
			`1538601234.120`, `"2018-10-03T23:13:54.12+0200"`,
		},
		{"time", `"1970-01-01T00:00:00Z"`, `0`},
		{"time", `"1969-12-31T23:59:59.999999999Z"`, `-0.000000001`},
		{"time", `"1969-12-31T23:59:59Z"`, `-1`},
		{"time", `"1969-12-31T23:59:59.25Z"`},
		{"time", `"1969-12-31T23:59:58.25Z"`},
		{"time", `"0000-01-01T00:00:00Z"`},
		{"time", `"9999-12-31T23:59:59.999999999Z"`},
		{"time", `"2024-02-29T00:00:00Z"`},
		{"time", `"2025-05-06T07:08:09.123Z"`, `1746515289123`},
		{"time", `"2025-05-06T07:08:09.1235Z"`, `"1746515289123.5"`},
		{"utc", `"2025-05-06T07:08:09Z"`, `"2025-05-06 07:08:09 UTC"`},
		{"utc", `"2025-05-06T05:08:09.5Z"`, `"2025-05-06 07:08:09.5+02"`},
		{"utc", `"2025-05-06T04:38:09Z"`, `"2025-05-06 07:08:09 +0230"`},
		{"time", `"2025-05-06T07:08:09.0002Z"`, `"1746515289.000200"`},
		{"time", `"2016-12-31T23:59:59.999999999Z"`, `"2016-12-31T23:59:60Z"`},
		{"time", `"1990-12-31T23:59:59.999999999Z"`, `"1990-12-31T15:59:60.5-0800"`},
		{"utc", `"2018-10-03T21:13:54.5Z"`, `"2018-10-03 21:13:54.5"`},
		{"utc", `"2018-10-03T21:13:54Z"`, `"2018-10-03T21:13:54"`, `1538601234`},
		{"utc", `"2018-10-03T19:13:54Z"`, `"2018-10-03T21:13:54+02:00"`},
		{"lsn", `"0/A0000010"`},
		{"lsn", `"1/A"`, `"00000001/0000000a"`},
		{"lsn", `"FFFFFFFF/FFFFFFFF"`, `"ffffffff/FFFFFFFF"`},
		{"lsn", `"0/0"`},
		{"ulid", `"01ARZ3NDEKTSV4RRFFQ69G5FAV"`, `"01arz3ndektsv4rrffq69g5fav"`},
		{"semver", `"1.10.2"`, `"v1.010.2+build.7"`},
		{"semver", `"1.0.0-rc.1.x-y"`, `"1.0.0-rc.01.x-y"`},
		{"semver", `"0"`},
		{"hex", `"ff"`, `"0x00FF"`},
		{"hex", `"0"`, `"0000"`},
		{"hex", `"` + strings.Repeat("f", 64) + `"`},
		{"text", `""`},
		{"text", `"a\u0000<b>"`},
		{"text", `"😀"`, `"\ud83d\ude00"`},
		{"text", `"` + strings.Repeat("x", 64) + `"`},
		{"time,number,text", `["2018-10-03T21:13:54Z",7.1,"x"]`, `["2018-10-03T21:13:54Z", 7.10, "x"]`},
	} {
		keys := sortkey.KeyType(c[0])
		for _, raw := range c[1:] {
			key := keyOf(t, keys, raw)
			check.Is(t, string(key.JSON()), c[1], c[0], raw)
			check.That(t, keys.Has(key) && key == keyOf(t, keys, c[1]), "%s has no key %s", keys, key)
		}
	}
}

// TestKeysOfGoValues: a program gives its parts as they are.
func TestKeysOfGoValues(t *testing.T) {
	at := time.Date(2018, 10, 3, 23, 13, 54, 120_000_000, time.FixedZone("", 7200))
	for _, c := range []struct {
		keys  sortkey.KeyType
		value any
		raw   string
	}{
		{"number", 7, `7`},
		{"number", int64(-7), `-7`},
		{"number", uint64(18446744073709551615), `18446744073709551615`},
		{"number", 0.1, `0.1`},
		{"number", json.Number("7"), `7`},
		{"number", "7", `7`},
		{"time", at, `"2018-10-03T21:13:54.12Z"`},
		{"time", 1538601234.12, `1538601234.12`},
		{"time", 1538601234, `1538601234`},
		{"text", "x", `"x"`},
		{"rank(a|x)", "x", `"x"`},
	} {
		check.Is(t, check.Get(c.keys.Key(c.value)), keyOf(t, c.keys, c.raw), c.keys, c.value)
	}
	key, err := sortkey.KeyType("time,text").Key(at, "a,b")
	check.That(t, err == nil && key.String() == "2018-10-03T21:13:54.12Z,a,b", "%s, %v", key, err)
}

// TestSizesOfKeys: they are paid for with every message.
func TestSizesOfKeys(t *testing.T) {
	for _, c := range []struct {
		keys sortkey.KeyType
		raw  string
		most int
	}{
		{"time", `"2018-10-03T21:13:54.123Z"`, 9},
		{"time", `1538601234`, 7},
		{"time", `"2018-10-03T21:13:54.123456789Z"`, 12},
		{"number", `9876543211`, 7},
		{"number", `0`, 2},
		{"number", `9223372036854775807`, 12},
		{"number", `-9876543211`, 7},
		{"text", `"abc"`, 5},
		{"lsn", `"0/A0000010"`, 11},
		{"lsn", `"FFFFFFFF/FFFFFFFF"`, 19},
		{"ulid", `"01ARZ3NDEKTSV4RRFFQ69G5FAV"`, 28},
		{"semver", `"1.10.2"`, 14},
		{"rank(*)", `"abc"`, 2},
		{"time,rank(*)", `["2018-10-03T21:13:54.123Z","x"]`, 11},
	} {
		got := len(keyOf(t, c.keys, c.raw))
		check.That(t, got <= c.most, "%s %s has %d bytes, want at most %d", c.keys, c.raw, got, c.most)
	}
}

// rational is the value of a JSON number.
func rational(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic(text)
	}
	return r
}

var (
	keyNumbers = rapid.OneOf(
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,18})(\.[0-9]{1,18})?(e[+-]?[0-9]{1,2})?`),
		rapid.StringMatching(`-?(0|[1-9]0{0,5})(\.0{0,4}[0-9]{1,2})?`),
		rapid.Custom(func(t *rapid.T) string { return fmt.Sprint(rapid.Int64().Draw(t, "n")) }),
	)
	keyTimes = rapid.Custom(func(t *rapid.T) time.Time {
		seconds := rapid.OneOf(rapid.Int64Range(-62_167_219_200, 253_402_300_799),
			rapid.Int64Range(-3, 3), rapid.Int64Range(1_700_000_000, 1_700_000_003)).Draw(t, "seconds")
		nanos := rapid.OneOf(rapid.SampledFrom([]int64{0, 1, 500_000_000, 999_999_999}),
			rapid.Int64Range(0, 999_999_999)).Draw(t, "nanos")
		return time.Unix(seconds, nanos)
	})
	keyHex   = rapid.StringMatching(`(0x)?0{0,3}[0-9a-fA-F]{1,20}`)
	keyLSNs  = rapid.StringMatching(`[0-9a-fA-F]{1,8}/[0-9a-fA-F]{1,8}`)
	keyULIDs = rapid.StringMatching(`[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}`)
	// keyVersions have numbers and identifiers that are often equal.
	keyVersions = rapid.StringMatching(
		`[0-9]{1,2}(\.[0-9]{1,2}){0,3}(-(a|ab|1|10)(\.(a|A|2|10|-)){0,2})?`)
	keyTexts = rapid.OneOf(rapid.StringN(0, 16, 64), rapid.StringMatching("[\x00\x01ab]{0,4}"))
	keyEvent = rapid.SampledFrom([]string{"a", "b.x", "c"})
)

type keySample struct {
	key     sortkey.Key
	numbers *big.Rat
	times   time.Time
	texts   string
	rank    int
	// words are those of the other types, by their names.
	words map[string]string
}

// word draws a text of a type.
func word(name string, of *rapid.Generator[string]) func(*rapid.T, *keySample) any {
	return func(t *rapid.T, s *keySample) any {
		if s.words == nil {
			s.words = map[string]string{}
		}
		s.words[name] = of.Draw(t, name)
		return s.words[name]
	}
}

// integer is the value of hexadecimal digits, which a slash may cut in two halves of 32 bits.
func integer(text string) *big.Int {
	high, low, cut := strings.Cut(strings.TrimPrefix(text, "0x"), "/")
	n, _ := new(big.Int).SetString(high, 16)
	if cut {
		more, _ := new(big.Int).SetString(low, 16)
		n.Lsh(n, 32).Add(n, more)
	}
	return n
}

// compareVersions compares as SemVer 2.0.0 says in its item 11, also more and fewer numbers than
// three.
func compareVersions(a, b string) int {
	a, preA, isPreA := strings.Cut(a, "-")
	b, preB, isPreB := strings.Cut(b, "-")
	identifiers := func(a, b []string) int {
		return slices.CompareFunc(a, b, func(a, b string) int {
			x, errX := strconv.Atoi(a)
			y, errY := strconv.Atoi(b)
			switch digits := strings.Trim(a, "0123456789") == ""; {
			case errX == nil && errY == nil && digits && strings.Trim(b, "0123456789") == "":
				return cmp.Compare(x, y)
			case digits:
				return -1
			case strings.Trim(b, "0123456789") == "":
				return 1
			}
			return strings.Compare(a, b)
		})
	}
	if c := identifiers(strings.Split(a, "."), strings.Split(b, ".")); c != 0 {
		return c
	}
	switch {
	case isPreA && isPreB:
		return identifiers(strings.Split(preA, "."), strings.Split(preB, "."))
	case isPreA:
		return -1
	case isPreB:
		return 1
	}
	return 0
}

var sampleParts = map[string]func(*rapid.T, *keySample) any{
	"number": func(t *rapid.T, s *keySample) any {
		text := keyNumbers.Draw(t, "number")
		s.numbers = rational(text)
		return json.Number(text)
	},
	"time": func(t *rapid.T, s *keySample) any { s.times = keyTimes.Draw(t, "time"); return s.times },
	"text": func(t *rapid.T, s *keySample) any { s.texts = keyTexts.Draw(t, "text"); return s.texts },
	"hex":  word("hex", keyHex), "lsn": word("lsn", keyLSNs), "ulid": word("ulid", keyULIDs), "semver": word("semver", keyVersions),
	"utc": func(t *rapid.T, s *keySample) any {
		s.times = keyTimes.Draw(t, "utc")
		return s.times.UTC().Format("2006-01-02 15:04:05.999999999")
	},
	"rank(a|b*|c)": func(t *rapid.T, s *keySample) any {
		event := keyEvent.Draw(t, "event")
		s.rank = strings.IndexByte("abc", event[0])
		return event
	},
}

func (s keySample) compare(name string, o keySample) int {
	switch name {
	case "number":
		return s.numbers.Cmp(o.numbers)
	case "time", "utc":
		return s.times.Compare(o.times)
	case "hex", "lsn":
		return integer(s.words[name]).Cmp(integer(o.words[name]))
	case "ulid":
		return strings.Compare(strings.ToUpper(s.words[name]), strings.ToUpper(o.words[name]))
	case "semver":
		return compareVersions(s.words[name], o.words[name])
	case "text":
		return strings.Compare(s.texts, o.texts)
	}
	return s.rank - o.rank
}

var keyNames = []string{"number", "time", "utc", "text", "hex", "lsn", "ulid", "semver",
	"rank(a|b*|c)"}

// TestOrderOfKeys: keys sort as what they are of, part by part; equal ones are one key; none is the
// beginning of another, whatever follows it.
func TestOrderOfKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.SampledFrom(keyNames), 1, 3, func(name string) string {
			return strings.Replace(name, "utc", "time", 1)
		}).Draw(t, "parts")
		keys, err := sortkey.ParseKeyType(strings.Join(names, ","))
		if err != nil {
			t.Fatal(err)
		}
		draw := func() keySample {
			var s keySample
			parts := make([]any, len(names))
			for i, name := range names {
				parts[i] = sampleParts[name](t, &s)
			}
			if s.key, err = keys.Key(parts...); err != nil {
				t.Fatal(err)
			}
			return s
		}
		a, b := draw(), draw()
		want := 0
		for i := 0; i < len(names) && want == 0; i++ {
			want = a.compare(names[i], b)
		}
		if got := strings.Compare(string(a.key), string(b.key)); got < 0 != (want < 0) ||
			got > 0 != (want > 0) {
			t.Fatalf("%s and %s compare %d, want %d", a.key, b.key, got, want)
		}
		if want != 0 && (strings.HasPrefix(string(a.key), string(b.key)) ||
			strings.HasPrefix(string(b.key), string(a.key))) {
			t.Fatalf("one of %x and %x is the beginning of the other", string(a.key), string(b.key))
		}
		if !keys.Has(a.key) {
			t.Fatalf("%s has no key %s", keys, a.key)
		}
	})
}

// TestStoredKeysThatAreNone: what no KeyType writes is an error, and never a panic.
func TestStoredKeysThatAreNone(t *testing.T) {
	good := string(keyOf(t, "number", `12345`))
	for name, stored := range map[string]string{
		"nothing": "", "no such tag": "\x09\x00", "tag alone": "\x01", "a time's tag alone": "\x02", "a rank's tag alone": "\x04", "rank of 17 patterns": "\x04\x10",
		"digits with a zero before them": "\x08\x03\x31\x32\x00", "more digits than are counted": "\x08\x02\x32\x33\x00", "a version without its end": "\x07\x03\x02\x32\x00",
		"a position of 72 bits": "\x05\x13" + strings.Repeat("2", 18) + "\x00", "a ULID in small letters": "\x06" + strings.Repeat("b", 26) + "\x00", "a text without its end": "\x03bc", "a text of 65": "\x03" + strings.Repeat("b", 65) + "\x00", "a text that is no UTF-8": "\x03\xff\x00",
		"a number without its end": good[:len(good)-1], "a number that goes on": good + "\x02", "a digit over 99": "\x01\xc0\xc8", "a digit over 99 that is not the last": "\x01\xc0\xc9\x02",
		"a 0 at the front": "\x01\xc0\x01\x02", "a 0 at the end": "\x01\xc0\x03\x00", "a negative 0 at the front": "\x01\x3f\xfe\xfd", "40 digits": "\x01\xc0" + strings.Repeat("\x17", 19) + "\x16",
		"too great": "\x01\xff\x02", "too small": "\x01\x00\xfd", "a time after 9999": "\x02\xc7\x02", "ten digits of a fraction": "\x02\xba\x02",
		"four parts": "\x04\x00\x04\x00\x04\x00\x04\x00",
	} {
		if key := sortkey.Key(stored); string(key.JSON()) != "null" ||
			!strings.HasPrefix(key.String(), "0x") {
			t.Errorf("%s is %s and %s", name, key.JSON(), key)
		}
	}
}

func TestKeysOfOtherTypes(t *testing.T) {
	two := keyOf(t, "rank(a|b|c)", `"c"`)
	for _, keys := range []sortkey.KeyType{"", "number", "time", "text", "rank(a|b)",
		"time,rank(a|b|c)"} {
		check.That(t, !keys.Has(two), "%s has a key of three ranks", keys)
	}
	check.That(t, !sortkey.KeyType("text").Has("broken"), "a broken key is one")
}

// FuzzStoredKey: bytes that anybody may have written are a key, or none; what is one is the same
// after its way through JSON.
func FuzzStoredKey(f *testing.F) {
	for _, raw := range []string{`["2018-10-03T21:13:54.123Z",-1.5,"x"]`, `[0,0,""]`} {
		f.Add([]byte(keyOf(f, "time,number,text", raw)))
	}
	f.Add([]byte{4, 3})
	f.Add([]byte(keyOf(f, "lsn,ulid", `["0/A0000010","01ARZ3NDEKTSV4RRFFQ69G5FAV"]`)))
	f.Add([]byte(keyOf(f, "hex,semver", `["00ff","1.10.0-rc.1"]`)))
	f.Fuzz(func(t *testing.T, stored []byte) {
		key := sortkey.Key(stored)
		check.Need(t, json.Valid(key.JSON()), "%x is %s", stored, key.JSON())
		for _, keys := range []sortkey.KeyType{"number", "time", "text", "lsn", "ulid", "semver", "hex",
			"time,number,text", "time,time", "number,number", "text,text", "hex,semver"} {
			if !keys.Has(key) {
				continue
			}
			if again, err := keys.ParseKey(key.JSON()); err != nil || again != key {
				t.Fatalf("%x, %s, is read again as %x, %v", stored, key.JSON(), string(again), err)
			}
		}
	})
}

// FuzzParseKey: whatever stands in a message, its key is one or an error, and two numbers sort by
// their values.
func FuzzParseKey(f *testing.F) {
	for _, seed := range [][2]string{{`1`, `1.0`}, {`-0`, `0`},
		{`"2018-10-03T21:13:54.5+23:59"`, `1538601234.5`}, {`"\ud800"`, `""`}, {`["a"]`, `1e-126`},
		{`1E126`, `null`}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, keys := range []sortkey.KeyType{"number", "time", "utc", "text", "lsn", "ulid", "semver",
			"hex", "rank(a|*)", "text,number"} {
			key, err := keys.ParseKey([]byte(a))
			if err != nil {
				continue
			}
			check.Need(t, keys.Has(key), "%s %s is %x, which it has not", keys, a, string(key))
			other, err := keys.ParseKey([]byte(b))
			var x, y json.Number
			if err != nil || json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil ||
				keys != "number" {
				continue
			}
			got, want := bytes.Compare([]byte(key), []byte(other)),
				rational(x.String()).Cmp(rational(y.String()))
			check.Need(t, got == want, "%s and %s compare %d, want %d", a, b, got, want)
		}
	})
}

func TestKeyTypes(t *testing.T) {
	for text, want := range map[string]sortkey.KeyType{
		"number": "number", " time , text ": "time,text", "text,text,number": "text,text,number",
		"time,rank( *.created | * | *.deleted )": "time,rank(*.created|*|*.deleted)", "rank(*)": "rank(*)",
		"rank(a/b-c_d:e#f@g.h)": "rank(a/b-c_d:e#f@g.h)",
	} {
		got, err := sortkey.ParseKeyType(text)
		check.That(t, err == nil && got == want, "%q is %q, %v", text, got, err)
		again, err := sortkey.ParseKeyType(string(got))
		check.That(t, err == nil && again == got, "%q is read again as %q, %v", got, again, err)
	}
}

// refusal is a field that cannot be accepted: what its error must say.
type refusal struct {
	field string
	code  invalid.Code
	bound string
}

func (r refusal) check(t *testing.T, what string, err error) {
	t.Helper()
	wrong := check.As[*invalid.Error](t, err)
	check.That(t, wrong.Field == r.field && wrong.Code == r.code &&
		strings.Contains(wrong.Problem, r.bound),
		"%s: %v, want %s of %s with %q", what, err, r.code, r.field, r.bound)
}

func TestKeyTypesThatAreNone(t *testing.T) {
	patterns := func(n, size int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("%0*d", size, i))
		}
		return "rank(" + strings.Join(all, "|") + ")"
	}
	check.Get(sortkey.ParseKeyType(patterns(16, 11)))
	check.Get(sortkey.ParseKeyType(patterns(1, 200)))
	for text, want := range map[string]refusal{
		"": {code: invalid.Missing, bound: "up to 3"}, "  ": {code: invalid.Missing},
		"integer": {code: invalid.Unknown, bound: "number, time, utc, lsn, ulid, semver, hex, text or rank(P|P|…)"}, "Time": {code: invalid.Unknown}, "time,": {code: invalid.Unknown},
		"time;text": {code: invalid.Unknown}, "rank": {code: invalid.Unknown}, "rank(a": {code: invalid.Unknown}, "number)": {code: invalid.Unknown},
		"time,time,time,time": {code: invalid.OutOfRange, bound: "at most 3"}, "rank(a),rank(b)": {code: invalid.Clash, bound: "at most one"},
		"rank()": {code: invalid.Missing, bound: "empty pattern"}, "rank(a||b)": {code: invalid.Missing, bound: "empty pattern"},
		"rank(a|b|a)": {code: invalid.Clash, bound: "twice"}, "rank(a b)": {code: invalid.Malformed, bound: "printable ASCII"}, "rank(é)": {code: invalid.Malformed},
		"rank(a(b)": {code: invalid.Malformed}, "rank(a\x7f)": {code: invalid.Malformed}, "rank(a))": {code: invalid.Malformed},
		patterns(17, 2): {code: invalid.OutOfRange, bound: "1 to 16"}, patterns(1, 201): {code: invalid.TooLarge, bound: "at most 200"},
	} {
		want.field = "keyType"
		_, err := sortkey.ParseKeyType(text)
		want.check(t, text, err)
		_, err = sortkey.KeyType(text).Key("x")
		want.check(t, "a key of "+text, err)
		_, err = sortkey.KeyType(text).ParseKey([]byte(`"x"`))
		want.check(t, "a key in JSON of "+text, err)
	}
}

func TestRanks(t *testing.T) {
	for _, c := range []struct {
		patterns, text string
		rank           int
	}{
		{"*.created|*|*.deleted", "customer.created", 0},
		{"*.created|*|*.deleted", "customer.deleted", 2},
		{"*.created|*|*.deleted", "customer.updated", 1},
		{"*.created|*|*.deleted", ".created", 0},
		{"*.created|*|*.deleted", "created", 1},
		{"*.created|*|*.deleted", "x.created.y", 1},
		{"a*|ab*", "abc", 0},
		{"ab*|a*", "abc", 0},
		{"ab*|a*", "ac", 1},
		{"a", "a", 0},
		{"a*a", "aa", 0},
		{"x|a*b*c", "abc", 1},
		{"x|a*b*c", "a-bb-b-c-c", 1},
		{"*ab*ab", "abab", 0},
		{"**", "", 0},
		{"a**b", "ab", 0},
		{"*|**", "q", 1},
		{"*", strings.Repeat("x", 1000), 0},
	} {
		key := keyOf(t, sortkey.KeyType("rank("+c.patterns+")"), `"`+c.text+`"`)
		check.Is(t, string(key.JSON()), fmt.Sprint(c.rank), c.text, c.patterns, c.rank)
	}
	for _, c := range []struct{ patterns, text string }{{"a", "aa"}, {"a*a", "a"}, {"*ab*ab", "ab"},
		{"a|b", ""}, {"a*b*c", "acb"}, {"*a*b*", "ba"}} {
		_, err := sortkey.KeyType("rank(" + c.patterns + ")").Key(c.text)
		refusal{"key", invalid.Unknown, "must match one of " + c.patterns}.check(t,
			c.text+" in "+c.patterns, err)
	}
}

func TestKeysThatAreNone(t *testing.T) {
	const outOfSize, years, digits = "from 1e-126 to under 1e126", "years 0000 to 9999", "at most 9"
	for _, c := range []struct {
		keys sortkey.KeyType
		code invalid.Code
		says string
		raws []string
	}{
		{"number", invalid.Missing, "a string or a number", []string{``, `null`}},
		{"number", invalid.Malformed, "a string or a number", []string{
			`true`, `{}`, `[[1]]`, `NaN`, `1 2`,
		}},
		{"number", invalid.OutOfRange, "has 0 parts", []string{`[]`}},
		{"number", invalid.Malformed, "such as 17", []string{
			`"NaN"`, `"Infinity"`, `""`, `"1.2.3"`, `"01"`, `"+1"`, `"1."`, `".5"`, `"1e"`,
			`"1e+-5"`, `"0x10"`, `"--1"`,
		}},
		{"number", invalid.OutOfRange, outOfSize, []string{`1e126`, `9e-127`, `1e99999999999999999999`}},
		{"number", invalid.OutOfRange, "at most 38", []string{`123456789012345678901234567890123456789`}},
		{"number", invalid.TooLarge, "at most 400", []string{strings.Repeat("1", 401)}},
		{"time", invalid.Malformed, "no time zone", []string{
			`"2018-10-03T21:13:54"`, `"2018-10-03T21:13:54.123"`,
		}},
		{"time", invalid.Malformed, "RFC 3339", []string{
			`"2018-10-03 21:13:54Z"`, `"2018-10-03"`, `"20181003"`, `"15386012340000"`,
			`"2018-10-03T1:13:54Z"`, `"2018-10-03T01:13:54,5Z"`, `""`,
		}},
		{"time", invalid.OutOfRange, "out of range", []string{
			`"2018-10-03T21:13:54+2400"`, `"2016-12-31T23:59:59+24:00"`,
			`"2016-12-31T23:59:59+00:60"`,
		}},
		{"utc", invalid.Malformed, "RFC 3339", []string{`"2018-10-03"`}},
		{"utc", invalid.OutOfRange, "does not exist: day", []string{`"2018-02-30 21:13:54"`}},
		{"time", invalid.OutOfRange, "60 where a month ends in UTC", []string{
			`"2016-12-31T23:58:60Z"`, `"2016-12-30T23:59:60Z"`,
		}},
		{"time", invalid.OutOfRange, digits, []string{
			`"2016-12-31T23:59:60.0000000001Z"`, `"2016-12-31T23:59:59.0000000001Z"`,
			`1.0000000001`,
		}},
		{"time", invalid.OutOfRange, "does not exist", []string{`"2016-12-31T23:59:61Z"`}},
		{"lsn", invalid.Malformed, "0/A0000010", []string{`"A0000010"`, `"0/A00000100"`}},
		{"lsn", invalid.Malformed, "must be a string: a lsn", []string{`7`}},
		{"ulid", invalid.Malformed, "26 of", []string{`"01ARZ3NDEKTSV4RRFFQ69G5FA"`}},
		{"ulid", invalid.Malformed, "at most 7", []string{`"81ARZ3NDEKTSV4RRFFQ69G5FAV"`}},
		{"ulid", invalid.Malformed, "but I, L, O and U", []string{`"01ARZ3NDEKTSV4RRFFQ69G5FAU"`}},
		{"semver", invalid.Malformed, "1.10.2", []string{`"1..2"`, `"1.2-"`}},
		{"semver", invalid.Malformed, "1 to 16", []string{`"` + strings.Repeat("1.", 16) + `1"`}},
		{"semver", invalid.Malformed, "at most 64", []string{`"` + strings.Repeat("1", 65) + `"`}},
		{"hex", invalid.Malformed, "1 to 64 hexadecimal", []string{
			`""`, `"-1"`, `"` + strings.Repeat("0", 65) + `"`,
		}},
		{"time", invalid.OutOfRange, "does not exist: day out of range", []string{
			`"2023-02-29T00:00:00Z"`,
		}},
		{"time", invalid.OutOfRange, "does not exist: month out of range", []string{
			`"2023-13-01T00:00:00Z"`,
		}},
		{"time", invalid.OutOfRange, "does not exist: hour out of range", []string{
			`"2023-12-01T24:00:00Z"`,
		}},
		{"time", invalid.OutOfRange, "in 13 digits", []string{`15386012340000`}},
		{"time", invalid.OutOfRange, years, []string{
			`253402300800`, `-62167219201`, `-62167219200.5`, `1e30`, `"0000-01-01T00:00:00+00:01"`,
			`"9999-12-31T23:59:59-00:01"`,
		}},
		{"time", invalid.OutOfRange, outOfSize, []string{`1e126`}},
		{"text", invalid.Malformed, "must be a string: a text", []string{`7`}},
		{"text", invalid.TooLarge, "0 to 64", []string{`"` + strings.Repeat("é", 33) + `"`}},
		{"text", invalid.Malformed, "surrogate", []string{`"\ud800"`}},
		{"text", invalid.Malformed, "UTF-8", []string{"\"\xff\""}},
		{"rank(*)", invalid.Malformed, "must be a string: a rank", []string{`7`}},
		{"rank(a|b)", invalid.Unknown, "a|b", []string{`"c"`}},
		{"time,text", invalid.OutOfRange, "has 1 parts: the queue's keys have 2, time,text", []string{
			`"2018-10-03T21:13:54Z"`, `[1538601234]`,
		}},
		{"time,text", invalid.OutOfRange, "has 3 parts: the queue's keys have 2", []string{
			`[1538601234, "x", 1]`,
		}},
		{"time,text", invalid.OutOfRange, "at most 3", []string{`[1, 2, 3, 4]`}},
		{"time,text", invalid.Missing, "part 2 of 2 is missing", []string{`[1538601234, null]`}},
		{"time,text", invalid.Malformed, "part 2 of 2 must be a string", []string{`[1538601234, 7]`}},
		{"time,text", invalid.Malformed, "broken JSON", []string{`[1538601234, "x"`}},
	} {
		for _, raw := range c.raws {
			_, err := c.keys.ParseKey([]byte(raw))
			refusal{"key", c.code, c.says}.check(t, string(c.keys)+" "+raw, err)
		}
	}
	for _, c := range []struct {
		keys  sortkey.KeyType
		value any
		want  refusal
	}{
		{"number", math.NaN(), refusal{"key", invalid.OutOfRange, "finite"}},
		{"number", math.Inf(-1), refusal{"key", invalid.OutOfRange, "finite"}},
		{"time", math.NaN(), refusal{"key", invalid.OutOfRange, "finite"}},
		{"number", true, refusal{"key", invalid.Malformed, "a number"}},
		{"number", math.MaxFloat64, refusal{"key", invalid.OutOfRange, outOfSize}},
		{"number", time.Now(), refusal{"key", invalid.Malformed, "a number"}},
		{"time", time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), refusal{"key", invalid.OutOfRange, years}},
		{"time", time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC), refusal{"key", invalid.OutOfRange, years}},
		{"text", "\xff", refusal{"key", invalid.Malformed, "UTF-8"}},
		{"rank(*)", "\xff", refusal{"key", invalid.Malformed, "UTF-8"}},
		{"text", nil, refusal{"key", invalid.Malformed, "must be a string"}},
	} {
		_, err := c.keys.Key(c.value)
		c.want.check(t, fmt.Sprintf("%s %v", c.keys, c.value), err)
	}
	_, err := sortkey.KeyType("time").Key()
	refusal{"key", invalid.OutOfRange, "has 0 parts"}.check(t, "no parts", err)
}

// TestRefusedKeysNameTheTypeThatTakesThem, where there is one.
func TestRefusedKeysNameTheTypeThatTakesThem(t *testing.T) {
	for _, c := range []struct{ keys, raw, takes string }{
		{"number", `"0/A0000010"`, "lsn"},
		{"number", `"2018-10-03T21:13:54Z"`, "time"},
		{"number", `"2018-10-03 21:13:54"`, "utc"},
		{"number", `"1.2.3"`, "semver"},
		{"number", `"00ff"`, ""},
		{"number", `"yesterday"`, ""},
		{"time", `"2018-10-03T21:13:54"`, "utc"},
		{"time", `15386012340000`, "number"},
		{"time", `"01arz3ndektsv4rrffq69g5fav"`, "ulid"},
		{"lsn", `7`, "number"},
		{"text", `7`, "number"},
		{"text", `"` + strings.Repeat("0", 63) + `f0"`, ""},
		{"rank(a|b)", `"c"`, ""},
		{"rank(a|b)", `7`, ""},
		{"time,text", `["0/1","x"]`, "lsn"},
		{"number", `null`, ""},
	} {
		_, err := sortkey.KeyType(c.keys).ParseKey([]byte(c.raw))
		if err == nil {
			t.Errorf("%s %s is taken", c.keys, c.raw)
			continue
		}
		if _, takes, _ := strings.Cut(err.Error(), "; the type "); strings.TrimSuffix(takes,
			" takes it") != c.takes {
			t.Errorf("%s %s: %v, want that %q takes it", c.keys, c.raw, err, c.takes)
		}
	}
}
