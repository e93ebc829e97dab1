package dedup

import (
	"testing"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
)

// FuzzJoinedKey: no two keys look alike, and what is not one is recognised.
func FuzzJoinedKey(f *testing.F) {
	f.Add("order-1", "payments", "8:payments:order-1")
	f.Add(":", "1:", "+1:a:b")
	f.Add("", "", "01:a:b")
	f.Fuzz(func(t *testing.T, id, processor, text string) {
		k := Key{ID: id, Processor: processor}
		back, ok := splitKey(k.joined())
		check.That(t, ok && back == k, "%q of %q came back as %+v, %v", id, processor, back, ok)
		back, ok = splitKey(text)
		check.That(t, !ok || back.joined() == text, "%q was taken for %+v", text, back)
	})
}

func FuzzRow(f *testing.F) {
	key := ddb.Fields{"id": ddb.Text("a"), "processorId": ddb.Text("p")}.Item()
	ddbtest.FuzzCodec(f, rows, func(it ddb.Item) (Row, error) {
		return decodeRow(it.Merge(key))
	}, attrVersion, "id")
}
