package strictjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/invalid"
)

func TestMembers(t *testing.T) {
	got := check.Get(strictjson.Members([]byte(` {"a": 1.0 ,"b":{"c" : [ ]},"":null} `)))
	want := []strictjson.Member{{Name: "a", Value: json.RawMessage("1.0")}, {Name: "b", Value: json.RawMessage(`{"c" : [ ]}`)}, {Name: "", Value: json.RawMessage("null")}}
	check.Is(t, cmp.Diff(want, got), "")
	for text, want := range map[string]string{
		``: "ends too early", `{`: "ends too early", `{"a"`: "ends too early", `{"a":}`: "broken JSON", `[]`: "must be a JSON object", `7`: "must be a JSON object",
		`{"a":1,"a":2}`: `"a" twice`, `{"a":1,"\u0061":2}`: `"a" twice`, `{} {}`: "more after the end", `{"a":1}x`: "more after the end", `nul`: "broken JSON",
	} {
		if _, err := strictjson.Members([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
}

// TestManyMembers: a name that stands twice is found among many.
func TestManyMembers(t *testing.T) {
	for _, twice := range []int{0, 15, 16, 17, 39} {
		text := "{"
		for i := range 40 {
			text += fmt.Sprintf(`"m%d":1,`, i)
		}
		check.Get(strictjson.Members([]byte(text + `"m40":1}`)))
		_, err := strictjson.Members(fmt.Appendf(nil, `%s"m%d":1}`, text, twice))
		check.That(t, err != nil, "member %d stands twice, and was taken", twice)
	}
}

func TestElements(t *testing.T) {
	got, err := strictjson.Elements([]byte(` [1, {"a" : 2}]`), 2)
	check.That(t, err == nil && len(got) == 2 && string(got[1]) == `{"a" : 2}`, "%s, %v", got, err)
	for _, text := range []string{``, `{}`, `[`, `[1`, `null`, `[] 1`, `[1,]`, `[1,1,1`} {
		check.That(t, check.Err(strictjson.Elements([]byte(text), 2)) != nil, "%s: no error", text)
	}
}

// TestElementsOfALongList: millions of numbers are refused for the memory of a few.
func TestElementsOfALongList(t *testing.T) {
	list := []byte("[" + strings.Repeat("1,", 3<<20) + "1]")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := strictjson.Elements(list, 500)
	runtime.ReadMemStats(&after)
	check.That(t, err != nil && after.TotalAlloc-before.TotalAlloc <= 1<<20,
		"%d bytes for %v, and 500 elements take less than a megabyte", after.TotalAlloc-before.TotalAlloc, err)
}

// TestNamesOfMembers: a name that is no UTF-8 is not taken for another one.
func TestNamesOfMembers(t *testing.T) {
	for _, text := range []string{`{"\ud800":1}`, "{\"\xff\":1}", `{"a":1,"b\udc00":2}`} {
		got, err := strictjson.Members([]byte(text))
		check.That(t, err != nil, "%s: %v, no error", text, got)
	}
	_, err := strictjson.Members([]byte("{\"a\":\"\\ud800\", \"b\":\"\xff\"}"))
	check.That(t, err == nil, "values, which are for others to read: %v", err)
}

func TestText(t *testing.T) {
	for raw, want := range map[string]string{`"a"`: "a", `""`: "", `"\u00e9"`: "é", `"\ud83d\ude00"`: "😀", `"\ufffd"`: "\uFFFD", "\"\uFFFD\"": "\uFFFD", `"\uFFFD"`: "\uFFFD", `"\\ufffd"`: `\ufffd`, `"\\\\ud800"`: `\\ud800`, `"\n\ud83d\ude00\t"`: "\n😀\t"} {
		got, err := strictjson.Text(json.RawMessage(raw))
		check.That(t, err == nil && got == want, "%s: %q, %v", raw, got, err)
	}
	for _, raw := range []string{`7`, `null`, `{}`, `"\ud800"`, `"\ud800\ud800"`, `"a\udc00"`, `"\ufffd\ud800"`, `"\\ufffd\ud800"`, `"\ud800\n"`, `"\ud800x"`, `"\ude00\ud83d"`, "\"\xff\"", "\"\xed\xa0\x80\""} {
		got, err := strictjson.Text(json.RawMessage(raw))
		check.That(t, err != nil, "%s: %q, no error", raw, got)
	}
}

func TestTooDeepIsReportedSo(t *testing.T) {
	for document, want := range map[string]invalid.Code{
		`{"body":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + `}`: invalid.OutOfRange,
		`{"a\"":"` + strings.Repeat("[", 10_001) + `","b":x}`:                        invalid.Malformed,
		`{"a":[` + strings.Repeat("[],", 10_001) + `x]}`:                             invalid.Malformed,
	} {
		_, err := strictjson.Members([]byte(document))
		var wrong *invalid.Error
		check.That(t, errors.As(err, &wrong) && wrong.Code == want,
			"%.20s: error %v, want the code %s", document, err, want)
	}
}

func FuzzMembers(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, `{"a":{"b":"c"}}`, `[]`, `{"a":1,"a":2}`, `{"\ud800":1}`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		members, err := strictjson.Members(raw)
		check.That(t, err != nil || json.Valid(raw), "%q is no JSON, and was taken", raw)
		for _, m := range members {
			check.That(t, err != nil || json.Valid(m.Value), "%q: the value %q is no JSON", raw, m.Value)
			_, _ = strictjson.Text(m.Value)
		}
	})
}
