package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"
)

// place is a message's.
type place struct {
	queue string
	seq   int64
}

func (p place) String() string { return fmt.Sprintf("seq %d of queue %q", p.seq, p.queue) }

// message is one that goes in.
type message struct {
	place
	// document is what is sent; conflict, where it is not nil, another message of the same place,
	// which must be refused afterwards.
	document, conflict json.RawMessage
	// sums are those of the body.
	sums
}

// plain is a message of a JSON body. fields are what its document has besides, each with a comma
// before it.
func plain(queue string, seq int64, body, fields string) message {
	return message{
		place: place{queue, seq}, sums: sumsOf([]byte(body)),
		document: fmt.Appendf(nil, `{"queue":%q,"seq":%d,"body":%s%s}`, queue, seq, body, fields),
	}
}

// sums tell bodies apart. exact is of the bytes; value is of the JSON value, for what comes through
// a sink that writes JSON anew.
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

// account is of what went in. It may be used by any number of goroutines.
type account struct {
	mu    sync.Mutex
	sent  map[string]map[int64]sent
	total int
	// phase is the part of the run in which messages are sent now.
	phase int
}

// sent is a message that went in: its sums, and when.
type sent struct {
	sums
	at    time.Time
	phase int
}

func newAccount() *account { return &account{sent: map[string]map[int64]sent{}} }

// note notes a message before it is sent: it may come out before its producer has the answer.
func (a *account) note(m message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sent[m.queue] == nil {
		a.sent[m.queue] = map[int64]sent{}
	}
	if _, before := a.sent[m.queue][m.seq]; !before {
		a.sent[m.queue][m.seq] = sent{m.sums, time.Now(), a.phase}
		a.total++
	}
}

// turn begins a phase.
func (a *account) turn(phase int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.phase = phase
}

// of is what was sent at a place; false where nothing was.
func (a *account) of(p place) (sent, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, ok := a.sent[p.queue][p.seq]
	return s, ok
}

// count is how many messages went in, and to how many queues.
func (a *account) count() (messages, queues int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.total, len(a.sent)
}

// places are those of all messages that a sink has to get, in order.
func (a *account) places(gets func(place) bool) []place {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []place
	for queue, messages := range a.sent {
		for seq := range messages {
			if p := (place{queue, seq}); gets(p) {
				all = append(all, p)
			}
		}
	}
	slices.SortFunc(all, func(a, b place) int { return cmp.Or(cmp.Compare(a.queue, b.queue), cmp.Compare(a.seq, b.seq)) })
	return all
}
