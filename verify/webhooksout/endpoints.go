package main

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// slowTime is how long a slow endpoint takes: longer than any may take beside others.
const slowTime = 1500 * time.Millisecond

// manner is how an endpoint answers.
type manner int

const (
	good    manner = iota
	slow           // after a while
	busy           // 503
	failing        // 500
	silent         // never
	manners
)

// phase is a part of the run. Each is as long as the others.
type phase int

const (
	// begun: all are good, and it counts for nothing.
	begun phase = iota
	allGood
	// turned: one in twenty has just turned bad.
	turned
	// known: they are bad since a phase ago.
	known
	phases
)

// mannerOf is that of a queue's endpoint while some are bad: one in twenty is.
func mannerOf(queue int) manner {
	if queue%20 != 7 {
		return good
	}
	return 1 + manner(queue/20)%(manners-1)
}

// endpoints are those of all queues.
type endpoints struct {
	mu  sync.Mutex
	all []endpoint
	// phase is what they are like now; delays are those of the good ones, by the phase in which a message was put.
	phase  phase
	delays map[phase][]time.Duration
	// problems are what was not as it must be, the first of them.
	problems []string
	requests int
	repeats  int
}

// endpoint is one, and what came there.
type endpoint struct {
	hook *standard.Webhook
	// sent is when each message was put, and in which kind of turn, from seq 1 on.
	sent []sending
	// last is the last message that was taken, token the highest number of a claim, ids the names of the requests.
	last  int
	token int64
	ids   []string
}

type sending struct {
	at    time.Time
	phase phase
}

func newEndpoints(n int) *endpoints {
	return &endpoints{all: make([]endpoint, n), delays: map[phase][]time.Duration{}}
}

// secret has what the requests of a queue are signed with.
func (e *endpoints) secret(queue int, text string) error {
	hook, err := standard.NewWebhook(text)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all[queue].hook = hook
	return err
}

// put notes that the next message of a queue is put, and returns its seq.
func (e *endpoints) put(queue int) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	of := &e.all[queue]
	of.sent = append(of.sent, sending{time.Now(), e.phase})
	return len(of.sent)
}

// ServeHTTP implements [http.Handler]: POST /QUEUE.
func (e *endpoints) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	queue, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
	body, failed := io.ReadAll(r.Body)
	if err != nil || failed != nil || queue < 0 || queue >= len(e.all) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	e.mu.Lock()
	how := good
	if e.phase == turned || e.phase == known {
		how = mannerOf(queue)
	}
	e.mu.Unlock()
	switch how {
	case slow:
		timer := time.NewTimer(slowTime)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return
		}
	case busy:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case failing:
		w.WriteHeader(http.StatusInternalServerError)
		return
	case silent:
		<-r.Context().Done()
		return
	}
	e.take(queue, r.Header, body, began)
	w.WriteHeader(http.StatusNoContent)
}

// take notes a request, and what is wrong with it.
func (e *endpoints) take(queue int, h http.Header, body []byte, at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests++
	of := &e.all[queue]
	seq, _ := strconv.Atoi(h.Get("Streamsort-Seq"))
	number, _, _ := strings.Cut(h.Get("Streamsort-Token"), "-")
	token, _ := strconv.ParseInt(number, 10, 64)
	id := h.Get("Webhook-Id")
	wrong := func(format string, a ...any) {
		if len(e.problems) < 20 {
			e.problems = append(e.problems, fmt.Sprintf("queue %d, message %d: ", queue, seq)+fmt.Sprintf(format, a...))
		}
	}
	if err := of.hook.Verify(body, h); err != nil {
		wrong("its signature is not taken: %v", err)
	}
	if want := bodyOf(queue, seq); string(body) != want {
		wrong("its body is %.60q, want %q", body, want)
	}
	switch {
	case seq < 1 || seq > len(of.sent):
		wrong("nobody sent it")
	case seq > of.last+1:
		wrong("it came behind message %d", of.last)
	case seq <= of.last:
		e.repeats++
		if of.ids[seq-1] != id {
			wrong("it came again under another id")
		}
		if token <= of.token {
			wrong("it came again under the token %d, after %d", token, of.token)
		}
	default:
		of.last, of.ids = seq, append(of.ids, id)
		if s := of.sent[seq-1]; mannerOf(queue) == good {
			e.delays[s.phase] = append(e.delays[s.phase], at.Sub(s.at))
		}
	}
	of.token = max(of.token, token)
}

// turn begins a phase.
func (e *endpoints) turn(p phase) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.phase = p
}

// left is how many messages did not come yet.
func (e *endpoints) left() (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, of := range e.all {
		n += len(of.sent) - of.last
	}
	return n
}

// quantile is that of sorted delays.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// delaysOf are those of the good endpoints in a phase, sorted.
func (e *endpoints) delaysOf(p phase) []time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	sorted := slices.Clone(e.delays[p])
	slices.Sort(sorted)
	return sorted
}

func bodyOf(queue, seq int) string { return fmt.Sprintf(`{"queue":%d,"n":%d}`, queue, seq) }
