package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// message is one that goes in.
type message struct {
	queue string
	seq   int64
	// document is what is sent; conflict, where it is not nil, another message
	// of the same queue and seq, which must be refused afterwards.
	document, conflict json.RawMessage
	// sums are those of the body.
	sums
}

// sums tell bodies apart. exact is of the bytes; value is of the JSON value,
// for what comes through a sink that writes JSON anew.
type sums struct{ exact, value string }

func sumsOf(body []byte) sums {
	s := sums{exact: sum(body), value: sum(body)}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) == nil && !decoder.More() {
		if written, err := json.Marshal(value); err == nil {
			s.value = sum(written)
		}
	}
	return s
}

func sum(raw []byte) string {
	hash := sha256.Sum256(raw)
	return hex.EncodeToString(hash[:])
}

// poison is the attribute that verify/soak/receiver fails on.
const poison = "poison"

// newMessage makes a message up: mostly of JSON, some of it with white space
// and characters that are easily changed, some of bytes.
func newMessage(queue string, seq int64, poisoned bool, random *rand.Rand) message {
	m := message{queue: queue, seq: seq}
	var body []byte
	var field string
	switch random.IntN(20) {
	case 0:
		body = make([]byte, random.IntN(200))
		for i := range body {
			body[i] = byte(random.Uint32())
		}
		field = fmt.Sprintf(`"bodyBase64":%q`, base64.StdEncoding.EncodeToString(body))
	case 1:
		body = fmt.Appendf(nil, `{ "n": %d, "text": "<ü\u0001\u2028 \ud83d\ude00>",  "big": 9007199254740993, "more": [ true, null ] }`, seq)
		field = `"body":` + string(body)
	case 2:
		body = fmt.Appendf(nil, `{"n":%d,"note":%q}`, seq, strings.Repeat("long ", 400+random.IntN(2000)))
		field = `"body":` + string(body)
	default:
		body = fmt.Appendf(nil, `{"n":%d,"note":"%0*x"}`, seq, 10+random.IntN(80), random.Uint64())
		field = `"body":` + string(body)
	}
	m.sums = sumsOf(body)
	attributes := ""
	if poisoned {
		attributes = fmt.Sprintf(`,"attributes":{%q:"yes"}`, poison)
	}
	m.document = fmt.Appendf(nil, `{"queue":%q,"seq":%d,"id":"%d",%s%s}`, queue, seq, seq, field, attributes)
	return m
}

// conflicting is another message for the same place.
func conflicting(m message) json.RawMessage {
	return fmt.Appendf(nil, `{"queue":%q,"seq":%d,"id":"conflict","body":{"n":%d}}`, m.queue, m.seq, m.seq)
}
