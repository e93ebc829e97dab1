package strictjson_test

import (
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/strictjson"
)

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
