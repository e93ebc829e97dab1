package ui

import (
	"slices"
	"sync"
)

// mostLive is how many live screens of one browser are sent at a time. By HTTP/1.1 a browser keeps
// six connections to a server, for all of its windows and tabs: without a bound the seventh would
// wait for ever, and so would a click.
const mostLive = 4

// longestMark is how long the mark is by which a browser's windows are known as one's.
const longestMark = 64

// turns has the windows of a browser that are too many for its connections take turns.
type turns struct {
	mu sync.Mutex
	of map[string][]chan struct{} // by a browser's mark, the one that began first in front
}

// take begins a live screen of a browser. over is closed when it has to make room for another;
// leave ends it.
func (t *turns) take(browser string) (over <-chan struct{}, leave func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := make(chan struct{})
	live := append(t.of[browser], own)
	if len(live) > mostLive {
		close(live[0])
		live = live[1:]
	}
	t.of[browser] = live
	return own, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.of[browser] = slices.DeleteFunc(t.of[browser], func(c chan struct{}) bool { return c == own })
		if len(t.of[browser]) == 0 {
			delete(t.of, browser)
		}
	}
}
