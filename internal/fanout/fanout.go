// Package fanout does several things that do not depend on each other, and comes back when all are
// done. The libraries' Options.ForEach is [SideBySide] where it is nil. A caller that has to say in
// which order things happen, as the simulator does, hands [OneByOne] in instead.
package fanout

import "sync"

// width is how many requests of one call are under way at once at most. It is what a function of
// 512 MB keeps busy, and far below what a table takes.
const width = 64

// SideBySide runs do(0) … do(n-1), up to 64 at a time, and returns when all have returned: nothing
// runs after a handler's answer. A single one runs in the caller's goroutine.
func SideBySide(n int, do func(i int)) {
	if n == 1 {
		do(0)
		return
	}
	var group sync.WaitGroup
	defer group.Wait()
	places := make(chan struct{}, width)
	for i := range n {
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			do(i)
		})
	}
}

// OneByOne runs do(0) … do(n-1), one after the other, in the caller's goroutine.
func OneByOne(n int, do func(i int)) {
	for i := range n {
		do(i)
	}
}
