// Command sort is the function behind the streams of the messages table and of the arrivals table.
// It heals each queue that a message's record names, and in asynchronous mode it is what moves the
// cursors. It settles each keyed queue that an arrival's record names, or has the timer wake the
// sweep up for that when the settle window is over. A queue with more to move over than one
// invocation has time for is continued by the next one: its record is returned as one that has to
// be repeated.
package main

import (
	"time"

	"github.com/streamsort/streamsort/internal/runtime"
)

func main() { runtime.Main(newHandler) }

// headroom is how long before the function's deadline it stops, and returns which record has to be
// repeated.
const headroom = 5 * time.Second

func newHandler(d *runtime.Deps) (runtime.Handler, error) {
	s := &sorting{sorter: d.Sorter(), names: d.Names, timer: d.Timer}
	return runtime.Handle(d, headroom, s.handle), nil
}
