package dedup

import (
	"bytes"
	"testing"

	"github.com/streamsort/streamsort/internal/ddb"
)

// FuzzJoinedKey: in a table with one key no two keys look alike, and what is
// none is recognised as none.
func FuzzJoinedKey(f *testing.F) {
	f.Add("order-1", "payments", "8:payments:order-1")
	f.Add(":", "1:", "+1:a:b")
	f.Add("", "", "01:a:b")
	f.Fuzz(func(t *testing.T, id, processor, text string) {
		k := Key{ID: id, Processor: processor}
		if back, ok := splitKey(k.joined()); !ok || back != k {
			t.Errorf("%q of %q came back as %+v, %v", id, processor, back, ok)
		}
		if back, ok := splitKey(text); ok && back.joined() != text {
			t.Errorf("%q was taken for %+v", text, back)
		}
	})
}

// FuzzDecodeRow: whatever stands in an item, it is a row or an error.
func FuzzDecodeRow(f *testing.F) {
	f.Add([]byte("0123456789abcdef"), "fence", "json", int64(1), int64(1))
	f.Add([]byte{}, "v", "", int64(2), int64(-1))
	f.Fuzz(func(t *testing.T, blob []byte, name, text string, version, number int64) {
		it := ddb.Fields{
			"id": ddb.Text("a"), "processorId": ddb.Text("p"), "v": ddb.Int(version), "fence": ddb.Int(number),
			"attempt": ddb.Int(number), "token": ddb.Blob(blob), "startedAt": ddb.Int(number),
			"leaseUntil": ddb.Int(number), "validUntil": ddb.Int(number), "codec": ddb.Text(text),
		}
		r, err := Names{}.withDefaults().decodeRow(it.Item())
		if err == nil && (!bytes.Equal(r.Token[:], blob) || version > layout) {
			t.Errorf("%+v of %v", r, it)
		}
		it[ddb.Path(name)] = ddb.Blob(blob)
		if r, err := (Names{}).withDefaults().decodeRow(it.Item()); err != nil && r.Exists() {
			t.Errorf("an error, and %+v", r)
		}
	})
}
