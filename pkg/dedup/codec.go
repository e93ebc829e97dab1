package dedup

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/streamsort/streamsort/pkg/invalid"
)

// How a result is encoded: as JSON, which may be compressed.
const (
	plain      = "json"
	compressed = "json+zstd"
)

// maxDecoded bounds what a stored result may grow to when it is decompressed: one that was made to
// blow up is refused. So larger ones are not compressed.
const maxDecoded = 64 << 20

// packer compresses. Each Deduplicator has its own, made when it is needed first: what is inside
// must not be shared between tests in bubbles of their own (testing/synctest).
type packer struct {
	once    sync.Once
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

func (p *packer) init() {
	// Both fail for options that are wrong, and these are not.
	p.encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	p.decoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0),
		zstd.WithDecoderMaxMemory(maxDecoded))
}

// compress makes data shorter, where that is shorter.
func (p *packer) compress(data []byte) ([]byte, bool) {
	p.once.Do(p.init)
	short := p.encoder.EncodeAll(data, nil)
	return short, len(short) < len(data)
}

// unpack is the encoded result as JSON.
func (p *packer) unpack(codec string, stored []byte) ([]byte, error) {
	switch codec {
	case plain:
		return stored, nil
	case compressed:
		p.once.Do(p.init)
		return p.decoder.DecodeAll(stored, nil)
	}
	return nil, fmt.Errorf("is %q, and not %q or %q", codec, plain, compressed)
}

// encode is a value as JSON. A method of it that panics has failed: by then the effect has run, and
// nobody may wait for its lease.
func encode(value any) (encoded []byte, err error) {
	defer recovered(&err)
	return json.Marshal(value)
}

// unmarshal gives the value's own methods a copy, which they may make a part of it: others share
// what is remembered.
func unmarshal(data []byte, into any) (err error) {
	defer recovered(&err)
	return json.Unmarshal(bytes.Clone(data), into)
}

// recovered makes a panic of a value's methods an error.
func recovered(err *error) {
	if panicked := recover(); panicked != nil {
		*err = fmt.Errorf("encoding panicked: %v", panicked)
	}
}

// idText is an id as the table stores it: what has a text as that text (such as UUIDs), strings of
// any type as they are, all else as JSON. What a pointer points to is the id.
func idText(id any) (string, error) {
	if text, ok := id.(string); ok {
		return text, nil
	}
	value := reflect.ValueOf(id)
	for {
		if isNil(value) {
			return "", missing("id")
		}
		if text, ok := value.Interface().(encoding.TextMarshaler); ok {
			made, err := text.MarshalText()
			return string(made), invalidID(err)
		}
		if value.Kind() != reflect.Pointer {
			break
		}
		value = value.Elem()
	}
	if value.Kind() == reflect.String {
		return value.String(), nil
	}
	made, err := encode(id)
	return string(made), invalidID(err)
}

// isNil reports a nil of any kind: as an id, all of them would be one.
func isNil(value reflect.Value) bool {
	switch value.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Chan, reflect.Func, reflect.Interface:
		return value.IsNil()
	}
	return false
}

// invalidID is the error of an id that cannot be made a key, nil where it can.
func invalidID(err error) error {
	if err == nil {
		return nil
	}
	return invalid.New(invalid.Malformed, "id", "cannot be made a key: "+err.Error())
}
