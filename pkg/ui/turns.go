package ui

import (
	"slices"
	"sync"
)

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
