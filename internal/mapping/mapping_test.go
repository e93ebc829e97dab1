package mapping

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/invalid"
)

var at = time.Date(2026, 5, 6, 7, 8, 9, 123456789, time.UTC)

// ofGrammar is an event with one of everything.
func ofGrammar() *Event {
	return &Event{
		Document: []byte(`{"a":{"b":"found","n":7,"null":null,"empty":"","big":12345678901234567890,"x.y":"dotted","list":["zero",{"id":"one"},[["deep"]]]},` +
			`"null":null,"@type":"t","it's":"quoted","a,b|c[d]":"special","text":"t","bad":{"d":1,"d":2},"back\\slash":"s"}`),
		Headers:  map[string]string{"x-id": " h ", "x-two": "a,b", "x-empty": ""},
		Received: at,
		Fields: map[string]any{"field": "f", "number": json.Number("17"),
			"record": []byte(`{"meta":{"id":"m"}}`), "plain": "no JSON"},
	}
}

var ofAll = Kind{Request: true, Known: true,
	Variables: []string{"field", "number", "record", "plain"}, Volatile: []string{"sentAt"}}

func TestFind(t *testing.T) {
	for path, want := range map[string]string{
		"a.b": "found", "a.n": "7", "a.big": "12345678901234567890", `a.x\.y`: "dotted", "a.list[0]": "zero", "a.list[1].id": "one", "a.list[2][0][0]": "deep",
		`\@type`: "t", "it's": "quoted", `it\'s`: "quoted", `a\,b\|c\[d\]`: "special", `back\\slash`: "s",
		"x | a.b": "found", "null.x | a.b": "found", "a.null | 'd'": "d", "a.empty | 'd'": "d", "text.x | 'd'": "d", "text[0] | 'd'": "d",
		"a[0] | 'd'": "d", "a.list.x | 'd'": "d", "a.list[3] | 'd'": "d", " x  |  'a b, | \\' \\\\' ": `a b, | ' \`,
		"@header(X-Id)": "h", "@header( x-id )": "h", "@header(X-None) | @header(X-Empty) | @field": "f", "@number": "17", "@record.meta.id": "m", "@event.a.b": "found",
		"@none": "!@none, which is not known: there are @digest, @event, @field, @form, @header", "@sentAt": "!may differ from one delivery", "@received": "!is for key",
		"@header": "!must be @header(NAME)", "@header(a b)": "!must be @header(NAME)", "@digest(x)": "!only @header and @form", "@header(X).a": "!nothing within @header", "@index": "!not known",
		"a | 'd' | b": "!has b behind 'd', which is always there", "@digest | a": "!behind @digest",
		"": "!queue is missing", "a.": "!empty name", ".a": "!empty name", "a..b": "!empty name", "a|": "!empty name", "a,b": "!has 2 paths: one is taken",
		"a[x]": "!an index from 0 to 999", "a[1000]": "!an index", "a[-1]": "!an index", "a[01]": "!an index", "a[": "![ without its ]", "a]": `!has "]"`, "[0]": "!write @event[0]", "a[]": "!for each",
		`a\b`: "!backslash before something else", `a\`: "!backslash", "'a": "!' without another", "''": "!without a text", "'a' b": `!has "b"`, "@": "!without a variable's name", "@header(x": "!( without its )",
		"text & a.b": "found", "null & 'x' | a.b": "found", "a & 'x'": "x", "a.list & @field | a.b": "f", "@header(X-Id) & a.b": "found",
		"text='t' & a.b": "found", "text = 's|t' & a.b": "found", "text='s' & 'x' | text='u|v' & 'y' | a.b": "found", "a.n='7' & a.b": "found", "@field='f' & a.b": "found", "none='' & a.b": "!without a text",
		`text='t' & x | 'd'`: "d", "text='t'": "!has an = without an & behind it", "text='t' | a.b": "!has an = without an & behind it", "text=t & a.b": "!has an = without a literal", "text & text & a.b": `!has "&`,
		"a.b & @none": "!not known", "@none & a.b": "!not known", `a\=b & x | 'd'`: "d", `a\&b | 'd'`: "d", "a[] & a.b": "!for each",
		strings.Repeat("a.", 20) + "a": "!more than 20 names", strings.Repeat("a|", 32) + "a": "!more than 32 alternatives", strings.Repeat("a", 1001): "!at most 1000",
	} {
		got, err := Texts{Queue: path}.Parse(ofAll)
		found := ""
		if err == nil {
			m, _ := got.Message(ofGrammar())
			found = m.Queue
		} else {
			found = "!" + err.Error()
		}
		check.That(t, found == want || want[0] == '!' && strings.Contains(found, want[1:]),
			"%s: %s, want %s", path, found, want)
	}
}

// TestErrorsNameThePathAndWhatIsThere of what cannot be found, or is of another type.
func TestErrorsNameThePathAndWhatIsThere(t *testing.T) {
	for path, want := range map[string]string{
		"a.x | null.y":                     "queue is missing at a.x | null.y: the event has no a.x; null is null",
		"a.empty":                          "queue is missing at a.empty: a.empty is empty",
		"a.list[7].id":                     "queue is missing at a.list[7].id: the event has no a.list[7]",
		"text.x":                           `queue is missing at text.x: text is "t"`,
		"a.list.x":                         "queue is missing at a.list.x: a.list is a list",
		"@header(X-None)":                  "queue is missing at @header(X-None): the request has no header X-None",
		"@record.meta.x":                   "queue is missing at @record.meta.x: the event has no @record.meta.x",
		"@form(x)":                         "queue is missing at @form(x): there is no @form(x)",
		"a":                                "queue must be a string or an integer (a is an object)",
		"a.list":                           "queue must be a string or an integer (a.list is a list)",
		"@header(X-Two)":                   `queue must stand once in the header, without a comma (@header(X-Two) is "a,b")`,
		"bad.d":                            `queue cannot be found: the event has the member "d" twice`,
		"text='u|v' & a.b | @field & none": `queue is missing at text='u|v' & a.b | @field & none: text is "t"; the event has no none`,
		"none & a.b":                       "queue is missing at none & a.b: the event has no none",
		"bad.d='x' & a.b":                  `queue cannot be found: the event has the member "d" twice`,
		"@plain.x":                         "queue cannot be found: the event is not JSON",
		`a\.b | @event.a.list.one`:         `queue is missing at a\.b | @event.a.list.one: the event has no a\.b; @event.a.list is a list`,
	} {
		m, err := Texts{Queue: path}.Parse(ofAll)
		check.Need(t, err == nil, "%v %v", path, err)
		_, err = m.Message(ofGrammar())
		check.That(t, err != nil && err.Error() == want, "%s: %v, want %s", path, err, want)
	}
	m := check.Get(Texts{Queue: "q", Seq: "n"}.Parse(Kind{}))
	_, err := m.Message(&Event{Document: []byte(`{"q":"q","n":"` + strings.Repeat("é", 50) + `"}`)})
	check.That(t, err != nil && strings.HasSuffix(err.Error(), `(n is "`+strings.Repeat("é", 19)+"…)"),
		"a long value: %v", err)
	_, err = m.Message(&Event{Document: []byte(`7`)})
	check.Has(t, fmt.Sprint(err), "queue is missing at q", "a document that is JSON, and no object")
}

// TestRefused: what can work for no event is refused when it is read.
func TestRefused(t *testing.T) {
	source, empty, tenant, cut, long := Kind{Source: "s"}, "", "@acme/", "@acme",
		strings.Repeat("p", 1024)
	for want, c := range map[string]struct {
		Texts
		Kind
	}{
		"queue has a control character, or what is not UTF-8": {Texts{Queue: "'q'\x00junk", ID: "i"}, Kind{}},
		"queue is missing":                                   {Texts{ID: "i"}, Kind{}},
		"seq is missing, and so is id":                       {Texts{Queue: "q"}, Kind{}},
		"key must not be given beside seq":                   {Texts{Queue: "q", Seq: "s", Key: "k"}, Kind{}},
		"first must not be given without a seq":              {Texts{Queue: "q", ID: "i", First: "here"}, Kind{}},
		`first is "-1": it must be an integer from 0 to`:     {Texts{Queue: "q", Seq: "n", First: "-1"}, Kind{}},
		"keyType must not be given without a key":            {Texts{Queue: "q", ID: "i", KeyType: "time"}, Kind{}},
		"keyType is missing beside key":                      {Texts{Queue: "q", ID: "i", Key: "k"}, source},
		"prev must not be given without a key":               {Texts{Queue: "q", ID: "i", Prev: "p"}, Kind{}},
		"id is missing beside key":                           {Texts{Queue: "q", Key: "k"}, Kind{}},
		`keyType has the part "date"`:                        {Texts{Queue: "q", ID: "i", Key: "k", KeyType: "date"}, Kind{}},
		"key has 2 paths, and keyType has 1":                 {Texts{Queue: "q", ID: "i", Key: "a,b", KeyType: "time"}, Kind{}},
		"key has more than 3 paths":                          {Texts{Queue: "q", ID: "i", Key: "a,b,c,d"}, Kind{}},
		"key has @received, which is a time":                 {Texts{Queue: "q", ID: "i", Key: "a | @received", KeyType: "number"}, Kind{}},
		"id has @received, which is for key":                 {Texts{Queue: "q", ID: "i | @received"}, Kind{}},
		"attributes.a has @received":                         {Texts{Queue: "q", ID: "i", Attributes: map[string]string{"a": "@received"}}, Kind{}},
		"attributes has a name, or a path":                   {Texts{Queue: "q", ID: "i", Attributes: map[string]string{"": "a"}}, Kind{}},
		"queue has more than":                                {Texts{Queue: "a='x' & 'y'", ID: "i", Prefix: &long}, source},
		"that ends with [], such as entry[]":                 {Texts{Queue: "q", ID: "i", Each: "a & b[]"}, Kind{}},
		"id is the same text":                                {Texts{Queue: "q", ID: "i | 'none'"}, Kind{}},
		"seq is the same text":                               {Texts{Queue: "q", Seq: "'1'"}, Kind{}},
		"prev is the same text":                              {Texts{Queue: "q", ID: "i", Key: "k", Prev: "p|'x'"}, Kind{}},
		"prefix is given beside a fixed queue":               {Texts{Queue: "'q'", ID: "i", Prefix: &empty}, source},
		"prefix begins with '@', and with no whole tenant":   {Texts{Queue: "q", ID: "i", Prefix: &cut}, source},
		"queue has a default that begins with '@'":           {Texts{Queue: "q | '@acme/x'", ID: "i", Prefix: &empty}, source},
		"queue has more than 1024 bytes":                     {Texts{Queue: "q", ID: "i", Prefix: &long}, source},
		"each must be one path that ends with []":            {Texts{Queue: "q", ID: "i", Each: "a"}, Kind{}},
		"each must be one path that ends with [], such":      {Texts{Queue: "q", ID: "i", Each: "a[] | b[]"}, Kind{}},
		"each has @received, which is no list":               {Texts{Queue: "q", ID: "i", Each: "@received[]"}, Kind{}},
		"each has @form, which is not known":                 {Texts{Queue: "q", ID: "i", Each: "@form(x)[]"}, Kind{}},
		`queue has 2 paths: one is taken (a comma in a name`: {Texts{Queue: "a,b", ID: "i"}, Kind{}},
	} {
		_, err := c.Parse(c.Kind)
		check.That(t, err != nil && strings.Contains(err.Error(), want), "%v, want %s", err, want)
		var wrong *invalid.Error
		_, err = c.Parse(c.Kind)
		check.That(t, errors.As(err, &wrong) && wrong.Field != "", "%v is no error of a field", err)
	}
	m, err := (Texts{Queue: "q | '@x'", ID: "i", Prefix: &tenant}).Parse(source)
	check.That(t, err == nil && m.Prefix == "@acme/", "%+v, %v", m, err)
}

// of maps an event, and says what became of it.
func of(t *testing.T, texts Texts, k Kind, e *Event) string {
	t.Helper()
	m := check.Get(texts.Parse(k))
	events, err := m.Split(e)
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, e := range events {
		msg, err := m.Message(e)
		if err != nil {
			return err.Error()
		}
		said := fmt.Sprintf("%s|%s|%d|%v|%s", msg.Queue, msg.ID, msg.Seq, msg.KeyParts, msg.Body)
		if msg.ContentType != "" || msg.Prev != "" || msg.Attributes != nil {
			said += fmt.Sprintf("|%s|%s|%v", msg.ContentType, msg.Prev, msg.Attributes)
		}
		all = append(all, said)
	}
	return strings.Join(all, " ")
}

func TestMessages(t *testing.T) {
	app := func(id string) *Event {
		return &Event{Document: []byte(`{}`),
			Headers: map[string]string{"x-github-delivery": "d/1%", "x-github-hook-id": id}, Received: at}
	}
	ids := Texts{Queue: "'q'", ID: "@header(X-GitHub-Delivery),@header(X-GitHub-Hook-ID)"}
	document := func(text string) *Event { return &Event{Document: []byte(text), Received: at} }
	form := &Event{Document: []byte("mandrill_events=%5B%7B%22id%22%3A1%7D%2C%7B%22id%22%3A2%7D%5D")}
	prefix := ""
	for name, c := range map[string]struct{ got, want string }{
		"two apps with one delivery": {of(t, ids, ofAll, app("1")) + " " + of(t, ids, ofAll, app("2")), "q|d%2F1%25/1|-1|[]|{} q|d%2F1%25/2|-1|[]|{}"},
		"one part as it is":          {of(t, Texts{Queue: "'q'", ID: "@header(X-GitHub-Delivery)"}, ofAll, app("1")), "q|d/1%|-1|[]|{}"},
		"a part is missing":          {of(t, ids, ofAll, app("")), "id is missing at @header(X-GitHub-Hook-ID): the request has no header X-GitHub-Hook-ID"},
		"a prefix, and its default":  {of(t, Texts{Queue: "a | 'other'", ID: "@digest"}, Kind{Source: "s"}, document(`{"a":null}`)), "s/other|d091f9c83c091f79652fe8786375b3fe4ce0861a56f5bfbafedbe431877ff0e8|-1|[]|{\"a\":null}"},
		"no prefix, and a tenant":    {of(t, Texts{Queue: "a", ID: "a", Prefix: &prefix}, Kind{Source: "s"}, document(`{"a":"@acme/x"}`)), `queue begins with '@', as the queues of tenants do: a source without a prefix may name none (a is "@acme/x")`},
		"an operator's":              {of(t, Texts{Queue: "a", ID: "a"}, Kind{}, document(`{"a":"@acme/x"}`)), `@acme/x|@acme/x|-1|[]|{"a":"@acme/x"}`},
		"a seq, in digits":           {of(t, Texts{Queue: "'q'", Seq: "n"}, Kind{}, document(`{"n":"12"}`)), `q||12|[]|{"n":"12"}`},
		"no seq":                     {of(t, Texts{Queue: "'q'", Seq: "n"}, Kind{}, document(`{"n":1.5}`)), `seq is "1.5": it must be an integer from 0 to 9223372036854775807, in plain digits (n is 1.5)`},
		"a key": {
			of(t, Texts{Queue: "'q'", ID: "i", Key: "t | @received,k", Prev: "p.id", Attributes: map[string]string{"a": "i", "b": "none"}}, Kind{}, document(`{"i":1,"k":"x","p":{"id":0}}`)),
			`q|1|-1|[` + fmt.Sprint(sortkey.Received(at)) + ` x]|{"i":1,"k":"x","p":{"id":0}}||0|map[a:1 streamsort-received:key]`,
		},
		"a list as the key":    {of(t, Texts{Queue: "'q'", ID: "i", Key: "k"}, Kind{}, document(`{"i":1,"k":[2,"x"]}`)), `q|1|-1|[2 x]|{"i":1,"k":[2,"x"]}`},
		"a list as a part":     {of(t, Texts{Queue: "'q'", ID: "i", Key: "i,k"}, Kind{}, document(`{"i":1,"k":[2,"x"]}`)), "key part 2 of 2 must be a string or a number (k is a list)"},
		"a body":               {of(t, Texts{Queue: "'q'", ID: "i", Body: "b | 'none'"}, Kind{}, document(`{"i":1,"b":{"x" : 1}}`)), `q|1|-1|[]|{"x" : 1}`},
		"a body that is text":  {of(t, Texts{Queue: "'q'", ID: "i", Body: "b | 'none'"}, Kind{}, document(`{"i":1,"b":null}`)), `q|1|-1|[]|none|text/plain; charset=utf-8||map[]`},
		"each":                 {of(t, Texts{Queue: "@event.object", ID: "id,@index", Each: "entry[]"}, Kind{}, document(`{"object":"page","entry":[{"id":"a"},{"id":"a"}]}`)), `page|a/0|-1|[]|{"id":"a"} page|a/1|-1|[]|{"id":"a"}`},
		"each within each":     {of(t, Texts{Queue: "'q'", ID: "@index,@digest", Each: "entry[].changes[]", Body: "@event.x"}, Kind{}, document(`{"x":1,"entry":[{"changes":[1,2]},{"changes":[]},{"changes":[3]}]}`))[:4], "q|0/"},
		"each of a list":       {of(t, Texts{Queue: "'q'", ID: "id", Each: "[]"}, Kind{}, document(` [{"id":1},{"id":2}]`)), `q|1|-1|[]|{"id":1} q|2|-1|[]|{"id":2}`},
		"each of a form":       {of(t, Texts{Queue: "'q'", ID: "id", Each: "@form(mandrill_events)[]"}, ofAll, form), `q|1|-1|[]|{"id":1} q|2|-1|[]|{"id":2}`},
		"each of nothing":      {of(t, Texts{Queue: "'q'", ID: "id", Each: "entry[]"}, Kind{}, document(`{"entry":[]}`)), "each is an empty list at entry[]: it must have 1 to 2000 elements"},
		"each of no list":      {of(t, Texts{Queue: "'q'", ID: "id", Each: "a.entry[]"}, Kind{}, document(`{"a":{"entry":7}}`)), "each must be a list at a.entry[]: it is 7"},
		"each of what is gone": {of(t, Texts{Queue: "'q'", ID: "id", Each: "a[].b[]"}, Kind{}, document(`{"a":[{"c":1}]}`)), "each is missing: the event has no a[].b"},
		"each of too many":     {of(t, Texts{Queue: "'q'", ID: "id", Each: "[]"}, Kind{}, document("["+strings.Repeat("1,", 2000)+"1]")), "each has too many elements: at most 2000 are taken"},
	} {
		check.That(t, c.got == c.want, "%s:\n%s, want\n%s", name, c.got, c.want)
	}
}

// TestIDsOfPartsAreUnambiguous: two lists of parts are never one id.
func TestIDsOfPartsAreUnambiguous(t *testing.T) {
	m := check.Get(Texts{Queue: "'q'", ID: "a,b"}.Parse(Kind{}))
	seen := map[string]string{}
	parts := []string{"a", "b", "/", "%", "a/", "/a", "%2F", "a%2Fb", "a/b", "%25"}
	for _, a := range parts {
		for _, b := range parts {
			event, _ := strictjson.Marshal(map[string]string{"a": a, "b": b})
			msg := check.Get(m.Message(&Event{Document: event}))
			check.Is(t, seen[msg.ID], "", event, msg.ID)
			seen[msg.ID] = string(event)
		}
	}
}

// TestEachObjectIsReadOnce, however many paths lead into it.
func TestEachObjectIsReadOnce(t *testing.T) {
	var texts Texts
	texts.Queue, texts.ID, texts.Key, texts.Prev, texts.KeyType = "a.b", "a.n", "a.n,a.big",
		"a.null | a.x", "number,number"
	m := check.Get(texts.Parse(Kind{}))
	e := ofGrammar()
	_, err := m.Message(e)
	check.That(t, err == nil && len(e.read) == 2, "%d were read, %v", len(e.read), err)
}

func TestTexts(t *testing.T) {
	var texts Texts
	err := strictjson.Decode(
		[]byte(`{"queue":"q","prefix":"","attributes":{"a":"x"},"keyType":"time","each":"[]"}`), &texts)
	want := (Texts{Queue: "q", KeyType: "time", Each: "[]", Prefix: new(string),
		Attributes: map[string]string{"a": "x"}})
	check.That(t, err == nil && reflect.DeepEqual(texts, want), "%+v, %v", texts, err)
	for raw, want := range map[string]string{
		`{"queue":{"path":"a","default":"b"}}`: "queue must be a string, such as the path order.id | 'other', @header(X-Id) or 'fixed': it is an object",
		`{"id":""}`:                            "id is empty", `{"key":7}`: "key must be a string, such as the path",
		`{"prefix":7}`: "prefix must be a string", `{"attributes":7}`: "attributes must be a JSON object",
		`{"attributes":{"a":{"path":"b"}}}`: "attributes.a must be a string, such as the path",
		`{"keys":"a"}`:                      "keys is not known: there are queue, seq, first, id, key,",
	} {
		if err := strictjson.Decode([]byte(raw), &texts); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", raw, err, want)
		}
	}
}

// FuzzPath: nothing makes a panic, and what is printed is read as the same.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"a.b", "a='x|y' & b | @form(a) & 'c'",
		`a\.b[0].c | @header(X) | 'd\'',x`, "@form(x).a[1]", "entry[].x[]", " a . b [0] ", `\@\'\\`} {
		f.Add(seed, `{"a":{"b":[1,{"c":"d"}]},"x":null}`)
	}
	f.Fuzz(func(t *testing.T, text, event string) {
		l, err := parse(text)
		if err != nil {
			return
		}
		again, err := parse(l.String())
		if err != nil && len(l.String()) <= maxText || err == nil && !reflect.DeepEqual(l, again) {
			t.Fatalf("%q is printed as %q: %v, %+v", text, l, err, again)
		}
		all := Texts{Queue: text, Seq: text, ID: text, Prev: text, Body: text}
		for _, texts := range []Texts{{Queue: text, ID: text}, {Queue: "'q'", ID: "'x',a,b", Key: text},
			{Queue: "'q'", Seq: text}, {Queue: "'q'", ID: "@digest", Each: text}, all} {
			m, err := texts.Parse(ofAll)
			if err != nil {
				continue
			}
			e := ofGrammar()
			e.Document = []byte(event)
			events, _ := m.Split(e)
			for _, e := range events {
				_, _ = m.Message(e)
			}
		}
	})
}

// TestAnEventIsReadOnce, however many messages it becomes: what is beside its elements is not read
// for each of them.
func TestAnEventIsReadOnce(t *testing.T) {
	item := `{"text":"` + strings.Repeat("x", 100) + `"},`
	body := `{"batch":"b1","items":[` + strings.Repeat(item, 1999) + `{}]}`
	request := Kind{Source: "s", Request: true}
	for name, test := range map[string]struct {
		texts Texts
		kind  Kind
		event *Event
	}{
		"a variable": {
			Texts{ID: "@m.batch,@index", Each: "@m.items[]"},
			Kind{Source: "s", Variables: []string{"m"}},
			&Event{Document: []byte("{}"), Fields: map[string]any{"m": body}},
		},
		"a form": {
			Texts{ID: "@form(p).batch,@index", Each: "@form(p).items[]"},
			request,
			&Event{Document: []byte("p=" + body)},
		},
	} {
		test.texts.Queue = "'q'"
		m, err := test.texts.Parse(test.kind)
		check.Need(t, err == nil, "%v %v", name, err)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		all, err := m.Split(test.event)
		check.Need(t, err == nil, "%v %v", name, err)
		for _, e := range all {
			if _, err := m.Message(e); err != nil {
				t.Fatal(name, err)
			}
		}
		runtime.ReadMemStats(&after)
		n := after.TotalAlloc - before.TotalAlloc
		check.That(t, n <= 20<<20, "%s of %d bytes is read with %d MB", name, len(body), n>>20)
	}
}
