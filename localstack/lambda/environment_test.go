package lambda

import (
	"context"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestAwaitAnsweredAndAsked: a runtime that answers and asks for more at once is not given the same
// request again, whichever of the two is seen first.
func TestAwaitAnsweredAndAsked(t *testing.T) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for range 50 {
		e := &environment{
			function: &function{service: &Service{ctx: context.Background()}},
			process:  &process{exited: make(chan struct{})},
			polls:    make(chan poll, 1), answers: make(chan *answer, 1),
		}
		inv := &invocation{id: "one"}
		e.setCurrent(inv)
		check.Need(t, e.claim("one"), "the answer was refused")
		e.answers <- &answer{payload: []byte("done")}
		next := make(poll, 1)
		e.polls <- next
		got, final := e.await(inv, timer.C, nil)
		check.Need(t, !final && string(got.payload) == "done", "outcome %+v", got)
		check.Need(t, len(next) == 0, "the request was given again")
		check.Need(t, e.poll == next || len(e.polls) != 0, "the question for more is lost")
	}
}
