// Package fifo is messages as SQS FIFO queues and SNS FIFO topics take them: the
// entries of a request, and what its answer says of each.
package fifo

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"unicode/utf8"

	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/tenant"
)

// Message is a message as SQS and SNS take it. Its attributes are
//
//	queue        the queue's name
//	tenant       whose it is, where the name has a tenant in front
//	seq          the message's seq, in decimal
//	consumer     the consumer's name
//	token        the claim's token: number, hyphen, request
//	edge         where the consumer is tracked, the token of the message's work
//	contentType  of the body before its encoding
//	id           the message's id, if it has one
//	attributes   the message's own attributes, if it has any: a JSON object
//	encoding     missing where the body stands as it is; "base64"; or "empty",
//	             as neither service takes an empty body (a hyphen stands for it)
//
// Each is a String, but a Binary of the same UTF-8 bytes where it has
// characters that SQS does not take.
type Message struct {
	Group, Dedup, Body string
	Attributes         []Attribute
}

// Attribute is a message attribute of SQS and SNS.
type Attribute struct {
	Name, DataType, Value string
}

// Items are the messages of a batch.
func Items(b handoff.Batch) ([]kind.Item[Message], error) {
	group, dedup := groupOf(b.Queue), dedupPrefix(b)
	of, _ := tenant.Split(b.Queue)
	items := make([]kind.Item[Message], 0, len(b.Messages))
	for i, m := range b.Messages {
		written := Message{Group: group, Dedup: dedupOf(dedup, m.Seq, b.Rewinds)}
		if b.Edges != nil {
			// Delivered again it is other work, which must not be dropped: its first
			// edge's chain has failed.
			written.Dedup += "." + b.Edges[i].Op().String()
		}
		add := func(name, value string) {
			dataType := "String"
			if !allowed(value) {
				dataType = "Binary"
			}
			if value != "" {
				written.Attributes = append(written.Attributes, Attribute{name, dataType, value})
			}
		}
		add("queue", b.Queue)
		add("tenant", of)
		add("seq", strconv.FormatInt(m.Seq, 10))
		add("consumer", b.Consumer)
		add("token", b.Token.String())
		add("edge", kind.EdgeOf(b, i))
		if m.ContentType == "" {
			m.ContentType = cursor.DefaultContentType
		}
		add("contentType", m.ContentType)
		add("id", m.ID)
		if len(m.Attributes) > 0 {
			own, err := strictjson.Marshal(m.Attributes)
			if err != nil {
				return nil, err
			}
			add("attributes", string(own))
		}
		var encoding string
		written.Body, encoding = textOf(m.Body)
		add("encoding", encoding)
		items = append(items, kind.Item[Message]{Seq: m.Seq, Bytes: written.bytes(), Entry: written})
	}
	return items, nil
}

// bytes is what a message takes of the services' limits: its body, and the
// names, types and values of its attributes.
func (m *Message) bytes() int {
	total := len(m.Body)
	for _, a := range m.Attributes {
		total += len(a.Name) + len(a.DataType) + len(a.Value)
	}
	return total
}

// textOf is a body as a text that SQS takes, and how it is encoded.
func textOf(body []byte) (text, encoding string) {
	switch {
	case len(body) == 0:
		return "-", "empty"
	case allowed(string(body)):
		return string(body), ""
	}
	return base64.StdEncoding.EncodeToString(body), "base64"
}

// allowed reports whether SQS takes a text as it is: UTF-8, of the characters
// that XML has ("SendMessage", Amazon SQS API Reference). It would refuse
// others, or put U+FFFD in their place.
func allowed(text string) bool {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return false
		case r < 0x20 && r != '\t' && r != '\n' && r != '\r', r == 0xFFFE, r == 0xFFFF:
			return false
		}
		i += size
	}
	return true
}

const (
	maxGroup    = 128
	hashedGroup = "sha256:"
)

// groupOf is the group of a queue's messages. No two queues share one: a name
// that looks like a hash is hashed as well.
func groupOf(queue string) string {
	fits := len(queue) >= 1 && len(queue) <= maxGroup
	for i := 0; fits && i < len(queue); i++ {
		fits = queue[i] > ' ' && queue[i] < 0x7F // letters, digits, punctuation
	}
	if fits && (len(queue) < len(hashedGroup) || queue[:len(hashedGroup)] != hashedGroup) {
		return queue
	}
	sum := sha256.Sum256([]byte(queue))
	return hashedGroup + hex.EncodeToString(sum[:])
}

// dedupPrefix stands for the consumer and the queue, each length-prefixed, in
// 32 hex digits.
func dedupPrefix(b handoff.Batch) string {
	hash := sha256.New()
	for _, part := range []string{b.Consumer, b.Queue} {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		hash.Write(size[:])
		hash.Write([]byte(part))
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}

// dedupOf is the id by which SQS and SNS drop a repeat, at most 74 characters;
// that of a tracked message has 17 more.
func dedupOf(prefix string, seq, rewinds int64) string {
	return prefix + "." + strconv.FormatInt(seq, 10) + "." + strconv.FormatInt(rewinds, 10)
}
