package traffic

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

// Place is where a message is in its queue.
type Place struct {
	Queue string
	Seq   int64
}

// At is a place.
func At(queue string, seq int64) Place { return Place{queue, seq} }

func (p Place) String() string { return fmt.Sprintf("seq %d of queue %q", p.Seq, p.Queue) }

// Message is what goes in.
type Message struct {
	Place
	// Document is what is sent; Conflict, where it is not nil, another message of the same place,
	// which must be refused afterwards.
	Document, Conflict json.RawMessage
	// Sums are those of the body.
	Sums
}

// Plain is a message of a JSON body. fields are what its document has besides, each with a comma
// before it.
func Plain(queue string, seq int64, body, fields string) Message {
	return Message{
		Place: Place{queue, seq}, Sums: SumsOf([]byte(body)),
		Document: fmt.Appendf(nil, `{"queue":%q,"seq":%d,"body":%s%s}`, queue, seq, body, fields),
	}
}

// Sums tell bodies apart, each a SHA-256 in hex. Exact is of the bytes; Value is of the JSON value,
// for what comes through a sink that writes JSON anew.
type Sums struct{ Exact, Value string }

// SumsOf are those of a body.
func SumsOf(body []byte) Sums {
	s := Sums{Exact: Sum(body), Value: Sum(body)}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) == nil && !decoder.More() {
		if written, err := json.Marshal(value); err == nil {
			s.Value = Sum(written)
		}
	}
	return s
}

// Sum is the SHA-256 of bytes, in hex.
func Sum(raw []byte) string {
	hash := sha256.Sum256(raw)
	return hex.EncodeToString(hash[:])
}

// Account is of what went in. It may be used by any number of goroutines.
type Account struct {
	mu    sync.Mutex
	sent  map[string]map[int64]sent
	total int
	// phase is the part of the run in which messages are sent now.
	phase int
}

// sent is a message that went in: its sums, and when.
type sent struct {
	Sums
	at    time.Time
	phase int
}

// NewAccount is of messages that go in, and of those that [Account.Note] adds.
func NewAccount(messages ...Message) *Account {
	a := &Account{sent: map[string]map[int64]sent{}}
	for _, m := range messages {
		a.Note(m)
	}
	return a
}

// Note notes a message before it is sent: it may come out before its producer has the answer.
func (a *Account) Note(m Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sent[m.Queue] == nil {
		a.sent[m.Queue] = map[int64]sent{}
	}
	if _, before := a.sent[m.Queue][m.Seq]; !before {
		a.sent[m.Queue][m.Seq] = sent{m.Sums, time.Now(), a.phase}
		a.total++
	}
}

// Turn begins a phase.
func (a *Account) Turn(phase int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.phase = phase
}

// of is what was sent at a place; false where nothing was.
func (a *Account) of(p Place) (sent, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, ok := a.sent[p.Queue][p.Seq]
	return s, ok
}

// Count is how many messages went in, and to how many queues.
func (a *Account) Count() (messages, queues int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.total, len(a.sent)
}

// places are those of all messages that a sink has to get, in order.
func (a *Account) places(gets func(Place) bool) []Place {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []Place
	for queue, messages := range a.sent {
		for seq := range messages {
			if p := (Place{queue, seq}); gets(p) {
				all = append(all, p)
			}
		}
	}
	slices.SortFunc(all, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Seq, b.Seq))
	})
	return all
}
