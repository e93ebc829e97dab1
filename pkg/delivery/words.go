package delivery

import (
	"errors"
	"fmt"
	"strings"

	"github.com/streamsort/streamsort/pkg/invalid"
)

// replyError is why the replies of a claim to one queue are not stored.
type replyError struct {
	// Queue is the queue that they go to, by its whole name.
	Queue string
	// Err is why.
	Err error
}

func (e *replyError) Error() string { return aboutReplies(e.Queue, unnamed(e.Err)) }

func (e *replyError) Unwrap() error { return e.Err }

func aboutReplies(queue, why string) string {
	return fmt.Sprintf("replies to queue %q: %s", queue, why)
}

// wordsOf are an error's, as they are kept, and the queue where they are about the replies to one:
// it is kept beside them, since not everybody who sees the words may know its name.
func wordsOf(err error) (why, replyQueue string) {
	if reply, so := errors.AsType[*replyError](err); so {
		return unnamed(reply.Err), reply.Queue
	}
	return err.Error(), ""
}

// shownOf are how many bytes of an error's words, from their beginning, the queue's tenant may
// read; 0 for all of them. An error that has words for its operator alone says by its method Shown
// which the others are.
func shownOf(err error, why string) int {
	var some interface {
		error
		Shown() string
	}
	if !errors.As(err, &some) || some.Shown() == some.Error() {
		return 0
	}
	return max(strings.Index(why, some.Shown())+len(some.Shown()), 1)
}

// unnamed are the words of an error about a queue, without its name.
func unnamed(err error) string {
	var wrong *invalid.Error
	switch {
	case !errors.As(err, &wrong):
		return err.Error()
	case wrong.Field == "queue":
		return "the queue " + wrong.Problem
	}
	without := *wrong
	without.Queue = ""
	return without.Error()
}
