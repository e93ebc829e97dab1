package strictjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// even is a number that reads itself, word a text.
type even int

func (e *even) UnmarshalJSON(raw []byte) error {
	n, err := fmt.Sscan(string(raw), (*int)(e))
	if n == 1 && *e%2 == 0 {
		return err
	}
	return errors.New("must be even")
}

type word string

func (w *word) UnmarshalText(text []byte) error {
	if *w = word(strings.ToLower(string(text))); strings.Contains(string(text), " ") {
		return invalid.New(invalid.Malformed, "another", "must be one word")
	}
	return nil
}

type base struct {
	ID *string `json:"id"`
}

type inner struct {
	On   bool            `json:"on" required:"true"`
	Wait []time.Duration `json:"wait" bounds:"1..2" like:"[\"1s\"]"`
}

type outer struct {
	base
	Name   string            `json:"name" bounds:"1..5" like:"abc"`
	Mode   string            `json:"mode" one:"single batch" default:"single"`
	N      int               `json:"n"`
	Most   int64             `json:"most" bounds:"0..9"`
	Wait   time.Duration     `json:"wait" bounds:"1s..1m"`
	Idle   time.Duration     `json:"idle"`
	At     time.Time         `json:"at"`
	Ports  []int             `json:"ports" bounds:"0..3" each:"1..99"`
	Texts  map[string]string `json:"texts" bounds:"0..2" like:"x"`
	Inner  inner             `json:"inner"`
	Inners []*inner          `json:"inners"`
	Even   even              `json:"even"`
	Word   word              `json:"word"`
	Raw    json.RawMessage   `json:"raw"`
	Given  strictjson.Given
}

func (o *outer) Check() error {
	if o.Given["n"] && o.Given["most"] && o.N > int(o.Most) {
		return invalid.New(invalid.Clash, "n", "must not be above most")
	}
	return nil
}

func TestDecode(t *testing.T) {
	got := outer{N: 4, Most: 5}
	check.OK(t, strictjson.Decode([]byte(`{"id":"","name":"a\u0062","most":0,"wait":"1m0s","idle":"1ns","at":"2026-01-02T03:04:05.5+01:00",
		"ports":[1,99],"texts":{"a":"","b":"c"},"inner":{"on":true,"wait":["1s","2s"]},"inners":[{"on":false}],"even":4,"word":"AB","raw":[ 1, null]}`), &got))
	given := got.Given
	if got.Given = nil; len(given) != 13 || !given["most"] || given["mode"] {
		t.Error(given)
	}
	want := outer{
		base: base{ID: new(string)}, Name: "ab", Mode: "single", N: 4, Wait: time.Minute, Idle: 1,
		At:    time.Date(2026, 1, 2, 2, 4, 5, 5e8, time.UTC),
		Ports: []int{1, 99}, Texts: map[string]string{"a": "", "b": "c"},
		Inner:  inner{true, []time.Duration{time.Second, 2 * time.Second}},
		Inners: []*inner{{}}, Even: 4, Word: "ab", Raw: json.RawMessage("[ 1, null]"),
	}
	check.Is(t, cmp.Diff(want, got, cmp.AllowUnexported(outer{}, base{})), "")
}

func TestDecodeRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`7`:                                      "malformed: must be a JSON object",
		`{"n":1} x`:                              "malformed: has more after the end of the JSON value",
		`{"n":1,"n":1}`:                          `clash: has the member "n" twice`,
		`{"N":1}`:                                "unknown: N is not known: there are id, name, mode, n, most, wait, idle, at, ports, texts, inner, inners, even, word and raw",
		`{"other":1}`:                            "unknown: other is not known: there are",
		`{"id":null}`:                            "malformed: id must be a string: it is null",
		`{"name":7}`:                             "malformed: name must be a string, such as abc: it is 7",
		`{"name":""}`:                            "missing: name is empty: it must be a string, such as abc",
		`{"name":"abcdef"}`:                      "too-large: name has 6 bytes: it must have 1 to 5",
		`{"name":"\ud800"}`:                      "malformed: name has a surrogate",
		`{"mode":"Batch"}`:                       `unknown: mode must be single or batch: it is "Batch"`,
		`{"mode":{}}`:                            "malformed: mode must be single or batch: it is an object",
		`{"n":0}`:                                "out-of-range: n must be a positive integer: it is 0",
		`{"n":1.0}`:                              "malformed: n must be a positive integer: it is 1.0",
		`{"n":1e3}`:                              "malformed: n must be a positive integer: it is 1e3",
		`{"n":"1"}`:                              `malformed: n must be a positive integer: it is "1"`,
		`{"n":null}`:                             "malformed: n must be a positive integer: it is null",
		`{"n":9223372036854775808}`:              "out-of-range: n must be a positive integer: it is 9223372036854775808",
		`{"most":-0}`:                            "malformed: most must be an integer from 0 to 9: it is -0",
		`{"most":10}`:                            "out-of-range: most must be an integer from 0 to 9: it is 10",
		`{"n":3,"most":2}`:                       "clash: n must not be above most",
		`{"wait":"61s"}`:                         `out-of-range: wait must be a duration from 1s to 1m0s: it is "61s"`,
		`{"wait":60}`:                            "malformed: wait must be a duration from 1s to 1m0s: it is 60",
		`{"idle":"soon"}`:                        `malformed: idle must be a duration above 0, such as "90s", "5m" or "24h": it is "soon"`,
		`{"at":"today"}`:                         `malformed: at must be a time, such as "2026-01-02T15:04:05Z": it is "today"`,
		`{"at":"9999-12-31T23:59:59-00:01"}`:     `malformed: at must be a time, such as "2026-01-02T15:04:05Z": it is "9999-12-31T23:59:59-00:01"`,
		`{"at":"0000-01-01T00:00:00+00:01"}`:     `malformed: at must be a time, such as "2026-01-02T15:04:05Z": it is "0000-01-01T00:00:00+00:01"`,
		`{"at":"2026-01-02T5:04:05Z"}`:           `malformed: at must be a time, such as "2026-01-02T15:04:05Z": it is "2026-01-02T5:04:05Z"`,
		`{"at":"2026-01-02T15:04:05,5Z"}`:        `malformed: at must be a time, such as "2026-01-02T15:04:05Z": it is "2026-01-02T15:04:05,5Z"`,
		`{"at":null}`:                            `malformed: at must be a time, such as "2026-01-02T15:04:05Z": it is null`,
		`{"ports":{}}`:                           "malformed: ports must be a list of 0 to 3 elements: it is an object",
		`{"ports":[1,1,1,1]}`:                    "out-of-range: ports must be a list of 0 to 3 elements: it is longer",
		`{"ports":[1,100]}`:                      "out-of-range: ports[1] must be an integer from 1 to 99: it is 100",
		`{"texts":[]}`:                           "malformed: texts must be a JSON object",
		`{"texts":{"a":"","b":"c","c":""}}`:      "out-of-range: texts has 3 members: it must have at most 2",
		`{"texts":{"a":[1]}}`:                    "malformed: texts.a must be a string, such as x: it is a list",
		`{"inner":{}}`:                           "missing: inner.on is missing: it must be true or false",
		`{"inner":null}`:                         "malformed: inner must be a JSON object",
		`{"inner":{"on":1}}`:                     "malformed: inner.on must be true or false: it is 1",
		`{"inner":{"on":true,"wait":[]}}`:        `out-of-range: inner.wait must be a list of 1 to 2 elements, such as ["1s"]: it is of 0`,
		`{"inner":{"on":true,"wait":["1s",""]}}`: `malformed: inner.wait[1] must be a duration above 0, such as "90s", "5m" or "24h": it is ""`,
		`{"inners":[{"on":true},{"on":true,"of":1}]}`: "unknown: inners[1].of is not known: there are on and wait",
		`{"inners":[{"on":true,"wait":[1]}]}`:         "malformed: inners[0].wait[0] must be a duration",
		`{"even":3}`:                                  "malformed: even must be even",
		`{"word":"a b"}`:                              "malformed: word must be one word",
		`{"word":7}`:                                  "malformed: word must be a string: it is 7",
		`{"` + strings.Repeat("x", 99) + `":1}`:       "unknown: " + strings.Repeat("x", 40) + "… is not known",
	} {
		err := strictjson.Decode([]byte(text), &outer{})
		var wrong *invalid.Error
		check.That(t, errors.As(err, &wrong) &&
			strings.HasPrefix(string(wrong.Code)+": "+err.Error(), want),
			"%s: error %v, want %s", text, err, want)
	}
}

func TestDecodeQuery(t *testing.T) {
	var got struct {
		Queue  string            `json:"queue"`
		Prefix *string           `json:"prefix"`
		Limit  int               `json:"limit" bounds:"1..1000" default:"100"`
		Dry    bool              `json:"dry"`
		Even   *even             `json:"even"`
		Texts  map[string]string `json:"texts"`
	}
	read := func(query string) error {
		values := check.Get(url.ParseQuery(query))
		return strictjson.DecodeQuery(values, &got)
	}
	if err := read(`queue=7&prefix=&limit=&dry=true&even=&texts={"a":"b"}`); err != nil ||
		got.Queue != "7" || *got.Prefix != "" || got.Limit != 100 || !got.Dry || got.Even != nil ||
		got.Texts["a"] != "b" {
		t.Errorf("%+v, %v", got, err)
	}
	for query, want := range map[string]string{
		"limit=1&limit=1": "limit is given more than once: give it once", "limit=0": "limit must be an integer from 1 to 1000: it is 0",
		"dry=yes": "dry must be true or false: it is yes", "even=1": "even must be even", "page=1": "page is not known: there are queue, prefix,",
		"queue=a%FFb": "queue is not valid UTF-8",
	} {
		err := read(query)
		check.That(t, err != nil && strings.HasPrefix(err.Error(), want),
			"%s: error %v, want %s", query, err, want)
	}
	if err := strictjson.DecodeQuery(url.Values{"a": {"1"}}, &struct{}{}); err == nil ||
		err.Error() != "a is not known: there are none" {
		t.Error(err)
	}
}

// FuzzDecode: nothing makes a panic; what is taken is JSON whose members are known, and is within
// its bounds.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"id":"","name":"a","most":0,"wait":"1m","at":"2026-01-02T03:04:05Z","ports":[1],"texts":{"a":""},"inner":{"on":true,"wait":["1s"]},"inners":[{"on":true}],"even":2,"word":"a","raw":{}}`,
		`{"n":1,"n":2}`, `{"n":null}`, `{"inner":{"on":1}}`, `{"texts":{"\ud800":""}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		o := outer{N: 1}
		err := strictjson.Decode(raw, &o)
		var wrong *invalid.Error
		if err != nil {
			check.That(t, errors.As(err, &wrong) && wrong.Problem != "" && wrong.Code != "",
				"%q: %#v", raw, err)
			return
		}
		var members map[string]json.RawMessage
		check.That(t, json.Unmarshal(raw, &members) == nil && len(members) == len(o.Given),
			"%q was taken: %+v", raw, o)
		inBounds := o.N >= 1 && o.Most >= 0 && o.Most <= 9 && len(o.Name) <= 5 && len(o.Ports) <= 3 &&
			len(o.Texts) <= 2 && (o.Mode == "single" || o.Mode == "batch")
		for _, port := range o.Ports {
			inBounds = inBounds && port >= 1 && port <= 99
		}
		if o.Given["wait"] && (o.Wait < time.Second || o.Wait > time.Minute) || !inBounds ||
			o.Even%2 != 0 {
			t.Errorf("%q makes %+v", raw, o)
		}
	})
}

func TestMembers(t *testing.T) {
	got := check.Get(strictjson.Members([]byte(` {"a": 1.0 ,"b":{"c" : [ ]},"":null} `)))
	want := []strictjson.Member{{Name: "a", Value: json.RawMessage("1.0")},
		{Name: "b", Value: json.RawMessage(`{"c" : [ ]}`)}, {Name: "", Value: json.RawMessage("null")}}
	check.Is(t, cmp.Diff(want, got), "")
	for text, want := range map[string]string{
		``: "ends too early", `{`: "ends too early", `{"a"`: "ends too early", `{"a":}`: "broken JSON", `[]`: "must be a JSON object", `7`: "must be a JSON object",
		`{"a":1,"a":2}`: `"a" twice`, `{"a":1,"\u0061":2}`: `"a" twice`, `{} {}`: "more after the end", `{"a":1}x`: "more after the end", `nul`: "broken JSON",
	} {
		if _, err := strictjson.Members([]byte(text)); err == nil ||
			!strings.Contains(err.Error(), want) {
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
		"%d bytes for %v, and 500 elements take less than a megabyte",
		after.TotalAlloc-before.TotalAlloc, err)
}

// TestNamesOfMembers: a name that is no UTF-8 is not taken for another one.
func TestNamesOfMembers(t *testing.T) {
	for _, text := range []string{`{"\ud800":1}`, "{\"\xff\":1}", `{"a":1,"b\udc00":2}`} {
		got, err := strictjson.Members([]byte(text))
		check.That(t, err != nil, "%s: %v, no error", text, got)
	}
	check.OK(t, check.Err(strictjson.Members([]byte("{\"a\":\"\\ud800\", \"b\":\"\xff\"}"))))
}

func TestText(t *testing.T) {
	for raw, want := range map[string]string{`"a"`: "a", `""`: "", `"\u00e9"`: "é",
		`"\ud83d\ude00"`: "😀", `"\ufffd"`: "\uFFFD", "\"\uFFFD\"": "\uFFFD", `"\uFFFD"`: "\uFFFD",
		`"\\ufffd"`: `\ufffd`, `"\\\\ud800"`: `\\ud800`, `"\n\ud83d\ude00\t"`: "\n😀\t"} {
		got, err := strictjson.Text(json.RawMessage(raw))
		check.That(t, err == nil && got == want, "%s: %q, %v", raw, got, err)
	}
	for _, raw := range []string{`7`, `null`, `{}`, `"\ud800"`, `"\ud800\ud800"`, `"a\udc00"`,
		`"\ufffd\ud800"`, `"\\ufffd\ud800"`, `"\ud800\n"`, `"\ud800x"`, `"\ude00\ud83d"`, "\"\xff\"",
		"\"\xed\xa0\x80\""} {
		got, err := strictjson.Text(json.RawMessage(raw))
		check.That(t, err != nil, "%s: %q, no error", raw, got)
	}
}

func TestTooDeepIsReportedSo(t *testing.T) {
	for document, want := range map[string]invalid.Code{
		`{"body":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + `}`: invalid.OutOfRange,
		`{"body":` + strings.Repeat("[", 10_000):                                     invalid.OutOfRange,
		`{"body":` + strings.Repeat("[", 9_999):                                      invalid.Malformed,
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
	for _, seed := range []string{`{"a":1}`, `{"a":{"b":"c"}}`, `[]`,
		`{"a":1,"a":2}`, `{"\ud800":1}`, ``} {
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

func TestWithoutKeepsTheRestByteForByte(t *testing.T) {
	for document, want := range map[string]string{
		`{"queue":"q","seq":1,"body":{ "seq" : 1.0 }}`: `{"queue":"q","body":{ "seq" : 1.0 }}`,
		`{"seq":"7"}`:         `{}`,
		`{ "a" : [ 1 , 2 ] }`: `{"a":[ 1 , 2 ]}`,
	} {
		got, err := strictjson.Without([]byte(document), "seq")
		check.That(t, err == nil && string(got) == want, "%s: %s, %v; want %s", document, got, err, want)
	}
	for _, document := range []string{`[]`, `{`, ``} {
		got, err := strictjson.Without([]byte(document), "seq")
		check.That(t, err != nil, "%s: %s", document, got)
	}
}
