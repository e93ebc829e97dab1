package source_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/source"
)

func TestReadDefaults(t *testing.T) {
	for kind, want := range map[string]struct {
		queue, key, id string
	}{
		"sqs": {"queueName", "", "messageId"}, "sqsFifo": {"groupId", "sequenceNumber", "messageId"},
		"sns": {"topic", "timestamp", "messageId"}, "eventbridge": {"source", "time", "id"},
		"kinesis": {"partitionKey", "sequenceNumber", "eventId"}, "s3": {"object", "sequencer", "eventId"},
		"dynamodb": {"item", "sequenceNumber", "eventId"}, "kafka": {"partition", "offset", "id"},
	} {
		s := read(t, `{"name":"a","kind":"`+kind+`"}`)
		key := ""
		if s.Keyed() {
			key = s.Key[0].Field
		}
		if s.Prefix != "a/" || s.Queue.Field != want.queue || key != want.key || s.ID.Field != want.id || s.Numbered() || s.Partial {
			t.Errorf("%s: %+v", kind, s)
		}
		if !slices.Contains(source.Kinds(), kind) || !slices.Contains(source.FieldsOf(kind), "record") {
			t.Errorf("%s is no kind, or has no record", kind)
		}
		if s := read(t, `{"name":"a","kind":"`+kind+`","order":"arrival"}`); s.Keyed() || s.Numbered() {
			t.Errorf("%s in arrival order: %+v", kind, s)
		}
	}
	if len(source.Kinds()) != 8 || source.FieldsOf("x") != nil {
		t.Error(source.Kinds(), source.FieldsOf("x"))
	}
}

// Each error names the member and what it must be.
func TestReadErrors(t *testing.T) {
	of := func(members string) string { return `{"name":"a","kind":"kinesis",` + members + `}` }
	for text, want := range map[string]string{
		`7`:                          "must be a JSON object",
		`{"name":"a"}`:               `kind "" is not known: there are sqs, sqsFifo, sns, eventbridge, kinesis, s3, dynamodb, kafka`,
		`{"name":"a","kind":"mq"}`:   `kind "mq" is not known`,
		`{"name":"a","kind":7}`:      "kind must be a string",
		`{"kind":"sqs"}`:             "name is missing",
		`{"name":"a/b","kind":"s3"}`: "name must be 1 to 64",
		of(`"colour":1`):             "colour is not known: there are name, kind, queue",
		of(`"name":"b"`):             `has the member "name" twice`,
		of(`"queue":7`):              "queue must be a JSON object",
		of(`"queue":{"path":"a","field":"partitionKey"}`):                        "queue has 2 members: it must have one of field, path, record and fixed",
		of(`"queue":{"path":""}`):                                                "queue.path has an empty name",
		of(`"queue":{"header":"x"}`):                                             "queue.header is not known",
		of(`"queue":{"fixed":""}`):                                               "queue.fixed is empty",
		of(`"queue":{"fixed":"` + strings.Repeat("q", 1025) + `"}`):              "queue.fixed: ",
		of(`"queue":{"fixed":"q","prefix":"x"}`):                                 "queue has a prefix or a default beside fixed",
		of(`"queue":{"prefix":"@acme"}`):                                         "queue.prefix begins with '@', and with no whole tenant",
		of(`"queue":{"prefix":7}`):                                               "queue.prefix must be a string",
		of(`"queue":{"path":"q","prefix":"","default":"@acme/rest"}`):            "queue.default begins with '@'",
		of(`"queue":{"default":""}`):                                             "queue.default is empty",
		of(`"queue":{"prefix":"` + strings.Repeat("p", 1024) + `"}`):             "queue has more than 1024 bytes",
		of(`"queue":{"field":"sequencer"}`):                                      `queue.field "sequencer" is not known: kinesis has arrivedAt, data,`,
		of(`"seq":{}`):                                                           "seq has 0 members",
		of(`"seq":{"path":"n"},"key":{"path":"k"},"keyType":"number"`):           "key is given beside seq",
		of(`"key":{"path":"k"}`):                                                 "key and keyType must both be given",
		of(`"keyType":"text"`):                                                   "key and keyType must both be given",
		of(`"key":[],"keyType":"text"`):                                          "key is empty",
		of(`"key":[{"path":"a"},{"path":"b"}],"keyType":"text"`):                 "key has 2 parts, and keyType another number",
		of(`"key":[{"path":"a"},{"path":""}],"keyType":"text,text"`):             "key[1].path has an empty name",
		of(`"key":{"path":"a"},"keyType":"date"`):                                `keyType has the part "date"`,
		of(`"id":{"fixed":7}`):                                                   "id.fixed must be a string",
		of(`"prev":{"path":"p"},"order":"arrival"`):                              "prev is given without a key",
		of(`"order":"time"`):                                                     `order must be "arrival"`,
		of(`"order":"arrival","seq":{"path":"n"}`):                               "order is given beside seq or key",
		of(`"partial":true`):                                                     "partial is for kafka",
		`{"name":"a","kind":"kafka","partial":1}`:                                "partial must be true or false",
		`{"name":"a","kind":"sqs","body":{"field":"record"}}`:                    `body.field "record" is not for a message: it may differ`,
		of(`"attributes":7`):                                                     "attributes must be a JSON object",
		of(`"attributes":{"":{"path":"a"}}`):                                     "attributes has a member without a name",
		of(`"attributes":{"a":{"path":"a","fixed":"b"}}`):                        "attributes.a has 2 members",
		of(`"attributes":{` + strings.Repeat(`"a":{"path":"a"},`, 2)[:33] + `}`): `has the member "a" twice`,
		of(`"body":{"record":"a..b"}`):                                           "body.record has an empty name",
		of(`"queue":{"default":"` + strings.Repeat("d", 3072) + `"}`):            "at most 3072 are taken",
	} {
		if _, err := source.Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.120s\nerror %v\nwant  %s", text, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"name":"a","kind":"kafka","queue":{"path":"a.b","prefix":"@acme/"},"key":[{"field":"offset"}],"keyType":"number","partial":true}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := source.Read(text)
		if err == nil && (s.Name == "" || s.Kind == "" || s.Numbered() && s.Keyed()) {
			t.Errorf("%q makes %+v", text, s)
		}
	})
}
