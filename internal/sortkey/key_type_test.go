package sortkey_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/invalid"
)

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
	var wrong *invalid.Error
	if !errors.As(err, &wrong) || wrong.Field != r.field || wrong.Code != r.code || !strings.Contains(wrong.Problem, r.bound) {
		t.Errorf("%s: %v, want %s of %s with %q", what, err, r.code, r.field, r.bound)
	}
}

func TestKeyTypesThatAreNone(t *testing.T) {
	patterns := func(n, size int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("%0*d", size, i))
		}
		return "rank(" + strings.Join(all, "|") + ")"
	}
	if _, err := sortkey.ParseKeyType(patterns(16, 11)); err != nil {
		t.Error("16 patterns of 191 bytes:", err)
	}
	if _, err := sortkey.ParseKeyType(patterns(1, 200)); err != nil {
		t.Error("200 bytes:", err)
	}
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
	for _, c := range []struct{ patterns, text string }{{"a", "aa"}, {"a*a", "a"}, {"*ab*ab", "ab"}, {"a|b", ""}, {"a*b*c", "acb"}, {"*a*b*", "ba"}} {
		_, err := sortkey.KeyType("rank(" + c.patterns + ")").Key(c.text)
		refusal{"key", invalid.Unknown, "must match one of " + c.patterns}.check(t, c.text+" in "+c.patterns, err)
	}
}

func TestKeysThatAreNone(t *testing.T) {
	const outOfSize, years, digits = "from 1e-126 to under 1e126", "years 0000 to 9999", "at most 9"
	for _, c := range []struct {
		keys sortkey.KeyType
		raw  string
		code invalid.Code
		says string
	}{
		{"number", ``, invalid.Missing, "a string or a number"},
		{"number", `null`, invalid.Missing, "a string or a number"},
		{"number", `true`, invalid.Malformed, "a string or a number"},
		{"number", `{}`, invalid.Malformed, "a string or a number"},
		{"number", `[]`, invalid.OutOfRange, "has 0 parts"},
		{"number", `[[1]]`, invalid.Malformed, "a string or a number"},
		{"number", `NaN`, invalid.Malformed, "a string or a number"},
		{"number", `1 2`, invalid.Malformed, "a string or a number"},
		{"number", `"NaN"`, invalid.Malformed, "such as 17"},
		{"number", `"Infinity"`, invalid.Malformed, "such as 17"},
		{"number", `""`, invalid.Malformed, "such as 17"},
		{"number", `"1.2.3"`, invalid.Malformed, "such as 17"},
		{"number", `"01"`, invalid.Malformed, "such as 17"},
		{"number", `"+1"`, invalid.Malformed, "such as 17"},
		{"number", `"1."`, invalid.Malformed, "such as 17"},
		{"number", `".5"`, invalid.Malformed, "such as 17"},
		{"number", `"1e"`, invalid.Malformed, "such as 17"},
		{"number", `"1e+-5"`, invalid.Malformed, "such as 17"},
		{"number", `"0x10"`, invalid.Malformed, "such as 17"},
		{"number", `"--1"`, invalid.Malformed, "such as 17"},
		{"number", `1e126`, invalid.OutOfRange, outOfSize},
		{"number", `9e-127`, invalid.OutOfRange, outOfSize},
		{"number", `1e99999999999999999999`, invalid.OutOfRange, outOfSize},
		{"number", `123456789012345678901234567890123456789`, invalid.OutOfRange, "at most 38"},
		{"number", strings.Repeat("1", 401), invalid.TooLarge, "at most 400"},
		{"time", `"2018-10-03T21:13:54"`, invalid.Malformed, "no time zone"},
		{"time", `"2018-10-03T21:13:54.123"`, invalid.Malformed, "no time zone"},
		{"time", `"2018-10-03 21:13:54Z"`, invalid.Malformed, "RFC 3339"},
		{"time", `"2018-10-03"`, invalid.Malformed, "RFC 3339"},
		{"time", `"20181003"`, invalid.Malformed, "RFC 3339"},
		{"time", `"15386012340000"`, invalid.Malformed, "RFC 3339"},
		{"time", `"2018-10-03T21:13:54+2400"`, invalid.OutOfRange, "out of range"},
		{"utc", `"2018-10-03"`, invalid.Malformed, "RFC 3339"},
		{"utc", `"2018-02-30 21:13:54"`, invalid.OutOfRange, "does not exist: day"},
		{"time", `"2016-12-31T23:58:60Z"`, invalid.OutOfRange, "60 where a month ends in UTC"},
		{"time", `"2016-12-30T23:59:60Z"`, invalid.OutOfRange, "60 where a month ends in UTC"},
		{"time", `"2016-12-31T23:59:60.0000000001Z"`, invalid.OutOfRange, digits},
		{"time", `"2016-12-31T23:59:61Z"`, invalid.OutOfRange, "does not exist"},
		{"lsn", `"A0000010"`, invalid.Malformed, "0/A0000010"},
		{"lsn", `"0/A00000100"`, invalid.Malformed, "0/A0000010"},
		{"lsn", `7`, invalid.Malformed, "must be a string: a lsn"},
		{"ulid", `"01ARZ3NDEKTSV4RRFFQ69G5FA"`, invalid.Malformed, "26 of"},
		{"ulid", `"81ARZ3NDEKTSV4RRFFQ69G5FAV"`, invalid.Malformed, "at most 7"},
		{"ulid", `"01ARZ3NDEKTSV4RRFFQ69G5FAU"`, invalid.Malformed, "but I, L, O and U"},
		{"semver", `"1..2"`, invalid.Malformed, "1.10.2"},
		{"semver", `"1.2-"`, invalid.Malformed, "1.10.2"},
		{"semver", `"` + strings.Repeat("1.", 16) + `1"`, invalid.Malformed, "1 to 16"},
		{"semver", `"` + strings.Repeat("1", 65) + `"`, invalid.Malformed, "at most 64"},
		{"hex", `""`, invalid.Malformed, "1 to 64 hexadecimal"},
		{"hex", `"-1"`, invalid.Malformed, "1 to 64 hexadecimal"},
		{"hex", `"` + strings.Repeat("0", 65) + `"`, invalid.Malformed, "1 to 64 hexadecimal"},
		{"time", `"2018-10-03T1:13:54Z"`, invalid.Malformed, "RFC 3339"},
		{"time", `"2018-10-03T01:13:54,5Z"`, invalid.Malformed, "RFC 3339"},
		{"time", `""`, invalid.Malformed, "RFC 3339"},
		{"time", `"2023-02-29T00:00:00Z"`, invalid.OutOfRange, "does not exist: day out of range"},
		{"time", `"2023-13-01T00:00:00Z"`, invalid.OutOfRange, "does not exist: month out of range"},
		{"time", `"2023-12-01T24:00:00Z"`, invalid.OutOfRange, "does not exist: hour out of range"},
		{"time", `"2016-12-31T23:59:59+24:00"`, invalid.OutOfRange, "out of range"},
		{"time", `"2016-12-31T23:59:59+00:60"`, invalid.OutOfRange, "out of range"},
		{"time", `"2016-12-31T23:59:59.0000000001Z"`, invalid.OutOfRange, digits},
		{"time", `1.0000000001`, invalid.OutOfRange, digits},
		{"time", `15386012340000`, invalid.OutOfRange, "in 13 digits"},
		{"time", `253402300800`, invalid.OutOfRange, years},
		{"time", `-62167219201`, invalid.OutOfRange, years},
		{"time", `-62167219200.5`, invalid.OutOfRange, years},
		{"time", `1e30`, invalid.OutOfRange, years},
		{"time", `1e126`, invalid.OutOfRange, outOfSize},
		{"time", `"0000-01-01T00:00:00+00:01"`, invalid.OutOfRange, years},
		{"time", `"9999-12-31T23:59:59-00:01"`, invalid.OutOfRange, years},
		{"text", `7`, invalid.Malformed, "must be a string: a text"},
		{"text", `"` + strings.Repeat("é", 33) + `"`, invalid.TooLarge, "0 to 64"},
		{"text", `"\ud800"`, invalid.Malformed, "surrogate"},
		{"text", "\"\xff\"", invalid.Malformed, "UTF-8"},
		{"rank(*)", `7`, invalid.Malformed, "must be a string: a rank"},
		{"rank(a|b)", `"c"`, invalid.Unknown, "a|b"},
		{"time,text", `"2018-10-03T21:13:54Z"`, invalid.OutOfRange, "has 1 parts: the queue's keys have 2, time,text"},
		{"time,text", `[1538601234]`, invalid.OutOfRange, "has 1 parts: the queue's keys have 2, time,text"},
		{"time,text", `[1538601234, "x", 1]`, invalid.OutOfRange, "has 3 parts: the queue's keys have 2"},
		{"time,text", `[1, 2, 3, 4]`, invalid.OutOfRange, "at most 3"},
		{"time,text", `[1538601234, null]`, invalid.Missing, "part 2 of 2 is missing"},
		{"time,text", `[1538601234, 7]`, invalid.Malformed, "part 2 of 2 must be a string"},
		{"time,text", `[1538601234, "x"`, invalid.Malformed, "broken JSON"},
	} {
		_, err := c.keys.ParseKey([]byte(c.raw))
		refusal{"key", c.code, c.says}.check(t, string(c.keys)+" "+c.raw, err)
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
		{"number", `"00ff"`, "hex"},
		{"number", `"yesterday"`, "text"},
		{"time", `"2018-10-03T21:13:54"`, "utc"},
		{"time", `15386012340000`, "number"},
		{"time", `"01arz3ndektsv4rrffq69g5fav"`, "ulid"},
		{"lsn", `7`, "number"},
		{"text", `7`, "number"},
		{"text", `"` + strings.Repeat("0", 63) + `f0"`, ""},
		{"rank(a|b)", `"c"`, "hex"},
		{"time,text", `["0/1","x"]`, "lsn"},
		{"number", `null`, ""},
	} {
		_, err := sortkey.KeyType(c.keys).ParseKey([]byte(c.raw))
		if err == nil {
			t.Errorf("%s %s is taken", c.keys, c.raw)
			continue
		}
		if _, takes, _ := strings.Cut(err.Error(), "; the type "); strings.TrimSuffix(takes, " takes it") != c.takes {
			t.Errorf("%s %s: %v, want that %q takes it", c.keys, c.raw, err, c.takes)
		}
	}
}
