package source_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/source"
)

func TestReadDefaults(t *testing.T) {
	for kind, want := range map[string]struct {
		queue, key, id, body string
	}{
		"sqs": {"queueName", "", "messageId", "body"}, "sqsFifo": {"groupId", "sequenceNumber", "messageId", "body"},
		"sns": {"topic", "timestamp", "messageId", "message"}, "eventbridge": {"source", "time", "id", "detail"},
		"kinesis": {"partitionKey", "sequenceNumber", "eventId", "data"}, "s3": {"object", "sequencer", "eventId", "record"},
		"dynamodb": {"item", "sequenceNumber", "eventId", "record"}, "kafka": {"partition", "offset", "id", "value"},
	} {
		s := read(t, `{"name":"a","kind":"`+kind+`"}`)
		written := `{"name":"a","kind":"` + kind + `","prefix":"a/","queue":"@` + want.queue + `","id":"@` + want.id + `","body":"@` + want.body + `"`
		if want.key != "" {
			written += `,"key":"@` + want.key + `","keyType":"` + string(s.KeyType) + `"`
		}
		if same := read(t, written+"}"); !reflect.DeepEqual(s, same) || s.Numbered() || s.Keyed() != (want.key != "") || s.Partial {
			t.Errorf("%s: %+v", kind, s)
		}
		if !slices.Contains(source.Kinds(), kind) || !slices.Contains(source.FieldsOf(kind), "record") {
			t.Errorf("%s is no kind, or has no record", kind)
		}
		s = read(t, `{"name":"a","kind":"`+kind+`","order":"arrival"}`)
		check.That(t, !s.Keyed() && !s.Numbered(), "%s in arrival order: %+v", kind, s)
	}
	if len(source.Kinds()) != 8 || source.FieldsOf("x") != nil {
		t.Error(source.Kinds(), source.FieldsOf("x"))
	}
}

// Each error names the member and what it must be.
func TestReadErrors(t *testing.T) {
	of := func(members string) string { return `{"name":"a","kind":"kinesis",` + members + `}` }
	for text, want := range map[string]string{
		`7`:                                      "must be a JSON object",
		`{"name":"a"}`:                           `kind "" is not known: there are sqs, sqsFifo, sns, eventbridge, kinesis, s3, dynamodb, kafka`,
		`{"name":"a","kind":"mq"}`:               `kind "mq" is not known`,
		`{"name":"a","kind":7}`:                  "kind must be a string: it is 7",
		`{"kind":"sqs"}`:                         "name is missing",
		`{"name":"a/b","kind":"s3"}`:             "name must be 1 to 64",
		of(`"colour":1`):                         "colour is not known: there are name, kind, order, partial,",
		of(`"name":"b"`):                         `has the member "name" twice`,
		of(`"queue":7`):                          "queue must be a string, such as the path",
		of(`"queue":{"path":"a","default":"b"}`): "queue must be a string, such as the path order.id | 'other', @header(X-Id) or 'fixed': it is an object",
		of(`"queue":"''"`):                       "queue has a literal '' without a text",
		of(`"queue":"'q'","prefix":"x"`):         "prefix is given beside a fixed queue",
		of(`"queue":"'` + strings.Repeat("q", 990) + `'","prefix":"x"`): "prefix is given beside a fixed queue",
		of(`"prefix":"@acme"`):                              "prefix begins with '@', and with no whole tenant",
		of(`"prefix":7`):                                    "prefix must be a string",
		of(`"queue":"q | '@acme/rest'","prefix":""`):        "queue has a default that begins with '@'",
		of(`"prefix":"` + strings.Repeat("p", 1024) + `"`):  "queue has more than 1024 bytes",
		of(`"queue":"@sequencer"`):                          "queue has @sequencer, which is not known: there are @arrivedAt, @data,",
		of(`"queue":"@header(X)"`):                          "queue has @header, which is not known",
		of(`"seq":"n","key":"k","keyType":"number"`):        "key must not be given beside seq",
		of(`"key":"k"`):                                     "keyType is missing beside key",
		of(`"keyType":"text"`):                              "keyType must not be given without a key",
		of(`"key":"a,b","keyType":"text"`):                  "key has 2 paths, and keyType has 1 parts",
		of(`"key":"a,","keyType":"text,text"`):              "key has an empty name",
		of(`"key":"a","keyType":"date"`):                    `keyType has the part "date"`,
		of(`"key":[{"path":"a"}],"keyType":"text"`):         "key must be a string, such as the path",
		of(`"prev":"p","order":"arrival"`):                  "prev must not be given without a key",
		of(`"order":"time"`):                                `order must be "arrival": it is "time"`,
		of(`"order":"arrival","key":"k","keyType":"text"`):  "order is given beside key",
		of(`"partial":true`):                                "partial is for kafka",
		`{"name":"a","kind":"kafka","partial":1}`:           "partial must be true or false: it is 1",
		`{"name":"a","kind":"sqs","body":"@record"}`:        "body has @record, which is not for a message: it may differ",
		of(`"attributes":7`):                                "attributes must be a JSON object",
		of(`"attributes":{"":"a"}`):                         "attributes has a name, or a path, that is empty",
		of(`"attributes":{"a":{"path":"b"}}`):               "attributes.a must be a string, such as the path",
		of(`"attributes":{"a":"x","a":"y"}`):                `has the member "a" twice`,
		of(`"body":"a..b"`):                                 "body has an empty name",
		of(`"queue":"'` + strings.Repeat("d", 3072) + `'"`): "at most 3072 are taken",
	} {
		if _, err := source.Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.120s\nerror %v\nwant  %s", text, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"name":"a","kind":"kafka","queue":"a.b","prefix":"@acme/","key":"@offset","keyType":"number","partial":true}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := source.Read(text)
		if err == nil && (s.Name == "" || s.Kind == "" || s.Numbered() && s.Keyed()) {
			t.Errorf("%q makes %+v", text, s)
		}
	})
}
