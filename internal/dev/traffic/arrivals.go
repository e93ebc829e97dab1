// Package traffic is what a trial of the whole sends, and a check of what comes out of it.
//
// [Read] or [Generate] make the [Arrival]s; a [Watcher] gets each line of a consumer's log
// (examples/receiver and examples/webhooks write them), and [Watcher.State] says what came out so
// far, and what should not have.
package traffic

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
)

// Arrival is a message as it is sent.
type Arrival struct {
	Document json.RawMessage
	Queue    string
	Seq      int64
	// Sum is the SHA-256 of the body's bytes, in hex.
	Sum string
}

// NewArrival reads a message as the API takes it: queue, seq, id and body.
func NewArrival(document []byte) (Arrival, error) {
	var m struct {
		Queue      string
		Seq        int64
		Body       json.RawMessage
		BodyBase64 []byte
	}
	if err := json.Unmarshal(document, &m); err != nil {
		return Arrival{}, err
	}
	sum := sha256.Sum256(slices.Concat(m.Body, m.BodyBase64))
	return Arrival{bytes.Clone(document), m.Queue, m.Seq, hex.EncodeToString(sum[:])}, nil
}

// Read reads arrivals from a file, a document a line; empty lines are passed over. Each has a queue
// and a seq.
func Read(path string) ([]Arrival, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var arrivals []Arrival
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 8<<20)
	for number := 1; lines.Scan(); number++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		a, err := NewArrival(lines.Bytes())
		switch {
		case err != nil:
			return nil, fmt.Errorf(`%s: line %d is not a message, which is one JSON document a line, as {"queue":"orders","seq":2,"body":{}}: %w`, path, number, err)
		case a.Queue == "":
			return nil, fmt.Errorf("%s: line %d has no queue", path, number)
		case a.Seq < 1:
			return nil, fmt.Errorf("%s: line %d has no seq, a number from 1 on", path, number)
		}
		arrivals = append(arrivals, a)
	}
	switch err := lines.Err(); {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	case len(arrivals) == 0:
		return nil, fmt.Errorf("%s: no message in it, a JSON document a line", path)
	}
	return arrivals, nil
}

// Generate makes up count messages of three queues, each delayed by up to 16 places, and every
// thirtieth sent twice.
func Generate(count int) ([]Arrival, error) {
	random := rand.New(rand.NewPCG(2026, 1))
	type placed struct {
		at int
		Arrival
	}
	var sent []placed
	queues := []string{"orders", "payments", "sensor/7"}
	seqs := make([]int64, len(queues))
	for i := range count {
		q := random.IntN(len(queues))
		seqs[q]++
		document := fmt.Appendf(nil, `{"queue":%q,"seq":%d,"id":"m-%d","body":{"number":%d,"note":"%0*d"}}`,
			queues[q], seqs[q], i, seqs[q], 20+random.IntN(80), i)
		a, err := NewArrival(document)
		if err != nil {
			return nil, err
		}
		sent = append(sent, placed{i + random.IntN(17), a})
		if i%30 == 0 {
			sent = append(sent, placed{i + random.IntN(17), a})
		}
	}
	slices.SortStableFunc(sent, func(a, b placed) int { return a.at - b.at })
	arrivals := make([]Arrival, len(sent))
	for i, p := range sent {
		arrivals[i] = p.Arrival
	}
	return arrivals, nil
}
