package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/localstack"
)

// withoutSeqs leaves the numbers out of what is sent.
func withoutSeqs(arrivals []traffic.Arrival) ([]traffic.Arrival, error) {
	bare := slices.Clone(arrivals)
	for i, a := range arrivals {
		var err error
		if bare[i].Document, err = strictjson.Without(a.Document, "seq"); err != nil {
			return nil, err
		}
	}
	return bare, nil
}

// held is the functions' log, which waits until somebody reads it.
type held struct {
	mu    sync.Mutex
	lines []localstack.Line
	read  func(localstack.Line)
}

func (h *held) take(l localstack.Line) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.read == nil {
		h.lines = append(h.lines, l)
		return
	}
	h.read(l)
}

func (h *held) open(read func(localstack.Line)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.lines {
		read(l)
	}
	h.lines, h.read = nil, read
}

// accepted is a message with the seq that its queue gave it, and when that was
// at the earliest and at the latest.
type accepted struct {
	id           string
	began, ended time.Time
	traffic.Arrival
}

// acceptance is the messages with the seqs of the answers, and what is
// wrong with the answers. Each repeat must get the seq of the first, each
// queue must have given its seqs without a gap, and a message that was answered
// before another was sent must have the lower one.
func acceptance(arrivals []traffic.Arrival, answers []answered) (numbered []traffic.Arrival, wrong []string) {
	queues := map[string]map[string]accepted{}
	for i, a := range arrivals {
		r := answers[i]
		m := accepted{began: r.began, ended: r.ended, Arrival: a}
		if err := json.Unmarshal(a.Document, &struct{ ID *string }{&m.id}); err != nil {
			wrong = append(wrong, err.Error())
		}
		if m.Seq = int64(r.Seq); m.Seq == 0 {
			wrong = append(wrong, fmt.Sprintf("queue %s: %s was answered %s", a.Queue, m.id, r.Outcome.Outcome))
			continue
		}
		if queues[a.Queue] == nil {
			queues[a.Queue] = map[string]accepted{}
		}
		if first, known := queues[a.Queue][m.id]; known {
			if first.Seq != m.Seq || first.Sum != m.Sum {
				wrong = append(wrong, fmt.Sprintf("queue %s: %s has the seqs %d and %d", a.Queue, m.id, first.Seq, m.Seq))
			}
			// Any of the two may be the one that was accepted.
			m.began = earlier(m.began, first.began)
			m.ended = earlier(m.ended, first.ended)
		}
		queues[a.Queue][m.id] = m
	}
	for queue, messages := range queues {
		var list []accepted
		for _, m := range messages {
			list, numbered = append(list, m), append(numbered, m.Arrival)
		}
		wrong = append(wrong, outOfOrder(queue, list)...)
	}
	return numbered, wrong
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// outOfOrder is what is wrong with the seqs of one queue.
func outOfOrder(queue string, list []accepted) (wrong []string) {
	slices.SortFunc(list, func(a, b accepted) int { return cmp.Compare(a.Seq, b.Seq) })
	var latest accepted
	for i, m := range list {
		if m.Seq != int64(i)+1 {
			wrong = append(wrong, fmt.Sprintf("queue %s: %s has the seq %d, and %d was due", queue, m.id, m.Seq, i+1))
		}
		if m.ended.Before(latest.began) {
			wrong = append(wrong, fmt.Sprintf("queue %s: %s was answered before %s was sent, and comes behind it", queue, m.id, latest.id))
		}
		if m.began.After(latest.began) {
			latest = m
		}
	}
	return wrong
}
