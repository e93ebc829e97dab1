package dedup

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/streamsort/streamsort/pkg/invalid"
)

// Codec turns results into bytes and back. It may be used by any number of
// goroutines.
type Codec interface {
	// Name is stored with each result: 1 to 32 bytes, without a '+'. A result
	// under another name is not decoded.
	Name() string
	// The bytes that Marshal returns may be part of the value, and Unmarshal may
	// keep data in the value: both are copied.
	Marshal(value any) ([]byte, error)
	Unmarshal(data []byte, into any) error
}

// jsonCodec is the Codec of encoding/json.
type jsonCodec struct{}

// Name implements [Codec].
func (jsonCodec) Name() string { return "json" }

// Marshal implements [Codec].
func (jsonCodec) Marshal(value any) ([]byte, error) { return json.Marshal(value) }

// Unmarshal implements [Codec].
func (jsonCodec) Unmarshal(data []byte, into any) error { return json.Unmarshal(data, into) }

// compressed is what follows the codec's name where a result was compressed.
const compressed = "+zstd"

// maxDecoded bounds what a stored result may grow to when it is decompressed:
// one that was made to blow up is refused. So larger ones are not compressed.
const maxDecoded = 64 << 20

// packer compresses. Each Deduplicator has its own, made when it is needed
// first: what is inside must not be shared between tests in bubbles of their
// own (testing/synctest).
type packer struct {
	once    sync.Once
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

func (p *packer) init() {
	// Both fail for options that are wrong, and these are not.
	p.encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	p.decoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxDecoded))
}

// compress makes data shorter, where that is shorter.
func (p *packer) compress(data []byte) ([]byte, bool) {
	p.once.Do(p.init)
	short := p.encoder.EncodeAll(data, nil)
	return short, len(short) < len(data)
}

// unpack is the encoded result as the codec made it.
func (p *packer) unpack(codec Codec, name string, stored []byte) ([]byte, error) {
	plain, packed := strings.CutSuffix(name, compressed)
	if plain != codec.Name() {
		return nil, fmt.Errorf("was encoded as %q, and the codec is %q", name, codec.Name())
	}
	if !packed {
		return stored, nil
	}
	p.once.Do(p.init)
	return p.decoder.DecodeAll(stored, nil)
}

// encode is a value as the codec makes it. A codec that panics has failed: by
// then the effect has run, and nobody may wait for its lease. The bytes are a
// copy: a codec may return a part of the value, which the caller may change.
func encode(c Codec, value any) (encoded []byte, err error) {
	defer recovered(&err)
	encoded, err = c.Marshal(value)
	return bytes.Clone(encoded), err
}

// unmarshal gives the codec a copy, which it may make a part of the value: others
// share what is remembered.
func unmarshal(c Codec, data []byte, into any) (err error) {
	defer recovered(&err)
	return c.Unmarshal(bytes.Clone(data), into)
}

// recovered makes a codec's panic its error.
func recovered(err *error) {
	if panicked := recover(); panicked != nil {
		*err = fmt.Errorf("the codec panicked: %v", panicked)
	}
}

// idText is an id as the table stores it: what has a text as that text (such as
// UUIDs), strings of any type as they are, all else by the codec. What a
// pointer points to is the id.
func idText(codec Codec, id any) (string, error) {
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
	made, err := encode(codec, id)
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
	if invalid, is := asExact[*InvalidError](err); is && invalid.Field == "id" {
		return err
	}
	return &InvalidError{Field: "id", Code: invalid.Malformed, Problem: "cannot be made a key: " + err.Error()}
}
