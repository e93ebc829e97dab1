package s3

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/message"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/tenant"
)

// maxEscaped bounds a queue's name in a key, which has 1,024 bytes with all that is around it.
const maxEscaped = 600

// escape is a name as a part of a key: letters, digits, '-', '_' and '.' as they are, any other
// byte as '!' and two digits, and so '_' and '.' in front, behind which Athena looks at nothing.
func escape(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		plain := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' ||
			i > 0 && (c == '_' || c == '.')
		if plain {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "!%02X", c)
		}
	}
	return b.String()
}

// Folder is what the keys of a consumer's objects begin with.
func Folder(consumer string) string { return escape(consumer) + "/" }

// folder is what the keys of a queue's objects begin with. A long name is hashed: nothing that is
// escaped begins with "!-".
func folder(consumer, queue string) string {
	of, name := tenant.Split(queue)
	room := "own/"
	if of != "" {
		room = "tenants/" + escape(of) + "/"
	}
	escaped := escape(name)
	if len(escaped) > maxEscaped {
		sum := sha256.Sum256([]byte(name))
		escaped = "!-" + hex.EncodeToString(sum[:])
	}
	return Folder(consumer) + room + escaped + "/"
}

const keyFormat, suffix = "%019d-%019d", ".ndjson.gz"

// key names the object of a range of a queue's seqs.
func key(consumer, queue string, first, last int64) string {
	return folder(consumer, queue) + fmt.Sprintf(keyFormat, first, last) + suffix
}

// rangeOf is the range in a key; a key that somebody else put there has no range.
func rangeOf(key string) (first, last int64, ok bool) {
	name := key[strings.LastIndex(key, "/")+1:]
	n, err := fmt.Sscanf(name, keyFormat+suffix, &first, &last)
	return first, last, err == nil && n == 2 && fmt.Sprintf(keyFormat, first, last)+suffix == name
}

// line is a message in an object, or with a tombstone, a seq that was skipped.
type line struct {
	Queue string `json:"queue"`
	message.Document
}

// skipped is the tombstone of a line: why a seq was skipped is not known to a consumer.
const skipped = "skipped"

// encode is the object of a batch: the same bytes whenever it is made.
func encode(b delivery.Batch) ([]byte, error) {
	lines := make([]line, 0, len(b.Messages)+len(b.Skipped))
	for _, m := range b.Messages {
		lines = append(lines, line{b.Queue, message.New(m)})
	}
	for _, seq := range b.Skipped {
		lines = append(lines, line{b.Queue, message.Document{Seq: jsonseq.Seq(seq), Tombstone: skipped}})
	}
	slices.SortFunc(lines, func(a, b line) int { return cmp.Compare(a.Seq, b.Seq) })
	var object bytes.Buffer
	zip := gzip.NewWriter(&object)
	for _, l := range lines {
		text, err := strictjson.Marshal(l)
		if err != nil {
			return nil, err
		}
		if _, err := zip.Write(append(text, '\n')); err != nil {
			return nil, err
		}
	}
	err := zip.Close()
	return object.Bytes(), err
}

// decode reads the messages of an object of a queue, as far as they can be put again.
func decode(object []byte, queue string) (messages []cursor.Message, err error) {
	unzip, err := gzip.NewReader(bytes.NewReader(object))
	if err != nil {
		return nil, err
	}
	for lines := json.NewDecoder(unzip); ; {
		var l line
		switch err := lines.Decode(&l); {
		case errors.Is(err, io.EOF):
			return messages, nil
		case err != nil:
			return nil, err
		case l.Queue != queue:
			return nil, fmt.Errorf("it has a message of queue %q", l.Queue)
		}
		m, err := l.Message()
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
}
