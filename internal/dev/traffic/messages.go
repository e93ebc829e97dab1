// Package traffic is what a trial of the whole sends, and a check of what comes out of it.
//
// [Read], [Generate] or [Plain] make the [Message]s, a [Sender] sends them, and an [Account] knows
// what went in. A [Watcher] of each sink gets what comes out of it: by [Watcher.Take], or by the
// lines of a log that examples/receiver and examples/webhooks write. It compares that with the
// account, and by a [Rule] with what came before. [Watcher.State] and [Watcher.Missing] say what
// came out so far, what should not have, and what is to come.
package traffic

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
)

// Read reads messages from a file, a document a line as the API takes it; empty lines are passed
// over. Each has a queue and a seq.
func Read(path string) ([]Message, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var messages []Message
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 8<<20)
	for number := 1; lines.Scan(); number++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var m struct {
			Queue      string
			Seq        int64
			Body       json.RawMessage
			BodyBase64 []byte
		}
		switch err := json.Unmarshal(lines.Bytes(), &m); {
		case err != nil:
			return nil, fmt.Errorf(`%s: line %d is not a message, which is one JSON document a line, as {"queue":"orders","seq":2,"body":{}}: %w`, path, number, err)
		case m.Queue == "":
			return nil, fmt.Errorf("%s: line %d has no queue", path, number)
		case m.Seq < 1:
			return nil, fmt.Errorf("%s: line %d has no seq, a number from 1 on", path, number)
		}
		messages = append(messages, Message{
			Place: Place{m.Queue, m.Seq}, Document: bytes.Clone(lines.Bytes()),
			Sums: Sums{Exact: Sum(slices.Concat(m.Body, m.BodyBase64))},
		})
	}
	switch err := lines.Err(); {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	case len(messages) == 0:
		return nil, fmt.Errorf("%s: no message in it, a JSON document a line", path)
	}
	return messages, nil
}

// Generate makes up count messages of three queues, whose names begin so, each delayed by up to 16
// places, and every thirtieth sent twice.
func Generate(count int, begins string) []Message {
	random := rand.New(rand.NewPCG(2026, 1))
	type placed struct {
		at int
		Message
	}
	var sent []placed
	queues := []string{"orders", "payments", "sensor/7"}
	seqs := make([]int64, len(queues))
	for i := range count {
		q := random.IntN(len(queues))
		seqs[q]++
		body := fmt.Sprintf(`{"number":%d,"note":"%0*d"}`, seqs[q], 20+random.IntN(80), i)
		m := Plain(begins+queues[q], seqs[q], body, fmt.Sprintf(`,"id":"m-%d"`, i))
		sent = append(sent, placed{i + random.IntN(17), m})
		if i%30 == 0 {
			sent = append(sent, placed{i + random.IntN(17), m})
		}
	}
	slices.SortStableFunc(sent, func(a, b placed) int { return a.at - b.at })
	messages := make([]Message, len(sent))
	for i, p := range sent {
		messages[i] = p.Message
	}
	return messages
}

// Gap is what a queue waits for: seqs that no message has.
type Gap struct {
	Queue string
	// Missing are the seqs, as ranges: the first and the last of each.
	Missing [][2]int64
	// Waiting is how many messages are behind the first of them.
	Waiting int
}

// String says what is missing, as far as it fits a line.
func (g Gap) String() string {
	const most = 5
	var parts []string
	for i, r := range g.Missing {
		switch {
		case i == most:
			parts = append(parts, "…")
		case i > most:
		case r[0] == r[1]:
			parts = append(parts, fmt.Sprint(r[0]))
		default:
			parts = append(parts, fmt.Sprintf("%d to %d", r[0], r[1]))
		}
	}
	return fmt.Sprintf("queue %s: seq %s is missing; messages behind it that wait: %d", g.Queue,
		strings.Join(parts, ", "), g.Waiting)
}

// Due reports which messages will come out: those that no gap is before. The gaps are in the order
// of their queues' names.
func Due(messages []Message) (due func(Place) bool, gaps []Gap) {
	queues := map[string]map[int64]bool{}
	for _, m := range messages {
		if queues[m.Queue] == nil {
			queues[m.Queue] = map[int64]bool{}
		}
		queues[m.Queue][m.Seq] = true
	}
	open := map[string]int64{} // the first missing seq of each queue that has a gap
	for _, queue := range slices.Sorted(maps.Keys(queues)) {
		gap := Gap{Queue: queue}
		last := int64(0)
		for _, seq := range slices.Sorted(maps.Keys(queues[queue])) {
			if seq > last+1 {
				gap.Missing = append(gap.Missing, [2]int64{last + 1, seq - 1})
			}
			if last = seq; gap.Missing != nil {
				gap.Waiting++
			}
		}
		if gap.Missing != nil {
			gaps, open[queue] = append(gaps, gap), gap.Missing[0][0]
		}
	}
	return func(p Place) bool { return open[p.Queue] == 0 || p.Seq < open[p.Queue] }, gaps
}
