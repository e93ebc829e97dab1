package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/streamsort/streamsort/internal/dev/traffic"
)

// clients is how many requests are under way at a time. A queue's are sent by one of them, one after
// the other.
const clients = 32

// bodyOf is the body of a message: 100 bytes of JSON.
func bodyOf(queue string, seq int64) string {
	text := fmt.Sprintf(`{"n":%d,"queue":%q,"text":"`, seq, queue)
	return text + strings.Repeat("-", max(0, 98-len(text))) + `"}`
}

// sumOf is the SHA-256 of a message's body, in hex.
func sumOf(queue string, seq int64) string {
	sum := sha256.Sum256([]byte(bodyOf(queue, seq)))
	return hex.EncodeToString(sum[:])
}

// line is a queue as its producer sees it: it gives its seqs out of order within windows.
type line struct {
	queue  string
	next   int64
	window []int64
}

// take gives so many seqs, in windows of so many messages; 0 and 1 are in order.
func (l *line) take(n, window int, random *rand.Rand) []int64 {
	for len(l.window) < n {
		from := len(l.window)
		for range max(window, 1) {
			l.next++
			l.window = append(l.window, l.next)
		}
		random.Shuffle(len(l.window)-from, func(i, j int) {
			l.window[from+i], l.window[from+j] = l.window[from+j], l.window[from+i]
		})
	}
	seqs := l.window[:n:n]
	l.window = l.window[n:]
	return seqs
}

// request is one that is to be sent.
type request struct {
	queue string
	seqs  []int64
}

// documents are the messages of a request, as the API takes them; together those of a queue in arrival order.
func (r request) documents(together bool) []json.RawMessage {
	kind := map[bool]string{true: `,"kind":"arrival"`}[together]
	all := make([]json.RawMessage, len(r.seqs))
	for i, seq := range r.seqs {
		all[i] = fmt.Appendf(nil, `{"queue":%q,"seq":%d%s,"body":%s}`, r.queue, seq, kind, bodyOf(r.queue, seq))
	}
	return all
}

// producers send to queues in turn.
type producers struct {
	options
	*traffic.Sender
	journeys *journeys

	random *rand.Rand
	lines  []*line
	turn   int
	owed   int // messages that are due, and fill no request yet
	made   int // messages of requests
}

func newProducers(base string, o options, j *journeys) (*producers, error) {
	sender, err := traffic.NewSender(base)
	p := &producers{options: o, Sender: sender, journeys: j, random: rand.New(rand.NewPCG(2026, 20))}
	for i := range o.queues {
		p.lines = append(p.lines, &line{queue: fmt.Sprintf("load/%05d", i)})
	}
	return p, err
}

// first are requests that make every queue, and start the functions, with as many messages as a batch has, in whole
// windows: all of it must come out before the rest is sent.
func (p *producers) first() []request {
	window := max(p.disorder, 1)
	n := max(p.batch-p.batch%window, window)
	var all []request
	for _, l := range p.lines {
		all = append(all, request{l.queue, l.take(n, p.disorder, p.random)})
	}
	return all
}

// due are the requests of so many more messages that are due.
func (p *producers) due(messages int) []request {
	var all []request
	for p.owed += messages; p.owed >= p.batch; p.owed -= p.batch {
		l := p.lines[p.turn%len(p.lines)]
		p.turn++
		all = append(all, request{l.queue, l.take(p.batch, p.disorder, p.random)})
	}
	return all
}

// last are the requests of what is missing in all windows.
func (p *producers) last() []request {
	var all []request
	for _, l := range p.lines {
		for seqs := range slices.Chunk(l.window, p.batch) {
			all = append(all, request{l.queue, seqs})
		}
		l.window = nil
	}
	return all
}

// send sends what produce gives it, and returns when all of it has an answer.
func (p *producers) send(ctx context.Context, produce func(send func([]request) error) error) error {
	group, ctx := errgroup.WithContext(ctx)
	var work [clients]chan request
	for i := range work {
		work[i] = make(chan request, 1)
		group.Go(func() error {
			for r := range work[i] {
				p.journeys.begin(r)
				if err := p.Put(ctx, r.documents(p.together), "advanced", "parked", "stored"); err != nil {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		defer func() {
			for _, client := range work {
				close(client)
			}
		}()
		return produce(func(all []request) error {
			for _, r := range all {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case work[p.clientOf(r.queue)] <- r:
					p.made += len(r.seqs)
				}
			}
			return nil
		})
	})
	return group.Wait()
}

// clientOf is which of the clients sends to a queue: they are sent to in turn.
func (p *producers) clientOf(queue string) int {
	var n int
	_, _ = fmt.Sscanf(queue, "load/%d", &n)
	return n % clients
}
