package cursor_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
)

// turns lets writers make their requests in rounds: in each, everyone makes one, or now and then,
// by chance, none, but then in the next. So how far one falls behind the others does not depend on
// how busy the machine is.
type turns struct {
	next http.RoundTripper

	mu     sync.Mutex
	random *rand.Rand
	// writers take part, waiting of them for the next round.
	writers, waiting int
	// begins is closed when the next round begins.
	begins chan struct{}
}

func newTurns(next http.RoundTripper, writers int) *turns {
	return &turns{next: next, random: rand.New(rand.NewPCG(1, 1)), writers: writers, begins: make(chan struct{})}
}

type isWriter struct{}

// writer is a context by which a writer is known. It calls leave at its end.
func (t *turns) writer(ctx context.Context) (_ context.Context, leave func()) {
	return context.WithValue(ctx, isWriter{}, true), func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.writers--
		t.beginIfAllWait()
	}
}

// RoundTrip implements [http.RoundTripper].
func (t *turns) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Context().Value(isWriter{}) != nil {
		if sitOut := t.wait(); sitOut {
			t.wait()
		}
	}
	return t.next.RoundTrip(request)
}

// wait waits for the next round, and reports whether to sit it out.
func (t *turns) wait() bool {
	t.mu.Lock()
	sitOut, begins := t.random.IntN(5) == 0, t.begins
	t.waiting++
	t.beginIfAllWait()
	t.mu.Unlock()
	<-begins
	return sitOut
}

func (t *turns) beginIfAllWait() {
	if t.writers > 0 && t.waiting == t.writers {
		close(t.begins)
		t.waiting, t.begins = 0, make(chan struct{})
	}
}
