package record

import (
	"errors"
	"fmt"
	"strings"

	"github.com/streamsort/streamsort/pkg/invalid"
)

var (
	// ErrNoConsumer: the queue has no consumer of this name.
	ErrNoConsumer = errors.New("no such consumer")
	// ErrOutran: somebody else changed the consumer at the same moment. Look,
	// and decide again.
	ErrOutran = errors.New("the consumer was changed meanwhile")
	// ErrUnreadable: an item is no consumer, or one that a newer version wrote.
	ErrUnreadable = errors.New("it cannot be read")
	// ErrNoRoom: a queue that the replies of a claim go to is full.
	ErrNoRoom = errors.New("a queue that the replies go to is full")
)

// ReplyError is why the replies of a claim to one queue are not stored.
type ReplyError struct {
	// Queue is the queue that they go to, by its whole name.
	Queue string
	// Err is why.
	Err error
}

func (e *ReplyError) Error() string { return aboutReplies(e.Queue, unnamed(e.Err)) }

func (e *ReplyError) Unwrap() error { return e.Err }

// aboutReplies says what is wrong with the replies to a queue.
func aboutReplies(queue, why string) string {
	return fmt.Sprintf("replies to queue %q: %s", queue, why)
}

// Words are an error's, as they are kept, and the queue where they are about the
// replies to one: it is kept beside them, since not everybody who sees the words
// may know its name.
func Words(err error) (why, replyQueue string) {
	var reply *ReplyError
	if errors.As(err, &reply) {
		return unnamed(reply.Err), reply.Queue
	}
	return err.Error(), ""
}

// Shown are how many bytes of an error's words, from their beginning, the queue's tenant may read; 0 for all of them. An
// error that has words for its operator alone says by its method Shown which the others are.
func Shown(err error, why string) int {
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
