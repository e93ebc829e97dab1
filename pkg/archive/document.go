package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/table"
)

// layout is the version of the documents.
const layout = 1

// maxEscaped bounds a queue's name in a key, which in S3 has 1,024 bytes.
const maxEscaped = 900

// folder is the beginning of a queue's keys: its name, escaped, or a hash of a
// long one, which begins as no escaped name does.
func folder(queue string) string {
	name := url.PathEscape(queue)
	if strings.HasPrefix(name, ".") {
		name = "%2E" + name[1:] // ".." is a way out of a folder
	}
	if len(name) > maxEscaped {
		sum := sha256.Sum256([]byte(queue))
		name = "%" + "-" + hex.EncodeToString(sum[:])
	}
	return name
}

// messageKey orders a queue's messages as their seqs do.
func messageKey(queue string, seq int64) string { return fmt.Sprintf("%s/%019d", folder(queue), seq) }

func markKey(queue string) string { return folder(queue) + "/mark" }

// head is all of a message but its body.
type head struct {
	Version     int               `json:"v"`
	Queue       string            `json:"queue"`
	Seq         int64             `json:"seq"`
	ID          string            `json:"id,omitempty"`
	ContentType string            `json:"contentType,omitempty"`
	Attributes  map[string]string `json:"attributes,omitempty"`
	Traceparent string            `json:"traceparent,omitempty"`
	Tracestate  string            `json:"tracestate,omitempty"`
	EnqueuedAt  time.Time         `json:"enqueuedAt"`
	Tombstone   string            `json:"tombstone,omitempty"`
	// Key is for people, KeyBytes the same as it is kept; both of a keyed queue.
	Key      json.RawMessage `json:"key,omitempty"`
	KeyBytes []byte          `json:"keyBytes,omitempty"`
	Late     bool            `json:"late,omitempty"`
	Unlinked bool            `json:"unlinked,omitempty"`
}

// encode is the document of a message: what expires, or is another's mark, is
// not in it, so that it is the same whenever it is made.
func encode(m cursor.Message) []byte {
	h := head{
		Version: layout, Queue: m.Queue, Seq: m.Seq, ID: m.ID, ContentType: m.ContentType, Attributes: m.Attributes,
		EnqueuedAt: m.EnqueuedAt.UTC(), Tombstone: m.Tombstone, Late: m.Late, Unlinked: m.Unlinked,
		Traceparent: m.Trace.Parent, Tracestate: m.Trace.State,
	}
	if m.Key != "" {
		h.Key, h.KeyBytes = m.Key.JSON(), []byte(m.Key)
	}
	raw, err := json.Marshal(h)
	if err != nil {
		panic(err) // unreachable: a time of the clock, texts, and a key that is JSON
	}
	return append(append(raw, '\n'), m.Body...)
}

// decode takes the document of a message, which must be that of the key.
func decode(raw []byte, queue string, seq int64) (cursor.Message, error) {
	line, body, found := bytes.Cut(raw, []byte("\n"))
	var h head
	if err := json.Unmarshal(line, &h); err != nil {
		return cursor.Message{}, fmt.Errorf("the archive of queue %q has no document of a message under %d: %w", queue, seq, err)
	}
	switch {
	case !found:
		return cursor.Message{}, fmt.Errorf("the archive of queue %q has no document of a message under %d: it has one line", queue, seq)
	case h.Version > layout:
		return cursor.Message{}, fmt.Errorf("the archive of queue %q has a document under %d that was %w", queue, seq, table.ErrNewerLayout)
	case h.Queue != queue || h.Seq != seq:
		return cursor.Message{}, fmt.Errorf("the archive of queue %q has the message %d of queue %q under %d", queue, h.Seq, h.Queue, seq)
	}
	var key sortkey.Key
	if len(h.KeyBytes) > 0 {
		var err error
		if key, err = sortkey.DecodeKey(h.KeyBytes); err != nil {
			return cursor.Message{}, fmt.Errorf("the archive of queue %q has a message under %d with no key: %w", queue, seq, err)
		}
	}
	m := cursor.Message{
		Queue: h.Queue, Seq: h.Seq, ID: h.ID, ContentType: h.ContentType, Attributes: h.Attributes,
		EnqueuedAt: h.EnqueuedAt, Tombstone: h.Tombstone, Key: key, Late: h.Late, Unlinked: h.Unlinked,
		Trace: cursor.Trace{Parent: h.Traceparent, State: h.Tracestate},
	}
	if m.Tombstone == "" {
		m.Body = body
	}
	return m, nil
}

// mark is how far a queue is archived.
type mark struct {
	Version int    `json:"v"`
	Queue   string `json:"queue"`
	To      int64  `json:"to"`
}

func encodeMark(queue string, to int64) []byte {
	raw, err := json.Marshal(mark{layout, queue, to})
	if err != nil {
		panic(err) // unreachable: a text and a number
	}
	return raw
}

func decodeMark(raw []byte) (int64, error) {
	var m mark
	if err := json.Unmarshal(raw, &m); err != nil {
		return -1, fmt.Errorf("the archive's mark: %w", err)
	}
	if m.Version > layout {
		return -1, fmt.Errorf("the archive's mark was %w", table.ErrNewerLayout)
	}
	return m.To, nil
}
