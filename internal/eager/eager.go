// Package eager has process deliver at once what was moved, beside the stream of the cursors. It is
// for consumers that are eager: a message of theirs need not wait until the stream is polled.
//
// A [Caller] notes each position that its process moved ([Caller.Moved]), and calls process with
// all of them at the end of an invocation ([Caller.Flush]). Nothing depends on a call: what is
// refused, throttled, late or lost comes by the stream.
package eager

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// Variable is the environment variable with the ARN of process, for what moves queues.
const Variable = "STREAMSORT_EAGER_FUNCTION"

// Event is what process is called with beside records of the stream.
type Event struct {
	Deliver []Queue `json:"deliver,omitempty"`
}

// Queue is one that is to be delivered at once.
type Queue struct {
	Queue string `json:"queue"`
	// Position is one that the queue has.
	Position int64 `json:"position,omitempty"`
	// Consumer is the one to deliver to, where the call is an isolated invocation; empty: all that
	// are eager.
	Consumer string `json:"consumer,omitempty"`
}

const (
	// pauseTime is how long no call is made behind one that was not answered in time: where Lambda
	// cannot be reached, not each invocation waits for it.
	pauseTime = 10 * time.Second
	// most is how many queues a call names: with the longest names it has 600 KB of the 1 MB that
	// an asynchronous one may have. mostNoted is how many one Flush names; the others wait for the
	// stream.
	most, mostNoted = 50, 1000
)

// Caller calls process. A nil Caller calls nobody: no consumer is eager. It may be used by any
// number of goroutines.
type Caller struct {
	function string
	prefixes []string
	client   *awscall.Client

	mu    sync.Mutex
	moved map[string]int64
	// paused is when calls are made again.
	paused time.Time
}

// New returns a Caller of a function, for the queues of those readers that are eager; nil where
// there is no function, or none of them is. It makes no request.
func New(function string, readers []delivery.Reader) (*Caller, error) {
	var prefixes []string
	for _, reader := range readers {
		if reader.Eager {
			prefixes = append(prefixes, reader.Prefix)
		}
	}
	if function == "" || len(prefixes) == 0 {
		return nil, nil
	}
	client, err := awscall.New(awscall.Lambda,
		awscall.Options{Retryer: aws.NopRetryer{}, Untraced: true})
	return &Caller{function: function, prefixes: prefixes, client: client,
		moved: map[string]int64{}}, err
}

// Moved notes the position that a queue was moved to.
func (c *Caller) Moved(queue string, position int64) {
	if !slices.ContainsFunc(c.prefixes, func(prefix string) bool {
		return strings.HasPrefix(queue, prefix)
	}) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, noted := c.moved[queue]; noted || len(c.moved) < mostNoted {
		c.moved[queue] = max(known, position)
	}
}

// Flush calls process with what was noted, and returns how many calls Lambda took, and how many
// not. Its caller waits for it, and bounds ctx. Nothing fails by it. What was noted is left to the
// stream where a call was not answered in the last ten seconds.
//
// Lost response: process delivers, or a second deliverer finds the claim of the first. We die right
// before: the stream has the record of each move.
func (c *Caller) Flush(ctx context.Context) (taken, failed int) {
	if c == nil {
		return 0, 0
	}
	queues, paused := c.take()
	calls := slices.Collect(slices.Chunk(queues, most))
	if len(calls) == 0 || paused {
		return 0, 0
	}
	var all atomic.Int64
	fanout.SideBySide(len(calls), func(i int) {
		event, err := strictjson.Marshal(Event{calls[i]})
		if err == nil {
			_, err = c.client.Invoke(ctx, c.function, awscall.Event, event)
		}
		if err != nil {
			c.pause(err)
			slog.WarnContext(ctx, "process could not be called at once; the stream makes up for it",
				"queues", len(calls[i]), "error", err)
			return
		}
		all.Add(1)
	})
	return int(all.Load()), len(calls) - int(all.Load())
}

// pause has no calls made for a while, where one was not answered in time.
func (c *Caller) pause(err error) {
	if late := net.Error(nil); !errors.As(err, &late) || !late.Timeout() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = time.Now().Add(pauseTime)
}

// take is what was noted since the last time, and whether no calls are made.
func (c *Caller) take() (all []Queue, paused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for queue, position := range c.moved {
		all = append(all, Queue{Queue: queue, Position: position})
	}
	clear(c.moved)
	return all, time.Now().Before(c.paused)
}
