package cloudevents

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// examples are those of the spec, in JSON and as headers with a body.
func examples(t *testing.T) (all []struct {
	Name    string
	Event   json.RawMessage
	Headers map[string]string
	Body    []byte
},
) {
	t.Helper()
	raw, err := os.ReadFile("testdata/spec.json")
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}
	check.OK(t, err)
	return all
}

// restored is the event of the message that an event is.
func restored(t *testing.T, e Event) Event {
	t.Helper()
	m := check.Get(e.Message())
	m.Queue, m.Seq = e.Queue(), 7
	check.OK(t, m.Validate())
	return Of(m)
}

// oracle is what CloudEvents' own SDK reads.
func oracle(t *testing.T, raw []byte) event.Event {
	t.Helper()
	var e event.Event
	err := json.Unmarshal(raw, &e)
	check.Need(t, err == nil, "%s: %v", raw, err)
	err = e.Validate()
	check.Need(t, err == nil, "%s: %v", raw, err)
	return e
}

// sameAs compares two events of the SDK: all attributes with their types, and the data's bytes.
func sameAs(t *testing.T, what string, got, want event.Event) {
	t.Helper()
	for name, pair := range map[string][2]any{
		"id": {got.ID(), want.ID()}, "source": {got.Source(), want.Source()}, "type": {got.Type(), want.Type()}, "subject": {got.Subject(), want.Subject()},
		"time": {got.Time().UTC(), want.Time().UTC()}, "datacontenttype": {got.DataContentType(), want.DataContentType()}, "dataschema": {got.DataSchema(), want.DataSchema()},
		"extensions": {got.Extensions(), want.Extensions()}, // The SDK keeps a space before the value, which is no part of it.
		"data":       {string(got.Data()), strings.TrimPrefix(string(want.Data()), " ")},
	} {
		diff := cmp.Diff(pair[1], pair[0])
		check.That(t, diff == "", "%s: %s (-want +got):\n%s", what, name, diff)
	}
}

// TestExamplesOfTheSpec: in JSON they come out as the SDK has them, types and all; as headers they
// are the same events, of which HTTP has no types.
func TestExamplesOfTheSpec(t *testing.T) {
	for _, c := range examples(t) {
		e, err := ReadJSON(c.Event)
		check.Need(t, err == nil, "%s: %v", c.Name, err)
		written := check.Get(restored(t, e).JSON(nil))
		sameAs(t, c.Name, oracle(t, written), oracle(t, c.Event))
		m, _ := e.Message()
		check.That(t, bytes.Equal(m.Body, c.Body),
			"%s: the message's body is %q, want %q", c.Name, m.Body, c.Body)

		check.That(t, ModeOf(c.Headers) == Binary, "%s: not known by its headers", c.Name)
		fromHeaders, err := ReadBinary(c.Headers, c.Body)
		check.Need(t, err == nil, "%s: %v", c.Name, err)
		want := maps.Clone(e.Attributes)
		want["datacontenttype"] = c.Headers["content-type"] // which JSON implies
		if diff := cmp.Diff(want, fromHeaders.Attributes); diff != "" ||
			!bytes.Equal(fromHeaders.Data, c.Body) {
			t.Errorf("%s, of headers: data %q (-want +got):\n%s", c.Name, fromHeaders.Data, diff)
		}
	}
}

// TestWhatTheSDKSends in each mode is what comes out.
func TestWhatTheSDKSends(t *testing.T) {
	for contentType, data := range map[string][]byte{
		"application/json": []byte(`{ "n": 12345678901234567890, "ü":"<&>" }`), "text/plain": []byte("ü\n\x00"), "application/octet-stream": {0, 0xff},
		"text/json": []byte(`1`), "image/svg+xml": []byte(`<svg/>`),
	} {
		sent := event.New()
		sent.SetID("id 1")
		sent.SetSource("https://example.com/a?b=c#d")
		sent.SetType("t")
		sent.SetSubject("s/1")
		sent.SetDataSchema("https://example.com/schema")
		sent.SetTime(time.Date(2026, 5, 6, 7, 8, 9, 123456789, time.FixedZone("", 3600)))
		sent.SetExtension("flag", true)
		sent.SetExtension("n", int32(-7))
		sent.SetExtension("text", "x")
		sent.SetExtension("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		sent.SetExtension("tracestate", "a=1")
		check.OK(t, sent.SetData(contentType, data))
		raw := check.Get(json.Marshal(sent))
		e, err := ReadJSON(raw)
		check.Need(t, err == nil, "%s: %v", raw, err)
		written := check.Get(restored(t, e).JSON(nil))
		sameAs(t, contentType, oracle(t, written), oracle(t, raw))

		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			"http://x/messages", http.NoBody)
		check.OK(t, err)
		if err := cehttp.WriteRequest(binding.WithForceBinary(t.Context()),
			(*binding.EventMessage)(&sent), request); err != nil {
			t.Fatal(err)
		}
		headers := map[string]string{}
		for name, values := range request.Header {
			headers[strings.ToLower(name)] = strings.Join(values, ",")
		}
		e = check.Get(ReadBinary(headers, data))
		written, err = restored(t, e).JSON(nil)
		check.Need(t, err == nil, "%v", err)
		want := sent
		want.SetExtension("flag", "true")
		want.SetExtension("n", "-7")
		sameAs(t, contentType+", binary", oracle(t, written), want)
	}
}

// TestAttributesOutOfTheRules are each refused by name.
func TestAttributesOutOfTheRules(t *testing.T) {
	const rest = `"specversion":"1.0","id":"1","source":"/s","type":"t"`
	for raw, field := range map[string]string{
		`[]`: "event", `{` + rest + `,"id":"2"}`: "event",
		`{"id":"1","source":"/s","type":"t"}`:                        "specversion",
		`{"specversion":"0.3","id":"1","source":"/s","type":"t"}`:    "specversion",
		`{"specversion":"1.0","source":"/s","type":"t"}`:             "id",
		`{"specversion":"1.0","id":"","source":"/s","type":"t"}`:     "id",
		`{"specversion":"1.0","id":null,"source":"/s","type":"t"}`:   "id",
		`{"specversion":"1.0","id":7,"source":"/s","type":"t"}`:      "id",
		`{"specversion":"1.0","id":"1","type":"t"}`:                  "source",
		`{"specversion":"1.0","id":"1","source":"","type":"t"}`:      "source",
		`{"specversion":"1.0","id":"1","source":"a b","type":"t"}`:   "source",
		`{"specversion":"1.0","id":"1","source":"a|b","type":"t"}`:   "source",
		`{"specversion":"1.0","id":"1","source":"1:2:3","type":"t"}`: "source",
		`{"specversion":"1.0","id":"1","source":"%zz","type":"t"}`:   "source",
		`{"specversion":"1.0","id":"1","source":"/s"}`:               "type",
		`{"specversion":"1.0","id":"1","source":"/s","type":""}`:     "type",
		`{` + rest + `,"subject":""}`:                                "subject",
		`{` + rest + `,"subject":"\u0007"}`:                          "subject",
		`{` + rest + `,"subject":"\ud800"}`:                          "subject",
		`{` + rest + `,"subject":"\uffff"}`:                          "subject",
		`{` + rest + `,"time":"yesterday"}`:                          "time",
		`{` + rest + `,"time":1}`:                                    "time",
		`{` + rest + `,"datacontenttype":"json"}`:                    "datacontenttype",
		`{` + rest + `,"dataschema":"/relative"}`:                    "dataschema",
		`{` + rest + `,"Ext":"x"}`:                                   "Ext",
		`{` + rest + `,"":"x"}`:                                      "event",
		`{` + rest + `,"my-ext":null}`:                               "my-ext",
		`{` + rest + `,"ext":{}}`:                                    "ext",
		`{` + rest + `,"ext":1.5}`:                                   "ext",
		`{` + rest + `,"ext":2147483648}`:                            "ext",
		`{` + rest + `,"data":1,"data_base64":"AA=="}`:               "data",
		`{` + rest + `,"datacontenttype":"text/plain","data":1}`:     "data",
		`{` + rest + `,"data_base64":"?"}`:                           "data_base64",
		`{` + rest + `,"data_base64":1}`:                             "data_base64",
	} {
		_, err := ReadJSON(json.RawMessage(raw))
		var wrong *invalid.Error
		check.That(t, errors.As(err, &wrong) && wrong.Field == field,
			"%s: error %v, want one of %s", raw, err, field)
	}
	for header, field := range map[string]string{
		"ce-id=": "id", "ce-source=a b": "source", "ce-my-ext=1": "my-ext", "ce-datacontenttype=text/plain": "datacontenttype", "ce-subject=%": "subject",
		"ce-subject=%C0%A0": "subject", "ce-subject=%07": "subject", "ce-data=1": "data", "ce-=1": "ce-", "content-type=?": "datacontenttype", "ce-time=": "time",
	} {
		headers := map[string]string{"ce-specversion": "1.0", "ce-id": "1", "ce-source": "/s",
			"ce-type": "t"}
		name, value, _ := strings.Cut(header, "=")
		headers[name] = value
		_, err := ReadBinary(headers, nil)
		var wrong *invalid.Error
		check.That(t, errors.As(err, &wrong) && wrong.Field == field,
			"%s: error %v, want one of %s", header, err, field)
	}
}

// TestIntegers: each is restored as one, in its canonical form.
func TestIntegers(t *testing.T) {
	for raw, want := range map[string]string{"0": "0", "-0": "0", "-2147483648": "-2147483648",
		"2147483647": "2147483647"} {
		e, err := ReadJSON(
			json.RawMessage(`{"specversion":"1.0","id":"1","source":"/s","type":"t","n":` + raw + `}`))
		check.Need(t, err == nil, "%s: %v", raw, err)
		if e = restored(t, e); e.Attributes["n"] != want || e.Kinds["n"] != Integer {
			t.Errorf("%s is restored as %q, of the kind %q", raw, e.Attributes["n"], e.Kinds["n"])
		}
	}
}

// TestQuotedHeaders: older senders quote what has spaces.
func TestQuotedHeaders(t *testing.T) {
	for value, want := range map[string]string{`"a \"b\" \\ c"`: `a "b" \ c`, `"%25"`: `%`,
		`%2525`: `%25`, `a+b`: `a+b`, `"`: `"`, ` x `: `x`, `%e2%82%ac`: `€`} {
		got, err := decodeHeader(value)
		check.That(t, err == nil && got == want, "%s is read as %q, %v; want %q", value, got, err, want)
	}
}

// TestJSONByItsSuffix: the spec has the data of any type of JSON as JSON. The SDK wants a text of
// those with a suffix, and is no oracle here.
func TestJSONByItsSuffix(t *testing.T) {
	const raw = `{"datacontenttype":"application/geo+json","data":[1, 2],"id":"1","source":"/s","specversion":"1.0","type":"t"}`
	e, err := ReadJSON(json.RawMessage(raw))
	check.Need(t, err == nil && string(e.Data) == "[1, 2]", "%q, %v", e.Data, err)
	written, err := restored(t, e).JSON(nil)
	check.That(t, err == nil && bytes.Contains(written, []byte(`"data":[1, 2]`)),
		"%s, %v", written, err)
	written, err = e.JSON(func([]byte) bool { return true })
	if again, _ := ReadJSON(written); err != nil || string(again.Data) != "[1, 2]" ||
		bytes.Contains(written, []byte(`"data":`)) {
		t.Errorf("encoded: %s, %v", written, err)
	}
}

func TestModes(t *testing.T) {
	for contentType, want := range map[string]Mode{
		"application/cloudevents+json": Structured, "Application/CloudEvents+JSON; charset=UTF-8": Structured, "application/cloudevents-batch+json;x=y": Batched,
		"application/json": None, "": None, "application/cloudevents+avro": None, "application/cloudevents": None,
	} {
		got := ModeOf(map[string]string{"content-type": contentType})
		check.That(t, got == want, "%q: %v, want %v", contentType, got, want)
		versioned := ModeOf(map[string]string{"content-type": contentType, "ce-specversion": "1.0"})
		if want == None && !strings.HasPrefix(contentType, "application/cloudevents") {
			want = Binary
		}
		check.That(t, versioned == want, "%q with a version: %v, want %v", contentType, versioned, want)
	}
}

// TestPlaces: by which attribute an event is placed, in the queue that it makes, and in others.
func TestPlaces(t *testing.T) {
	keyed := func(keys sortkey.KeyType) *cursor.Settings {
		return &cursor.Settings{Kind: cursor.KindKeyed, KeyType: keys}
	}
	numbered, arrival := &cursor.Settings{Kind: cursor.KindNumbered},
		&cursor.Settings{Kind: cursor.KindArrival}
	for _, c := range []struct {
		of               *cursor.Settings
		attributes, want string
	}{
		{nil, "sequence=0012,sequencetype=Integer", "seq 12"},
		{nil, "sequence=000,sequencetype=Integer", "seq 0"},
		{nil, "sequence=9223372036854775807,sequencetype=Integer", "seq 9223372036854775807"},
		{nil, "sequence=-1,sequencetype=Integer", "error sequence"},
		{nil, "sequence=x,sequencetype=Integer", "error sequence"},
		{nil, "sequence=12", "text 12"},
		{nil, "sequence=0012", "text 0012"},
		{nil, "sequence=a12,time=2018-04-05T17:31:00Z", "text a12"},
		{nil, "sequence=2018-04-05/17", "text 2018-04-05/17"},
		{nil, "sequence=12,sequencetype=Version", "text 12"},
		{nil, "sequence=" + strings.Repeat("x", 65), "error sequence"},
		{nil, "time=2018-04-05T17:31:00.123456789Z", "time 2018-04-05T17:31:00.123456789Z"},
		{nil, "time=2016-12-31t23:59:60z", "time 2016-12-31t23:59:60z"},
		{nil, "", "none"},
		{numbered, "sequence=12", "seq 12"},
		{numbered, "sequence=1f", "error sequence"},
		{numbered, "time=2018-04-05T17:31:00Z", "error sequence"},
		{arrival, "sequence=12,sequencetype=Integer", "none"},
		{keyed("text"), "sequence=12,sequencetype=Integer", "text 12"},
		{keyed("hex"), "sequence=1f", "hex 1f"},
		{keyed("hex"), "sequence=1g", "error sequence"},
		{keyed("number"), "sequence=12", "number 12"},
		{keyed("time"), "sequence=1f,time=2018-04-05T17:31:00Z", "time 2018-04-05T17:31:00Z"},
		{keyed("utc"), "sequence=2018-04-05 17:31:00", "utc 2018-04-05 17:31:00"},
		{keyed("text"), "time=2018-04-05T17:31:00Z", "error sequence"},
		{keyed("time"), "", "error sequence"},
		{keyed("time,lsn,rank(t|*)"), "sequence=0/A,time=2018-04-05T17:31:00Z", "time,lsn,rank(t|*) 2018-04-05T17:31:00Z 0/A t"},
	} {
		e := Event{Attributes: map[string]string{"specversion": "1.0", "id": "1",
			"source": "/s", "type": "t"}}
		for a := range strings.SplitSeq(c.attributes, ",") {
			if name, value, ok := strings.Cut(a, "="); ok {
				e.Attributes[name] = value
			}
		}
		check.OK(t, e.check())
		of := e.Settings()
		if c.of != nil {
			of = *c.of
		}
		var m cursor.Message
		err := e.Place(&m, of)
		got := "none"
		var wrong *invalid.Error
		switch {
		case errors.As(err, &wrong):
			got = "error " + wrong.Field
		case m.Seq != cursor.NoSeq:
			got = "seq " + strconv.FormatInt(m.Seq, 10)
		case m.KeyParts != nil:
			got = string(m.KeyType)
			for _, part := range m.KeyParts {
				got += " " + part.(string)
			}
		}
		check.That(t, got == c.want, "%v: %s: %s, want %s", c.of, c.attributes, got, c.want)
	}
}

// TestOtherMessagesAsEvents: what came as no event is one, whatever is in it.
func TestOtherMessagesAsEvents(t *testing.T) {
	at := time.Date(2026, 5, 6, 7, 8, 9, 5e6, time.UTC)
	for _, m := range []cursor.Message{
		{Body: []byte(`{"n":1}`), ID: "o-1", Attributes: map[string]string{"a": "1", "B": "2", "id": "mine", "time": "never", "bad": "\x01"}},
		{Body: []byte{0xff}, ContentType: "image/png"},
		{Body: []byte("x"), ContentType: "no type"},
		{Body: []byte("x")},
		{},
		{Attributes: map[string]string{"ce-specversion": "1.0", "ce-id": "1"}},
		{Attributes: map[string]string{"ce-specversion": "1.0", "ce-id": "1", "ce-source": "/s", "ce-type": "t", "ce-n": "},", kinds: "n=integer x=boolean id=integer", "ce-data": "1", "ce-X": "1"}},
	} {
		m.Queue, m.Seq, m.EnqueuedAt = "@acme/a queue", 7, at
		written := check.Get(Of(m).JSON(nil))
		e := oracle(t, written)
		if m.Attributes["ce-specversion"] == "" || m.Attributes["ce-type"] == "" {
			if e.ID() != "7" || e.Source() != "@acme%2Fa%20queue" || e.Type() != "streamsort.message" ||
				!e.Time().Equal(at) {
				t.Errorf("%s", written)
			}
		}
		check.That(t, string(e.Data()) == string(m.Body), "%s: data %q", written, e.Data())
	}
}
