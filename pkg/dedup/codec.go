package dedup

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Codec turns results into bytes and back. It may be used by any number of
// goroutines.
type Codec interface {
	// Name is kept with each result: 1 to 32 bytes, without a '+'. A result
	// under another name is not decoded.
	Name() string
	Marshal(value any) ([]byte, error)
	Unmarshal(data []byte, into any) error
}

// JSON is the Codec of encoding/json.
type JSON struct{}

// Name implements [Codec].
func (JSON) Name() string { return "json" }

// Marshal implements [Codec].
func (JSON) Marshal(value any) ([]byte, error) { return json.Marshal(value) }

// Unmarshal implements [Codec].
func (JSON) Unmarshal(data []byte, into any) error { return json.Unmarshal(data, into) }

// compressed is what follows the codec's name where a result was compressed.
const compressed = "+zstd"

// maxDecoded bounds what a stored result may grow to when it is decompressed:
// one that was made to blow up is refused.
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

// idText is an id as the table keeps it: strings as they are, what has a text
// as that text (such as UUIDs), all else by the codec.
func idText(codec Codec, id any) (string, error) {
	switch id := id.(type) {
	case string:
		return id, nil
	case encoding.TextMarshaler:
		text, err := id.MarshalText()
		if err != nil {
			return "", invalidID(err)
		}
		return string(text), nil
	}
	text, err := codec.Marshal(id)
	if err != nil {
		return "", invalidID(err)
	}
	return string(text), nil
}

func invalidID(err error) error {
	var invalid *InvalidError
	if errors.As(err, &invalid) {
		return err
	}
	return &InvalidError{Field: "id", Problem: "cannot be made a key: " + err.Error()}
}
