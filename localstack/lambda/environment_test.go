package lambda

import (
	"context"
	"testing"
	"time"
)

// TestAwaitAnsweredAndAsked: a runtime that answers and asks for more at once is not given the same
// request again, whichever of the two is seen first.
func TestAwaitAnsweredAndAsked(t *testing.T) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for range 50 {
		e := &environment{
			function: &function{service: &Service{ctx: context.Background()}}, process: &process{exited: make(chan struct{})},
			polls: make(chan *poll, 1), answers: make(chan *answer, 1),
		}
		inv := &invocation{id: "one"}
		e.setCurrent(inv)
		if !e.claim("one") {
			t.Fatal("the answer was refused")
		}
		e.answers <- &answer{payload: []byte("done")}
		next := &poll{reply: make(chan *invocation, 1)}
		e.polls <- next
		if got := e.await(inv, timer, &kill{}); got.final || string(got.payload) != "done" {
			t.Fatalf("outcome %+v", got)
		}
		if len(next.reply) > 0 {
			t.Fatal("the request was given again")
		}
		if e.poll != next && len(e.polls) == 0 {
			t.Fatal("the question for more is lost")
		}
	}
}
