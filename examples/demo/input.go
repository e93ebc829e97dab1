package main

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

// arrival is a message as it is sent.
type arrival struct {
	document json.RawMessage
	queue    string
	seq      int64
	// sum is the SHA-256 of the body's bytes.
	sum string
}

func newArrival(document []byte) (arrival, error) {
	var m struct {
		Queue string
		Seq   int64
		Body  json.RawMessage
	}
	if err := json.Unmarshal(document, &m); err != nil {
		return arrival{}, err
	}
	sum := sha256.Sum256(m.Body)
	return arrival{bytes.Clone(document), m.Queue, m.Seq, hex.EncodeToString(sum[:])}, nil
}

// readInput reads arrivals from a file, a document a line.
func readInput(path string) ([]arrival, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var arrivals []arrival
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		a, err := newArrival(lines.Bytes())
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, len(arrivals)+1, err)
		}
		arrivals = append(arrivals, a)
	}
	return arrivals, lines.Err()
}

// generate makes up count messages of three queues, each delayed by up to 16
// places, and every thirtieth sent twice.
func generate(count int) ([]arrival, error) {
	random := rand.New(rand.NewPCG(2026, 1))
	type placed struct {
		at int
		arrival
	}
	var sent []placed
	queues := []string{"orders", "payments", "sensor/7"}
	seqs := make([]int64, len(queues))
	for i := range count {
		q := random.IntN(len(queues))
		seqs[q]++
		document := fmt.Appendf(nil, `{"queue":%q,"seq":%d,"id":"m-%d","body":{"number":%d,"note":"%0*d"}}`,
			queues[q], seqs[q], i, seqs[q], 20+random.IntN(80), i)
		a, err := newArrival(document)
		if err != nil {
			return nil, err
		}
		sent = append(sent, placed{i + random.IntN(17), a})
		if i%30 == 0 {
			sent = append(sent, placed{i + random.IntN(17), a})
		}
	}
	slices.SortStableFunc(sent, func(a, b placed) int { return a.at - b.at })
	arrivals := make([]arrival, len(sent))
	for i, p := range sent {
		arrivals[i] = p.arrival
	}
	return arrivals, nil
}
