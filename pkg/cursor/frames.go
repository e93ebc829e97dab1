package cursor

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
)

// The messages of an arrival of several are stored as frames: for each its id, content type and
// body, the number of its attributes, and their names and values. Each part is preceded by its
// length, numbers are varints.

func frames(messages []Message) []byte {
	var out []byte
	part := func(bytes string) {
		out = binary.AppendUvarint(out, uint64(len(bytes)))
		out = append(out, bytes...)
	}
	for _, m := range messages {
		contentType := m.contentType()
		if contentType == DefaultContentType {
			contentType = ""
		}
		part(m.ID)
		part(contentType)
		out = binary.AppendUvarint(out, uint64(len(m.Body)))
		out = append(out, m.Body...)
		out = binary.AppendUvarint(out, uint64(len(m.Attributes)))
		for _, name := range slices.Sorted(maps.Keys(m.Attributes)) {
			part(name)
			part(m.Attributes[name])
		}
	}
	return out
}

var errFrames = errors.New("the framed messages cannot be read")

func readFrames(raw []byte) ([]Message, error) {
	var messages []Message
	bad := false
	number := func() int {
		n, size := binary.Uvarint(raw)
		if size <= 0 || n > uint64(len(raw)) {
			bad, raw = true, nil
			return 0
		}
		raw = raw[size:]
		return int(n)
	}
	part := func() []byte {
		n := number()
		if n > len(raw) {
			bad, raw = true, nil
			return nil
		}
		read := raw[:n]
		raw = raw[n:]
		return read
	}
	for len(raw) > 0 {
		m := Message{ID: string(part()), ContentType: string(part())}
		if body := part(); len(body) > 0 {
			m.Body = bytes.Clone(body)
		}
		if count := number(); count > 0 {
			m.Attributes = map[string]string{}
			for i := 0; i < count && !bad; i++ {
				name := string(part())
				m.Attributes[name] = string(part())
			}
		}
		if bad || len(messages) == maxArrivalMessages {
			return nil, errFrames
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// writeUnit is how many bytes one write unit covers, and besides about how many an item has besides
// its frames: a wrong guess costs a unit at most, or deflates for nothing.
const writeUnit, besides = 1024, 128

// deflated is raw compressed, where that saves a write unit at least; nil where it does not.
func deflated(raw []byte) []byte {
	units := func(frames int) int { return (frames + besides + writeUnit - 1) / writeUnit }
	if units(len(raw)) == 1 {
		return nil
	}
	var out bytes.Buffer
	writer := writers.Get().(*flate.Writer)
	defer writers.Put(writer)
	writer.Reset(&out)
	// A bytes.Buffer never fails.
	_, _ = writer.Write(raw)
	_ = writer.Close()
	if units(out.Len()) >= units(len(raw)) {
		return nil
	}
	return out.Bytes()
}

// writers are used again: each has more than half a megabyte.
var writers = sync.Pool{New: func() any {
	writer, _ := flate.NewWriter(nil, flate.DefaultCompression) // the level is one of the package's
	return writer
}}

// inflated is what deflated had been given, which is at most so many bytes.
func inflated(raw []byte, most int) ([]byte, error) {
	out, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(raw)), int64(most)+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errFrames, err)
	case len(out) > most:
		return nil, fmt.Errorf("%w: they have more than %d bytes", errFrames, most)
	}
	return out, nil
}
